#include "common/reasoner/llm/asker.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/llm/usage/usage.h"
#include "common/reasoner/llm/fallback.h"
#include "common/reasoner/llm/prompt.h"
#include "common/reasoner/llm/section.h"

namespace galen::reasoner::llm {
namespace {

using galen::llm::ChatAnswer;
using galen::llm::ChatRequest;
using galen::v1::Reasoned;
using galen::v1::ReasoningStep;

// Share of the time until the caller's deadline that a model may take: the rest is for the caller.
constexpr double kShareOfTime = 0.8;
// With less than this a model is not asked: no endpoint answers in that time.
constexpr absl::Duration kLeastTime = absl::Milliseconds(500);
// Factor for the limit of the second answer if the first one was cut off.
constexpr int kMoreRoom = 2;
// Bytes of its own refused answer that a model is shown.
constexpr std::size_t kRefused = 2000;
// A fixed seed: the same answer to the same question, if the endpoint supports it.
constexpr std::int64_t kSeed = 20260101;

std::int64_t EstimateInput(const ChatRequest& request) {
  std::int64_t tokens = 0;
  for (const galen::llm::Message& message : request.messages) {
    tokens += usage::EstimateTokens(message.content);
    for (const galen::llm::ToolUse& use : message.tool_uses) {
      tokens += usage::EstimateTokens(use.arguments);
    }
  }
  return tokens;
}

// Adds the model's thoughts as steps of the reasoning graph, each a child of the one before.
void AddThoughts(const Thoughts& thoughts, const std::string& id, Reasoned& reasoned) {
  const std::pair<ReasoningStep::Kind, const std::string*> parts[] = {
      {ReasoningStep::PROPOSITION, &thoughts.proposition},
      {ReasoningStep::CRITIQUE, &thoughts.critique},
      {ReasoningStep::REFINEMENT, &thoughts.refinement},
  };
  std::string above;
  for (const auto& [kind, text] : parts) {
    if (text->empty()) continue;
    ReasoningStep& step = *reasoned.add_steps();
    step.set_id(absl::StrCat(id, "/", reasoned.steps_size()));
    step.set_kind(kind);
    step.set_text(*text);
    step.set_model(reasoned.model());
    if (!above.empty()) step.add_parents(above);
    above = step.id();
  }
}

void AddTokens(const knowledge::Knowledge& knowledge, std::int64_t input, std::int64_t output,
               Reasoned& reasoned) {
  reasoned.set_input_tokens(reasoned.input_tokens() + std::max<std::int64_t>(input, 0));
  reasoned.set_output_tokens(reasoned.output_tokens() + std::max<std::int64_t>(output, 0));
  reasoned.set_cost_nanos(usage::CostNanos(knowledge.base(), reasoned.model(),
                                           reasoned.input_tokens(), reasoned.output_tokens()));
}

void Account(const knowledge::Knowledge& knowledge, const ChatRequest& request,
             const ChatAnswer& answer, Reasoned& reasoned) {
  std::int64_t input = answer.usage.prompt_tokens;
  std::int64_t output = answer.usage.completion_tokens;
  if (!answer.usage.reported) {
    input = EstimateInput(request);
    output = usage::EstimateTokens(answer.text);
    for (const galen::llm::ToolUse& use : answer.tool_uses) {
      output += usage::EstimateTokens(use.arguments);
    }
    reasoned.set_estimated(true);
  }
  AddTokens(knowledge, input, output, reasoned);
}

// Accounts for a call that ended at a time limit: the endpoint read the prompt, and may have
// written up to the limit.
void AccountForLate(const knowledge::Knowledge& knowledge, const ChatRequest& request,
                    Reasoned& reasoned) {
  reasoned.set_estimated(true);
  AddTokens(knowledge, EstimateInput(request), request.max_tokens, reasoned);
}

// Masks secrets in the unescaped text, because an entity in place of a quotation mark would hide
// one. Text without secrets is unchanged.
std::string MaskedPiece(const host::Redactor& redactor, absl::string_view piece) {
  std::map<std::string, int> counts;
  const std::string masked = redactor.Redact(Unescape(piece), counts);
  return counts.empty() ? std::string(piece) : Escape(masked);
}

// Masks secrets in a prompt: between tags, and between the quotation marks within tags, neither of
// which foreign text can contain.
std::string MaskedSections(const host::Redactor& redactor, absl::string_view text) {
  std::string masked;
  while (!text.empty()) {
    const std::size_t tag = text.find('<');
    absl::StrAppend(&masked, MaskedPiece(redactor, text.substr(0, tag)));
    if (tag == absl::string_view::npos) break;
    const std::size_t end = std::min(text.find('>', tag), text.size() - 1);
    absl::string_view inside = text.substr(tag, end - tag + 1);
    for (bool value = false; !inside.empty(); value = !value) {
      const std::size_t mark = inside.find('"');
      const absl::string_view part = inside.substr(0, mark);
      absl::StrAppend(&masked, value ? MaskedPiece(redactor, part) : std::string(part),
                      mark == absl::string_view::npos ? "" : "\"");
      if (mark == absl::string_view::npos) break;
      inside.remove_prefix(mark + 1);
    }
    text.remove_prefix(end + 1);
  }
  return masked;
}

void Mask(const host::Redactor* redactor, ChatRequest& request) {
  if (redactor == nullptr) return;
  std::map<std::string, int> counts;
  for (galen::llm::Message& message : request.messages) {
    const bool own = message.role == galen::llm::Message::Role::kAssistant;
    message.content = own ? redactor->Redact(message.content, counts)
                          : MaskedSections(*redactor, message.content);
    for (galen::llm::ToolUse& use : message.tool_uses) {
      use.arguments = redactor->Redact(use.arguments, counts);
    }
  }
}

}  // namespace

void AskCounters::Count(const Reasoned& reasoned) {
  ++asked_;
  if (reasoned.fallback() == Reasoned::NONE) ++answered_;
  if (reasoned.cached()) ++cached_;
  if (reasoned.repaired()) ++repaired_;
  calls_ += reasoned.calls();
  input_ += reasoned.input_tokens();
  output_ += reasoned.output_tokens();
  cost_ += reasoned.cost_nanos();
  ++fallbacks_[static_cast<std::size_t>(reasoned.fallback())];
}

AskCounts AskCounters::counts() const {
  AskCounts counts;
  counts.asked = asked_;
  counts.answered = answered_;
  counts.cached = cached_;
  counts.repaired = repaired_;
  counts.spent.set_calls(calls_);
  counts.spent.set_input_tokens(input_);
  counts.spent.set_output_tokens(output_);
  counts.spent.set_cost_nanos(cost_);
  for (std::size_t i = 1; i < fallbacks_.size(); ++i) {
    if (fallbacks_[i] > 0) counts.fallbacks[static_cast<Reasoned::Fallback>(i)] = fallbacks_[i];
  }
  return counts;
}

std::string Asker::ModelOf(absl::string_view question) const { return SettingsOf(question).model; }

galen::llm::Settings Asker::SettingsOf(absl::string_view question) const {
  return model_.client->SettingsOf(question);
}

Reasoned Asker::Ask(const Question& question, Take take, absl::Time deadline) const {
  Reasoned reasoned;
  reasoned.set_question(question.name);
  const galen::llm::Settings settings = model_.client->SettingsOf(question.name);
  reasoned.set_model(settings.model);
  const auto done = [&] {
    if (model_.counters != nullptr) model_.counters->Count(reasoned);
    return reasoned;
  };

  const std::optional<Prompt> prompt =
      MakePrompt(knowledge_, question.name, question.case_text, question.slots);
  if (!prompt.has_value()) {
    FallBack(reasoned, Reasoned::NOT_NEEDED, "the knowledge has no prompt for it");
    return done();
  }
  reasoned.set_prompt(prompt->version);

  ChatRequest request;
  request.purpose = question.name;
  request.messages = MessagesOf(*prompt);
  request.messages.insert(request.messages.end(), question.turns.begin(), question.turns.end());
  if (question.tools.empty()) {
    request.schema = galen::llm::JsonSchema{question.name, Dump(question.schema)};
  } else {
    request.tools = question.tools;
  }
  request.model = settings.model;
  request.max_tokens =
      prompt->max_output_tokens > 0 ? prompt->max_output_tokens : settings.max_tokens;
  request.temperature = settings.temperature.value_or(0);
  request.seed = settings.seed.value_or(kSeed);
  Mask(model_.redactor, request);

  const auto answered = question.spending.answered().find(question.name);
  const std::string step_id =
      absl::StrCat("model/", question.name, "/",
                   answered == question.spending.answered().end() ? 1 : answered->second + 1);
  const auto accept = [&](absl::string_view text) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(const Json answer, ParseObject(text));
    Thoughts thoughts;
    if (question.thinks) {
      GALEN_ASSIGN_OR_RETURN(thoughts, ThoughtsOf(answer));
    }
    GALEN_RETURN_IF_ERROR(take(answer));
    AddThoughts(thoughts, step_id, reasoned);
    return absl::OkStatus();
  };

