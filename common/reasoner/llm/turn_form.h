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

// The form of a model's turn in an investigation: it asks to see more, or concludes. The tools that
// stand here are all there are: none of them writes, runs a command, names a path or another
// diagnosis. A model that uses tools of the protocol says the same by them. All are pure; an answer
// that breaks the form is INVALID_ARGUMENT with a sentence for the model.
namespace galen::reasoner::llm {

// Calls of one turn, verdicts, and citations of a verdict, at most.
inline constexpr std::size_t kMostCalls = 3;
inline constexpr std::size_t kMostVerdicts = 4;
inline constexpr std::size_t kMostCitations = 4;

// `last`: nothing more may be asked for.
Json TurnSchema(bool last);
std::vector<galen::llm::Tool> TurnTools(bool last);
// A turn that says nothing: what the built-in reasoner, which asks nothing, would answer.
Json EmptyTurn();

// What tools of the protocol were used for, as an answer of the schema.
Json TurnOfTools(const galen::llm::ChatAnswer& answer);

// What a model says of a cause, before anything of it was looked up.
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

// A turn that was taken, as the model would have written it: what a later prompt shows of it.
Json JsonOf(const galen::v1::InvestigationTurn& turn);
// The same as uses of tools, with the ids "t2c1": the first call of the second turn.
std::vector<galen::llm::ToolUse> UsesOf(const galen::v1::InvestigationTurn& turn, int number);
std::string UseId(int turn, int call);

// "search train.log for \"timeout\"", for people.
std::string DescribeCall(const galen::v1::ToolCall& call);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_TURN_FORM_H_
