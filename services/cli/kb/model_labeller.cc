#include "services/cli/kb/model_labeller.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/llm/usage/usage.h"
#include "common/reasoner/llm/case_text.h"
#include "common/reasoner/llm/json.h"
#include "common/reasoner/llm/schema.h"
#include "common/reasoner/llm/section.h"

namespace galen::cli {
namespace {

using curation::CommonCause;
using curation::Labelling;
using curation::Ticket;
using reasoner::llm::Json;
using reasoner::llm::ListOf;
using reasoner::llm::Object;
using reasoner::llm::OneOf;
using reasoner::llm::Section;
using reasoner::llm::TextKind;
using reasoner::llm::TextSchema;

constexpr int kOffered = 8;
constexpr std::size_t kTicketsShown = 5;
constexpr std::size_t kText = 1500;
constexpr std::size_t kLog = 600;
// A share of belief above which the rules need no second opinion.
constexpr double kSure = 0.9;
constexpr double kByModel = 0.5;

std::string TicketText(const Ticket& ticket, bool with_outcome) {
  std::string text = Section(TextKind::kPlain, {{"name", "title"}}, ticket.title, 200);
  absl::StrAppend(&text,
                  Section(TextKind::kPlain, {{"name", "description"}}, ticket.description, kText));
  if (!ticket.logs.empty()) {
    absl::StrAppend(&text, Section(TextKind::kLog, {}, absl::StrJoin(ticket.logs, "\n"), kLog));
  }
  if (!with_outcome) return text;
  absl::StrAppend(&text,
                  Section(TextKind::kPlain, {{"name", "resolution"}}, ticket.resolution, kText),
                  Section(TextKind::kPlain, {{"name", "discussion"}},
                          absl::StrJoin(ticket.discussion, "\n"), kText));
  return text;
}

std::string ChoicesText(const std::vector<const knowledge::v1::Label*>& offered) {
  std::string text;
  for (const knowledge::v1::Label* label : offered) {
    absl::StrAppend(&text, Section(TextKind::kRule, {{"name", label->label()}},
                                   absl::StrCat(label->title(), ". ", label->description()), 240));
  }
  return text;
}

std::set<std::string> NamesOf(const std::vector<const knowledge::v1::Label*>& offered) {
  std::set<std::string> names = {""};
  for (const knowledge::v1::Label* label : offered) names.insert(label->label());
  return names;
}

}  // namespace

ModelLabeller::ModelLabeller(const knowledge::Knowledge& knowledge,
                             const curation::Labeller& builtin, reasoner::llm::Model model)
    : knowledge_(knowledge), builtin_(builtin), rules_(knowledge), asker_(knowledge, model) {}

bool ModelLabeller::Ask(reasoner::llm::Asker::Question question,
                        reasoner::llm::Asker::Take take) const {
  {
    // The budget of a diagnosis is none of a ticket's: each question begins a new one.
    MutexLock lock(mu_);
    *question.spending.mutable_tenant_today() = spending_.tenant_today();
    question.spending.set_failures(spending_.failures());
  }
  const galen::v1::Reasoned reasoned = asker_.Ask(question, take, absl::InfiniteFuture());
  MutexLock lock(mu_);
  ++asked_;
  usage::Add(reasoned, spending_);
  if (reasoned.fallback() == galen::v1::Reasoned::NONE) {
    ++taken_;
    return true;
  }
  if (problem_.empty()) problem_ = reasoned.detail();
  return false;
}

std::vector<const knowledge::v1::Label*> ModelLabeller::Offer(const Ticket& ticket,
                                                              const std::string& nearest) const {
  reasoner::v1::HistoryQuestion question;
  question.mutable_incident()->set_description(
      absl::StrCat(ticket.title, "\n", ticket.description, "\n", absl::StrJoin(ticket.logs, "\n")));
  question.set_max_causes(kOffered);
  std::vector<std::string> names;
  if (!nearest.empty()) names.push_back(nearest);
  if (const auto past = rules_.ProposeFromHistory(question, absl::InfiniteFuture()); past.ok()) {
    for (const auto& cause : past->causes()) names.push_back(cause.label());
  }
  std::vector<const knowledge::v1::Label*> offered;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    const knowledge::v1::Label* const label = knowledge_.FindLabel(name);
    if (label == nullptr || !knowledge::IsLeaf(*label) || !seen.insert(name).second) continue;
    offered.push_back(label);
  }
  return offered;
}