  const std::string digest = DigestOf(request, prompt->version);
  if (model_.cache != nullptr) {
    const std::optional<std::string> kept = model_.cache->Get(digest);
    if (kept.has_value() && accept(*kept).ok()) {
      reasoned.set_cached(true);
      return done();
    }
  }

  galen::v1::Spending spent = question.spending;
  const auto refuse = [&] {
    return usage::Refuse(knowledge_, spent,
                         {.question = question.name,
                          .model = settings.model,
                          .input_tokens = EstimateInput(request),
                          .output_tokens = request.max_tokens});
  };
  if (const usage::Refusal refusal = refuse(); refusal.fallback != Reasoned::NONE) {
    FallBack(reasoned, refusal.fallback, refusal.why);
    return done();
  }

  for (int round = 1;; ++round) {
    const absl::Time now = absl::Now();
    const absl::Duration time = deadline == absl::InfiniteFuture()
                                    ? absl::InfiniteDuration()
                                    : (deadline - now) * kShareOfTime;
    if (time < kLeastTime) {
      FallBack(reasoned, Reasoned::OUT_OF_TIME, "the time left is too short to ask a model");
      return done();
    }
    galen::llm::CallOptions options;
    options.deadline = now + time;
    options.cancellation = model_.cancellation;
    reasoned.set_calls(reasoned.calls() + 1);
    const absl::StatusOr<ChatAnswer> answer = model_.client->Chat(request, options);
    reasoned.set_took_millis(reasoned.took_millis() + absl::ToInt64Milliseconds(absl::Now() - now));
    if (!answer.ok()) {
      if (absl::IsDeadlineExceeded(answer.status())) AccountForLate(knowledge_, request, reasoned);
      FallBack(reasoned, FallbackOf(answer.status()), answer.status().message());
      return done();
    }
    Account(knowledge_, request, *answer, reasoned);
    const std::string text = answer->tool_uses.empty() || question.from_tools == nullptr
                                 ? answer->text
                                 : Dump(question.from_tools(*answer));
    const bool cut_off = answer->finish == galen::llm::Finish::kLength;
    absl::Status taken = accept(text);
    if (taken.ok()) {
      reasoned.set_repaired(round > 1);
      if (model_.cache != nullptr) model_.cache->Put(digest, text);
      return done();
    }
    if (cut_off) {
      taken = absl::InvalidArgumentError(
          absl::StrCat("the answer was cut off at ", request.max_tokens, " tokens: write less"));
    }
    const knowledge::v1::Prompt* const repair = knowledge_.FindPrompt("repair");
    if (round > 1 || repair == nullptr) {
      FallBack(reasoned, Reasoned::BAD_ANSWER, taken.message());
      return done();
    }
    using Role = galen::llm::Message::Role;
    // An answer that was cut off is not shown to the model; it gets more room instead.
    if (cut_off) {
      request.max_tokens *= kMoreRoom;
    } else {
      request.messages.push_back({Role::kAssistant, CleanText(text, kRefused), {}, ""});
    }
    request.messages.push_back(
        {Role::kUser,
         Fill(repair->text(), {{"error", Escape(CleanText(taken.message(), kMostDetail))}}),
         {},
         ""});
    Mask(model_.redactor, request);
    spent = question.spending;
    usage::Add(reasoned, *spent.mutable_diagnosis());
    usage::Add(reasoned, *spent.mutable_tenant_today());
    if (const usage::Refusal refusal = refuse(); refusal.fallback != Reasoned::NONE) {
      FallBack(reasoned, Reasoned::BAD_ANSWER,
               absl::StrCat(taken.message(), "; not asked again: ", refusal.why));
      return done();
    }
  }
}

}  // namespace galen::reasoner::llm
