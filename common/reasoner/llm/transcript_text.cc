#include "common/reasoner/llm/transcript_text.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/llm/usage/usage.h"
#include "common/reasoner/llm/json.h"
#include "common/reasoner/llm/prompt.h"
#include "common/reasoner/llm/section.h"
#include "common/reasoner/llm/turn_form.h"

namespace galen::reasoner::llm {
namespace {

using galen::llm::Message;
using galen::v1::InvestigationTurn;
using galen::v1::ModelVerdict;
using Judged = std::map<std::string, galen::v1::Verdict>;

constexpr std::size_t kObjectionBytes = 500;

// The first reason of a verdict in the given direction, with its evidence.
std::string FirstReason(const galen::v1::Verdict& verdict, galen::v1::Reason::Direction direction) {
  for (const galen::v1::Reason& reason : verdict.reasons()) {
    if (reason.direction() != direction) continue;
    return absl::StrCat(
        ": ", reason.text(),
        reason.evidence_ids().empty() ? "" : absl::StrCat(" [", reason.evidence_ids(0), "]"));
  }
  return "";
}

// The message to the model about a verdict; "": none.
std::string WrongWith(const ModelVerdict& verdict, const Judged& judged) {
  if (!verdict.objection().empty()) return verdict.objection();
  const auto known = judged.find(verdict.label());
  if (known == judged.end()) return "";
  const galen::v1::Verdict& own = known->second;
  if (verdict.outcome() == ModelVerdict::CONFIRMED &&
      own.outcome() == galen::v1::Verdict::REJECTED) {
    return absl::StrCat("the built-in reasoner rejects it",
                        FirstReason(own, galen::v1::Reason::OPPOSES));
  }
  if (verdict.outcome() == ModelVerdict::REJECTED &&
      own.outcome() == galen::v1::Verdict::CONFIRMED) {
    return absl::StrCat("checks confirm it", FirstReason(own, galen::v1::Reason::SUPPORTS),
                        ". It leads in any case; another cause is told beside it");
  }
  return "";
}

std::string Objections(const InvestigationTurn& turn, const Judged& judged) {
  std::string objections;
  for (const ModelVerdict& verdict : turn.verdicts()) {
    const std::string wrong = WrongWith(verdict, judged);
    if (wrong.empty()) continue;
    std::string on = verdict.label();
    if (on.empty()) {
      on = verdict.outcome() == ModelVerdict::REJECTED ? "no_fault" : "the cause in words";
    }
    absl::StrAppend(&objections, Section(TextKind::kPlain, {{"on", on}}, wrong, kObjectionBytes));
  }
  return objections;
}

std::string ShownBy(const v1::InvestigateQuestion& question, const InvestigationTurn& turn, int at,
                    bool elided, const TextSizes& sizes) {
  if (elided) return "It was shown before, and is left out here to save room.\n";
  const galen::v1::ToolCall& call = turn.calls(at);
  galen::v1::ToolResult result =
      at < turn.results_size() ? turn.results(at) : galen::v1::ToolResult();
  if (!call.refused().empty()) {
    result.set_text(call.refused());
  } else if (call.has_run_checks()) {
    result = ResultOfChecks(question.evidence(), call.run_checks());
  }
  return ResultText(result, call, sizes);
}

}  // namespace

int TurnsTaken(const v1::InvestigateQuestion& question) {
  return question.transcript_size() - (OpeningOf(question) != nullptr ? 1 : 0);
}

std::vector<Message> TranscriptMessages(const knowledge::Knowledge& knowledge,
                                        const v1::InvestigateQuestion& question,
                                        const Judged& judged, const TextSizes& sizes,
                                        const TranscriptForm& form) {
  using Role = Message::Role;
  const int taken = TurnsTaken(question);
  const int first = question.transcript_size() - taken;
  const auto build = [&](int elided) {
    std::vector<Message> messages;
    const auto say = [&](Role role, std::string text) {
      messages.push_back({role, std::move(text), {}, ""});
    };
    for (int number = 1; number <= taken; ++number) {
      const InvestigationTurn& turn = question.transcript(first + number - 1);
      if (form.tools) {
        messages.push_back({Role::kAssistant, "", UsesOf(turn, number), ""});
      } else {
        say(Role::kAssistant, Dump(JsonOf(turn)));
      }
      std::string text;
      for (int c = 0; c < turn.calls_size(); ++c) {
        const std::string told = ShownBy(question, turn, c, number <= elided, sizes);
        if (form.tools) {
          messages.push_back({Role::kTool, told, {}, UseId(number, c + 1)});
        } else {
          absl::StrAppend(&text, "Result ", c + 1, ", ", Escape(DescribeCall(turn.calls(c))), ":\n",
                          told);
        }
      }
      if (turn.calls().empty()) {
        if (form.tools) messages.push_back({Role::kTool, "Read.", {}, UseId(number, 1)});
        if (const auto* again = knowledge.FindPrompt("investigate_again"); again != nullptr) {
          absl::StrAppend(&text, Fill(again->text(), {{"objections", Objections(turn, judged)}}));
        }
      }
      if (number == taken && number + 1 >= form.most_turns) {
        if (const auto* last = knowledge.FindPrompt("investigate_last"); last != nullptr) {
          absl::StrAppend(&text, last->text());
        }
      }
      if (!text.empty()) say(Role::kUser, std::move(text));
    }
    return messages;
  };
  const auto tokens = [](const std::vector<Message>& messages) {
    std::int64_t sum = 0;
    for (const Message& message : messages) sum += usage::EstimateTokens(message.content);
    return sum;
  };
  // Drops the oldest results first.
  for (int elided = 0;; ++elided) {
    std::vector<Message> messages = build(elided);
    if (elided >= taken || tokens(messages) <= form.tokens) return messages;
  }
}

}  // namespace galen::reasoner::llm