absl::StatusOr<Labelling> ModelLabeller::Label(const Ticket& ticket) const {
  GALEN_ASSIGN_OR_RETURN(Labelling labelling, builtin_.Label(ticket));
  if (labelling.how == Labelling::How::kJudged && labelling.confidence >= kSure) return labelling;
  const std::vector<const knowledge::v1::Label*> offered = Offer(ticket, labelling.label);
  if (offered.empty()) return labelling;
  const std::set<std::string> names = NamesOf(offered);
  std::string label;
  std::string reason;
  const bool taken =
      Ask({.name = "ticket_label",
           .slots = {{"choices", ChoicesText(offered)}, {"ticket", TicketText(ticket, false)}},
           .schema = Object({{"label", OneOf(names)}, {"reason", TextSchema(200)}})},
          [&](const Json& answer) -> absl::Status {
            GALEN_ASSIGN_OR_RETURN(label, reasoner::llm::ChoiceOf(answer, "label", names));
            GALEN_ASSIGN_OR_RETURN(reason, reasoner::llm::TextOf(answer, "reason", 200, true));
            return absl::OkStatus();
          });
  if (!taken) return labelling;
  if (label == labelling.label && labelling.how == Labelling::How::kJudged) {
    absl::StrAppend(&labelling.reason, "; the model ", asker_.ModelOf("ticket_label"), " agrees");
    return labelling;
  }
  const std::string by =
      absl::StrCat("by the model ", asker_.ModelOf("ticket_label"), ": ", reason);
  if (label.empty()) {
    labelling.how = Labelling::How::kNew;
    labelling.reason = by;
    return labelling;
  }
  return Labelling{Labelling::How::kJudged, label, kByModel, by};
}

CommonCause ModelLabeller::Describe(const std::vector<const Ticket*>& tickets) const {
  std::string text;
  for (std::size_t i = 0; i < std::min(tickets.size(), kTicketsShown); ++i) {
    absl::StrAppend(&text, TicketText(*tickets[i], /*with_outcome=*/true));
  }
  const std::vector<const knowledge::v1::Label*> offered = Offer(*tickets.front(), "");
  const std::set<std::string> names = NamesOf(offered);
  CommonCause cause;
  const bool taken = Ask(
      {.name = "ticket_group",
       .slots = {{"choices", ChoicesText(offered)}, {"ticket", text}},
       .schema = Object({{"title", TextSchema(120)},
                         {"description", TextSchema(800)},
                         {"symptoms", ListOf(TextSchema(160), 5)},
                         {"known", OneOf(names)}})},
      [&](const Json& answer) -> absl::Status {
        GALEN_ASSIGN_OR_RETURN(cause.known, reasoner::llm::ChoiceOf(answer, "known", names));
        GALEN_ASSIGN_OR_RETURN(cause.title, reasoner::llm::TextOf(answer, "title", 120));
        GALEN_ASSIGN_OR_RETURN(cause.description,
                               reasoner::llm::TextOf(answer, "description", 800));
        GALEN_ASSIGN_OR_RETURN(cause.symptoms, reasoner::llm::TextsOf(answer, "symptoms", 160, 5));
        return absl::OkStatus();
      });
  if (!taken) return {};
  cause.by = absl::StrCat("the model ", asker_.ModelOf("ticket_group"));
  return cause;
}

std::vector<std::string> ModelLabeller::Steps(const Ticket& ticket) const {
  if (ticket.resolution.empty() && ticket.discussion.empty()) return {};
  std::vector<std::string> steps;
  const bool taken =
      Ask({.name = "ticket_steps",
           .slots = {{"ticket", TicketText(ticket, /*with_outcome=*/true)}},
           .schema = Object({{"steps", ListOf(TextSchema(300), 8)}})},
          [&](const Json& answer) -> absl::Status {
            GALEN_ASSIGN_OR_RETURN(steps, reasoner::llm::TextsOf(answer, "steps", 300, 8));
            return absl::OkStatus();
          });
  return taken ? steps : std::vector<std::string>();
}

std::string ModelLabeller::Told() const {
  MutexLock lock(mu_);
  if (asked_ == 0) return "";
  const galen::v1::Spent& spent = spending_.diagnosis();
  std::string told =
      absl::StrCat("the model ", asker_.ModelOf("ticket_label"), " answered ", taken_, " of ",
                   asked_, " questions; ", spent.calls(), " calls, ", spent.input_tokens(),
                   " tokens in, ", spent.output_tokens(), " out");
  const std::string money = usage::MoneyText(knowledge_.base(), spent.cost_nanos());
  if (!money.empty()) absl::StrAppend(&told, ", ", money);
  if (!problem_.empty()) absl::StrAppend(&told, "; first problem: ", problem_);
  return told;
}

}  // namespace galen::cli
