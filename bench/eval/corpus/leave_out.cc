#include "bench/eval/corpus/leave_out.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "re2/re2.h"

namespace galen::eval {
namespace {

// Shorter texts share runs of words by chance.
constexpr std::size_t kFewWords = 8;
constexpr std::size_t kRun = 3;

std::vector<std::string> Words(absl::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || byte >= 0x80) {
      word.push_back(absl::ascii_tolower(byte));
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

// Hashes of the distinct runs of three words, sorted.
std::vector<std::size_t> Runs(const std::vector<std::string>& words) {
  std::vector<std::size_t> runs;
  for (std::size_t i = 0; i + kRun <= words.size(); ++i) {
    runs.push_back(
        std::hash<std::string>()(absl::StrCat(words[i], " ", words[i + 1], " ", words[i + 2])));
  }
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

}  // namespace

double Overlap(absl::string_view a, absl::string_view b) {
  const std::vector<std::string> words_a = Words(a);
  const std::vector<std::string> words_b = Words(b);
  if (words_a.size() < kFewWords || words_b.size() < kFewWords) return 0;
  const std::vector<std::size_t> runs_a = Runs(words_a);
  const std::vector<std::size_t> runs_b = Runs(words_b);
  std::vector<std::size_t> common;
  std::set_intersection(runs_a.begin(), runs_a.end(), runs_b.begin(), runs_b.end(),
                        std::back_inserter(common));
  return static_cast<double>(common.size()) /
         static_cast<double>(std::min(runs_a.size(), runs_b.size()));
}

std::string SourcePage(absl::string_view address) {
  // Both forms of a GitHub thread: "owner/name#17", and its address, which issues, pull requests
  // and discussions share the numbers of.
  static const re2::RE2 kShort(R"(^([a-z0-9_.-]+/[a-z0-9_.-]+)#([0-9]+)\b)");
  static const re2::RE2 kThread(
      R"(^github\.com/([^/#?]+/[^/#?]+)/(?:issues|pull|discussions)/([0-9]+)\b)");
  const std::string page = absl::AsciiStrToLower(absl::StripAsciiWhitespace(address));
  absl::string_view rest = page;
  for (const char* scheme : {"https://", "http://"}) absl::ConsumePrefix(&rest, scheme);
  absl::ConsumePrefix(&rest, "www.");
  std::string repository;
  std::string number;
  const re2::StringPiece text(rest.data(), rest.size());
  if (re2::RE2::PartialMatch(text, kShort, &repository, &number) ||
      re2::RE2::PartialMatch(text, kThread, &repository, &number)) {
    return absl::StrCat("github.com/", repository, "#", number);
  }
  rest = rest.substr(0, rest.find('#'));
  while (absl::ConsumeSuffix(&rest, "/")) {
  }
  return std::string(rest);
}

std::vector<LeftOut> LeaveOut(
    const v1::Case& a_case, absl::string_view ticket, const std::vector<std::string>& hide_labels,
    google::protobuf::RepeatedPtrField<knowledge::v1::PastIncident>& incidents) {
  const std::string page = SourcePage(a_case.source());
  std::vector<LeftOut> left_out;
  const auto reason_for = [&](const knowledge::v1::PastIncident& incident) -> std::string {
    if (incident.id() == a_case.id()) return "the case itself";
    if (!page.empty() && SourcePage(incident.reference()) == page) return "the same source";
    const double overlap = std::max(Overlap(incident.description(), a_case.description()),
                                    Overlap(incident.description(), ticket));
    if (overlap >= kSameText) {
      return absl::StrCat("nearly the same text (", static_cast<int>(overlap * 100), " %)");
    }
    const auto hidden = std::find(hide_labels.begin(), hide_labels.end(), incident.label());
    if (hidden != hide_labels.end()) return absl::StrCat("its label ", *hidden, " is hidden");
    return "";
  };
  google::protobuf::RepeatedPtrField<knowledge::v1::PastIncident> kept;
  for (knowledge::v1::PastIncident& incident : incidents) {
    std::string reason = reason_for(incident);
    if (reason.empty()) {
      *kept.Add() = std::move(incident);
    } else {
      left_out.push_back({incident.id(), std::move(reason)});
    }
  }
  incidents = std::move(kept);
  return left_out;
}

}  // namespace galen::eval
