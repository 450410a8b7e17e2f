#ifndef COMMON_REASONER_LLM_CITED_H_
#define COMMON_REASONER_LLM_CITED_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/host/redact.h"
#include "galen/reasoner/v1/reasoner.pb.h"
#include "galen/v1/investigation.pb.h"

namespace galen::reasoner::llm {

// Everything that a model was shown in one investigation, to look up its quotes: texts of people,
// found messages, check results, and lines of tool results. A quote that is not in it was invented.
// Refers to the question, which must outlive it.
class Shown {
 public:
  // `redactor`: the one that masked the prompts; null: nothing was masked.
  Shown(const v1::InvestigateQuestion& question, const host::Redactor* redactor);

  // The line with `quote` in that artefact (by its name or handle), at that line or a few lines
  // away, otherwise the only other line of the artefact with it. INVALID_ARGUMENT with a sentence
  // that repeats nothing of the arguments.
  absl::StatusOr<galen::v1::Citation> Find(const std::string& artefact, std::int64_t line,
                                           absl::string_view quote) const;

  // False if a text of a model has something in quotation marks that is not in any shown line.
  bool QuotesOnlyWhatStands(absl::string_view words) const;

  // Whether a shown line is from a machine of that name, or names it.
  bool NamesMachine(const std::string& name) const;

  // Whether the line is dated more than a day before the incident; the day allows for earlier
  // causes. False if a time is unknown.
  bool IsTooOld(const galen::v1::Citation& citation) const;

 private:
  struct Line {
    std::string text;
    std::string node;
    google::protobuf::Timestamp time;
    bool timed = false;
  };
  // A long line may have been shown in several parts.
  using Lines = std::multimap<std::int64_t, Line>;

  void Add(const std::string& artefact, const std::vector<std::string>& lines,
           const std::string& node);
  void AddLine(const std::string& artefact, std::int64_t number, Line line);
  // The result of a check that has one result; end: it has none, or several.
  std::map<std::string, Lines>::const_iterator OnlyResultOf(const std::string& check) const;
  bool Holds(const Line& line, const std::string& quote) const;

  const host::Redactor* const redactor_;
  std::map<std::string, Lines> artefacts_;
  std::map<std::string, std::string> handles_;  // short names, with those of their artefacts
  std::optional<absl::Time> oldest_;
};

// Normal form for the comparison of quotes: letters and digits of a text, with single spaces
// between.
std::string Squeezed(absl::string_view text);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_CITED_H_
