#include "common/curation/verification.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"

namespace galen::curation {
namespace {

constexpr std::size_t kMaxVerificationSteps = 12;
constexpr std::size_t kMaxStep = 300;
constexpr std::size_t kLeastStep = 6;
constexpr std::size_t kMaxRules = 6;
// An English word that is also a program does not prove that it was run.
constexpr absl::string_view kAlsoWords[] = {"cat", "free", "ip", "host", "mount", "who", "date",
                                            "env", "id",   "at", "df",   "ps",    "ls",  "sh"};

bool IsWordCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
}

std::set<std::string> WordSet(absl::string_view text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : text) {
    if (IsWordCharacter(c)) {
      word += absl::ascii_tolower(static_cast<unsigned char>(c));
    } else if (!word.empty()) {
      words.insert(std::exchange(word, ""));
    }
  }
  if (!word.empty()) words.insert(word);
  return words;
}

std::string ProgramOf(absl::string_view reads) {
  const std::vector<absl::string_view> parts = absl::StrSplit(reads, ' ', absl::SkipEmpty());
  if (parts.empty() || absl::StartsWith(parts[0], "/")) return "";
  return absl::AsciiStrToLower(parts[0]);
}

// Lines, and within a line the parts between full stops or semicolons.
std::vector<std::string> Sentences(absl::string_view text) {
  std::vector<std::string> sentences;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool stop =
          (line[i] == '.' || line[i] == ';') && (i + 1 == line.size() || line[i + 1] == ' ');
      if (!stop && i + 1 != line.size()) continue;
      const absl::string_view part =
          absl::StripAsciiWhitespace(line.substr(begin, i + (stop ? 0 : 1) - begin));
      if (part.size() >= kLeastStep) sentences.emplace_back(part);
      begin = i + 1;
    }
  }
  return sentences;
}

bool QuotesCommand(absl::string_view sentence) {
  const std::size_t open = sentence.find('`');
  return absl::StartsWith(sentence, "$ ") || absl::StartsWith(sentence, "# ") ||
         (open != absl::string_view::npos &&
          sentence.find('`', open + 1) != absl::string_view::npos);
}

}  // namespace

Verifier::Verifier(const knowledge::v1::KnowledgeBase& base)
    : checks_(base.checks().begin(), base.checks().end()) {
  const std::set<absl::string_view> also(std::begin(kAlsoWords), std::end(kAlsoWords));
  for (const knowledge::v1::Check& check : checks_) {
    std::vector<std::string> reads(check.reads().begin(), check.reads().end());
    if (!check.command().empty()) reads.push_back(check.command(0));
    if (!check.exec().argv().empty()) reads.push_back(check.exec().argv(0));
    for (const std::string& read : reads) {
      const std::string program = ProgramOf(read);
      if (!program.empty() && also.count(program) == 0) programs_.insert(program);
      readings_.push_back({&check, WordSet(read)});
    }
  }
}

bool Verifier::NamesProgram(const std::string& sentence) const {
  const std::set<std::string> words = WordSet(sentence);
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return programs_.count(word) > 0; });
}

std::vector<std::string> Verifier::StepsOf(const Ticket& ticket) const {
  std::vector<std::string> steps;
  const auto add = [&](absl::string_view raw) {
    std::string step = CleanText(raw, kMaxStep);
    std::replace(step.begin(), step.end(), '\n', ' ');
    if (steps.size() < kMaxVerificationSteps && !step.empty() &&
        std::find(steps.begin(), steps.end(), step) == steps.end()) {
      steps.push_back(std::move(step));
    }
  };
  for (const std::string& step : ticket.verification) add(step);
  const auto search = [&](const std::string& text) {
    for (const std::string& sentence : Sentences(text)) {
      if (QuotesCommand(sentence) || NamesProgram(sentence)) add(sentence);
    }
  };
  for (const std::string& text : ticket.discussion) search(text);
  search(ticket.resolution);
  return steps;
}

std::vector<knowledge::v1::Rule> Verifier::RulesFor(const std::vector<std::string>& steps) const {
  std::vector<knowledge::v1::Rule> rules;
  std::set<std::pair<std::string, std::string>> seen;
  for (const std::string& step : steps) {
    const std::set<std::string> words = WordSet(step);
    for (const Reading& reading : readings_) {
      if (reading.check->intrusive() || reading.words.empty()) continue;
      const bool names_it =
          std::includes(words.begin(), words.end(), reading.words.begin(), reading.words.end());
      if (!names_it) continue;
      for (const knowledge::v1::FindingSpec& finding : reading.check->findings()) {
        // "row_remap_pending" is named by a step that says "row remap ... pending".
        const std::vector<std::string> parts = absl::StrSplit(finding.name(), '_');
        const bool named = std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
          return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
            return part.size() >= 2 && absl::StartsWith(word, part);
          });
        });
        if (!finding.has_abnormal() || !named || rules.size() >= kMaxRules ||
            !seen.emplace(reading.check->name(), finding.name()).second) {
          continue;
        }
        knowledge::v1::Rule rule = finding.abnormal();
        rule.set_check(reading.check->name());
        rule.set_finding(finding.name());
        rule.clear_source();
        rules.push_back(std::move(rule));
      }
    }
  }
  return rules;
}

}  // namespace galen::curation
