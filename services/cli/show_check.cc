#include "services/cli/show_check.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/knowledge/words.h"
#include "services/cli/terminal.h"

namespace galen::cli {
namespace {

using knowledge::v1::Check;
using knowledge::v1::Rule;

std::string Condition(const Rule& rule) {
  for (const auto& word : knowledge::OpWords()) {
    if (word.value == rule.op()) return absl::StrCat(std::string(word.text), " ", rule.value());
  }
  return rule.value();
}

// Writes "key   value" lines, the values wrapped below each other.
class CheckPage {
 public:
  explicit CheckPage(Console& console) : console_(console) {}
  void Head(absl::string_view text) {
    console_.out << Paint(console_.terminal, Colour::kBold, text) << '\n';
  }
  void Row(absl::string_view key, absl::string_view value, std::size_t columns = 14) {
    if (value.empty()) return;
    const auto width = static_cast<std::size_t>(std::max(console_.terminal.width, 40));
    bool first = true;
    for (const std::string& line : Wrap(value, width > columns + 20 ? width - columns - 2 : 20)) {
      console_.out << "  " << Pad(first ? key : "", columns) << line << '\n';
      first = false;
    }
  }

 private:
  Console& console_;
};

void ShowParameters(const Check& check, CheckPage& page) {
  if (check.parameters().empty()) return;
  page.Head("Parameters");
  for (const knowledge::v1::Parameter& parameter : check.parameters()) {
    std::string text = parameter.type();
    if (parameter.has_min()) {
      absl::StrAppendFormat(&text, " from %.15g to %.15g", parameter.min(), parameter.max());
    }
    if (!parameter.unit().empty()) absl::StrAppend(&text, " ", parameter.unit());
    if (!parameter.choices().empty()) {
      absl::StrAppend(&text, ", one of ", absl::StrJoin(parameter.choices(), ", "));
    }
    absl::StrAppend(&text, ", ",
                    parameter.default_value().empty()
                        ? "empty unless set"
                        : absl::StrCat(parameter.default_value(), " unless set"),
                    ": ", parameter.description());
    page.Row(parameter.name(), text, 18);
  }
}

void ShowFindings(const Check& check, CheckPage& page) {
  page.Head("Findings");
  for (const knowledge::v1::FindingSpec& finding : check.findings()) {
    std::string text = absl::StrCat(finding.type(), " of each ", finding.subject());
    if (!finding.unit().empty()) absl::StrAppend(&text, ", in ", finding.unit());
    if (finding.has_abnormal()) {
      absl::StrAppend(&text, "; abnormal when ", Condition(finding.abnormal()));
    }
    page.Row(finding.name(), text, 28);
  }
}

void ShowCauses(const knowledge::Knowledge& knowledge, const Check& check, CheckPage& page) {
  for (const bool confirm : {true, false}) {
    bool first = true;
    for (const knowledge::v1::Label& label : knowledge.base().labels()) {
      for (const Rule& rule : confirm ? label.confirm() : label.refute()) {
        if (rule.check() != check.name()) continue;
        if (first) page.Head(confirm ? "Speaks for" : "Speaks against");
        first = false;
        page.Row("",
                 absl::StrCat(label.label(), ": ", rule.finding(), " ", Condition(rule),
                              rule.context() ? " (healthy machines have it too)" : ""),
                 0);
      }
    }
  }
}

}  // namespace

std::string SecondsText(const google::protobuf::Duration& time) {
  return absl::StrCat(static_cast<double>(time.seconds()) + time.nanos() * 1e-9, " s");
}

ExitCode ShowCheck(const knowledge::Knowledge& knowledge, const std::string& name, bool json,
                   Console& console) {
  const Check* const check = knowledge.FindCheck(name);
  if (check == nullptr) {
    console.err << "galen: check \"" << name
                << "\": not in the catalogue; run `galen checks list` to see the checks"
                << std::endl;
    return kBadInput;
  }
  if (json) {
    std::string text;
    if (google::protobuf::util::MessageToJsonString(*check, &text).ok()) {
      console.out << text << std::endl;
    }
    return kOk;
  }
  CheckPage page(console);
  page.Head(absl::StrCat(check->name(), "  ", check->title()));
  page.Row("reads", absl::StrJoin(check->reads(), "; "));
  if (check->kind() == Check::EXEC) page.Row("runs", absl::StrJoin(check->exec().argv(), " "));
  page.Row("needs", absl::StrJoin(check->needs(), ", "));
  page.Row("cost", check->has_time_limit()
                       ? absl::StrCat("about ", SecondsText(check->cost()), ", at most ",
                                      SecondsText(check->time_limit()))
                       : absl::StrCat("about ", SecondsText(check->cost())));
  if (check->intrusive()) {
    page.Row("intrusive", check->occupies().empty()
                              ? "it loads a device: --allow-intrusive"
                              : absl::StrCat("it loads the ", check->occupies(),
                                             ", one check at a time: --allow-intrusive"));
  }
  ShowParameters(*check, page);
  ShowFindings(*check, page);
  ShowCauses(knowledge, *check, page);
  console.out.flush();
  return kOk;
}

void CheckProgress::Take(const v1::CheckResult& result) {
  if (!shown_) return;
  if (result.status() == v1::CheckResult::RUNNING) {
    std::string text = result.id();
    if (result.progress() > 0) {
      absl::StrAppend(&text, " ", std::floor(result.progress() * 100), "%");
    }
    running_[result.id()] = absl::StrCat(text, " ", result.message());
  } else if (running_.erase(result.id()) == 0) {
    return;
  }
  Clear();
  if (running_.empty()) return;
  std::vector<std::string> told;
  for (const auto& [id, text] : running_) told.push_back(text);
  const auto width = static_cast<std::size_t>(std::max(console_.terminal.width, 20));
  console_.err << Paint(console_.terminal, Colour::kDim,
                        Shorten(absl::StrJoin(told, " · "), width - 1))
               << std::flush;
  drawn_ = true;
}

void CheckProgress::Clear() {
  if (drawn_) console_.err << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

}  // namespace galen::cli
