#ifndef COMMON_REASONER_LLM_TURN_FORM_H_
#define COMMON_REASONER_LLM_TURN_FORM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/llm/client.h"
#include "common/reasoner/llm/json.h"
#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/investigation.pb.h"

// The form of a model's turn in an investigation: it asks to see more, or concludes. The tools here
// are the only ones: none of them writes, runs a command, or names a path or another diagnosis. The
// form also exists as tools of the protocol. All are pure; an answer that violates the form is
// INVALID_ARGUMENT with a sentence for the model.
namespace galen::reasoner::llm {

// Maximum number of calls of one turn, of verdicts, and of citations of a verdict.
inline constexpr std::size_t kMostCalls = 3;
inline constexpr std::size_t kMostVerdicts = 4;
inline constexpr std::size_t kMostCitations = 4;

// The limits of a turn.
struct Allowed {
  bool calls = true;       // false: the last turn
  bool run_checks = true;  // false: there is nothing that they could run on
};
Json TurnSchema(const Allowed& allowed);
std::vector<galen::llm::Tool> TurnTools(const Allowed& allowed);
// The same tools in words, one a line, with the members of a call that they take.
std::string ToolsText(const Allowed& allowed);
// An empty turn: the draft, since the built-in reasoner calls no tools.
Json EmptyTurn();

// Converts tool uses of the protocol to an answer of the schema.
Json TurnOfTools(const galen::llm::ChatAnswer& answer);

// A model's statement about a cause, not yet verified.
struct Opinion {
  struct Quote {
    std::string of;
    std::int64_t line = 0;
    std::string text;
  };
  std::string label;  // "" and REJECTED: nothing is broken
  galen::v1::ModelVerdict::Outcome outcome = galen::v1::ModelVerdict::OUTCOME_UNSPECIFIED;
  std::vector<std::string> nodes;
  std::vector<std::string> devices;
  std::string text;
  std::vector<Quote> quotes;
};

struct Turn {
  std::vector<galen::v1::ToolCall> calls;
  std::vector<Opinion> opinions;
  std::string explanation;
  std::vector<galen::v1::Suggestion> suggestions;
};
absl::StatusOr<Turn> TurnOf(const Json& answer);

// An accepted turn as the model would have written it, for later prompts.
Json JsonOf(const galen::v1::InvestigationTurn& turn);
// An accepted turn as tool uses, with ids such as "t2c1": the first call of the second turn.
std::vector<galen::llm::ToolUse> UsesOf(const galen::v1::InvestigationTurn& turn, int number);
std::string UseId(int turn, int call);

// "search train.log for \"timeout\"", for people.
std::string DescribeCall(const galen::v1::ToolCall& call);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_TURN_FORM_H_
