#include "common/reasoner/summarize.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/text.h"
#include "common/reasoner/wording.h"

namespace galen::reasoner {
namespace {

using galen::v1::Entity;
using galen::v1::Signal;

constexpr size_t kMaxDescriptionBytes = 300;
constexpr size_t kMaxMessages = 3;
constexpr size_t kMaxNamed = 6;

double Weight(const Signal& signal) {
  double weight = 0.5;
  if (signal.strength() == galen::v1::DECISIVE) weight = 4;
  if (signal.strength() == galen::v1::STRONG) weight = 2;
  return signal.role() == galen::v1::SECONDARY || signal.role() == galen::v1::WRAPPER ? weight / 4
                                                                                      : weight;
}

std::string FailureClass(const galen::v1::Summary& found) {
  std::map<std::string, double> weights;
  std::set<std::string> counted;
  for (const Signal& signal : found.signals()) {
    if (signal.labels().empty() || !counted.insert(signal.signal()).second) continue;
    for (const std::string& label : signal.labels()) {
      weights[label.substr(0, label.find('.'))] += Weight(signal) / signal.labels_size();
    }
  }
  const auto best =
      std::max_element(weights.begin(), weights.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return best == weights.end() ? "" : best->first;
}

// The first lines of the customer's description, in one line.
std::string Opening(const std::string& description) {
  std::string text = CleanText(description, kMaxDescriptionBytes);
  absl::StrReplaceAll({{"\n", " "}, {"\t", " "}}, &text);
  absl::RemoveExtraAsciiWhitespace(&text);
  return text;
}

std::string Messages(const galen::v1::Summary& found) {
  std::vector<const Signal*> signals;
  std::set<absl::string_view> told;
  for (const Signal& signal : found.signals()) {
    if (told.insert(signal.signal()).second) signals.push_back(&signal);
  }
  if (signals.empty()) return "No known message was found in the texts.";
  std::stable_sort(signals.begin(), signals.end(),
                   [](const Signal* a, const Signal* b) { return Weight(*a) > Weight(*b); });
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(signals.size(), kMaxMessages); ++i) {
    texts.push_back(Describe(*signals[i]));
  }
  return absl::StrCat(signals.size(), " known ", signals.size() == 1 ? "message" : "messages",
                      " in the texts, first of all: ", absl::StrJoin(texts, "; "), ".");
}

std::string Named(const galen::v1::Summary& found, Entity::Kind kind, absl::string_view what) {
  std::vector<std::string> values;
  for (const Entity& entity : found.entities()) {
    if (entity.kind() == kind &&
        std::find(values.begin(), values.end(), entity.value()) == values.end()) {
      values.push_back(entity.value());
    }
  }
  if (values.empty()) return "";
  const size_t total = values.size();
  values.resize(std::min(total, kMaxNamed));
  return absl::StrCat(" ", what, ": ", absl::StrJoin(values, ", "),
                      total > kMaxNamed ? absl::StrCat(" and ", total - kMaxNamed, " more") : "",
                      ".");
}

}  // namespace

v1::SummarizeAnswer Summarize(const v1::SummarizeQuestion& question) {
  v1::SummarizeAnswer answer;
  answer.set_failure_class(FailureClass(question.found()));
  answer.set_text(absl::StrCat("Reported: ", Opening(question.incident().description()), " ",
                               Messages(question.found()),
                               Named(question.found(), Entity::NODE, "Nodes named"),
                               Named(question.found(), Entity::GPU, "GPUs named"),
                               Named(question.found(), Entity::NIC, "Adapters named"),
                               Named(question.found(), Entity::XID, "Xids named")));
  return answer;
}

}  // namespace galen::reasoner
