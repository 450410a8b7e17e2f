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

// Everything that a model was shown of one investigation, to look its quotes up: the words of
// people, the messages that were found, the check results, and the lines of tool results. A quote
// that stands nowhere in it was invented. Refers to the question, which must outlive it.
class Shown {
 public:
  // `redactor`: what the prompts went through; null: nothing was masked.
  Shown(const v1::InvestigateQuestion& question, const host::Redactor* redactor);

  // The line that holds `quote`: of that artefact, at that line or some lines beside it, else the
  // only other one of the artefact that holds it. INVALID_ARGUMENT with a sentence that holds
  // nothing of what was asked for.
  absl::StatusOr<galen::v1::Citation> Find(const std::string& artefact, std::int64_t line,
                                           absl::string_view quote) const;

  // False when the words of a model put something between quotation marks that no shown line holds.
  bool QuotesOnlyWhatStands(absl::string_view words) const;

  // A line that was shown is of a machine of that name, or names it.
  bool NamesMachine(const std::string& name) const;

  // Dated before the incident, as far as both are known: a day is left for what leads to it.
  bool IsTooOld(const galen::v1::Citation& citation) const;

 private:
  struct Line {
    std::string text;
    std::string node;
    google::protobuf::Timestamp time;
    bool timed = false;
  };
  using Lines = std::map<std::int64_t, Line>;

  void Add(const std::string& artefact, const std::vector<std::string>& lines,
           const std::string& node);
  bool Holds(const Line& line, const std::string& quote) const;

  const host::Redactor* const redactor_;
  std::map<std::string, Lines> artefacts_;
  std::optional<absl::Time> oldest_;
};

// Letters and digits of a text with single spaces between, as quotes are compared.
std::string Squeezed(absl::string_view text);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_CITED_H_
