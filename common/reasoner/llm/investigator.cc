#include "common/reasoner/llm/investigator.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/borrowed_evidence.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/node_name.h"
#include "common/llm/usage/usage.h"
#include "common/reasoner/llm/contradiction.h"
#include "common/reasoner/llm/lines.h"
#include "common/reasoner/llm/section.h"
#include "common/reasoner/llm/transcript_text.h"

namespace galen::reasoner::llm {
namespace {

using galen::v1::Citation;
using galen::v1::InvestigationTurn;
using galen::v1::ModelVerdict;
using galen::v1::Reasoned;
using galen::v1::ToolCall;
using galen::v1::Verdict;
using knowledge::v1::Label;

constexpr char kQuestion[] = "investigate";
// Share of the room for a prompt that is used; the rest allows for errors of the estimate.
constexpr double kShareOfRoom = 0.8;
// Minimum weight (log-likelihood ratio) of a line to be relevant to a cause.
constexpr double kBears = 1.1;  // ln 3
// Minimum probability at which the built-in reasoner calls a cause likely.
constexpr double kLikely = 0.02;
// Prior for the accuracy of verdicts: three of four are right.
constexpr double kPriorRight = 3;
constexpr double kPriorOf = 4;
constexpr std::size_t kAlike = 3;
constexpr int kPast = 3;

std::string CheckOf(const std::string& artefact) {
  const std::size_t at = artefact.find('@');
  return at == std::string::npos ? "" : artefact.substr(0, at);
}

bool Uses(const knowledge::v1::Rule& rule, absl::string_view check) {
  return rule.check() == check ||
         std::any_of(rule.with().begin(), rule.with().end(),
                     [&](const knowledge::v1::Rule& each) { return Uses(each, check); });
}

const knowledge::v1::LlmCalibration* CalibrationOf(const knowledge::v1::KnowledgeBase& base,
                                                   absl::string_view model,
                                                   absl::string_view built_in) {
  for (const knowledge::v1::LlmCalibration& each : base.llm_calibrations()) {
    if (each.built_in() != built_in) continue;
    absl::string_view name = each.model();
    const bool fits =
        absl::ConsumeSuffix(&name, "*") ? absl::StartsWith(model, name) : model == name;
    if (fits) return &each;
  }
  return nullptr;
}

// Number of turns in which the model concluded.
int Conclusions(const v1::InvestigateQuestion& question) {
  return static_cast<int>(
      std::count_if(question.transcript().begin(), question.transcript().end(),
                    [](const InvestigationTurn& turn) { return turn.calls().empty(); }));
}

// The call with its artefact's own name, which people know, in place of its short one.
ToolCall WithFullNames(const InvestigationTurn& turn, int at) {
  ToolCall call = turn.calls(at);
  std::string* const named = call.has_read_lines() ? call.mutable_read_lines()->mutable_artefact()
                             : call.has_search()   ? call.mutable_search()->mutable_artefact()
                                                   : nullptr;
  if (named == nullptr || named->empty() || at >= turn.results_size()) return call;
  for (const Citation& line : turn.results(at).lines()) {
    if (line.handle() == *named) {
      *named = line.artefact();
      break;
    }
  }
  return call;
}

std::string WhyEnded(const Reasoned& reasoned) {
  switch (reasoned.fallback()) {
    case Reasoned::BUDGET_SPENT:
      return "the budget for models is spent";
    case Reasoned::GAVE_UP:
      return "the model failed again and again";
    case Reasoned::NOT_NEEDED:
      return "the model was asked as often as it may be";
    default:
      return "";  // it may be asked once more
  }
}

}  // namespace

struct Investigator::Look {
  Look(const v1::InvestigateQuestion& asked, const host::Redactor* redactor)
      : question(asked),
        fresh(asked.fresh().begin(), asked.fresh().end()),
        shown(asked, redactor) {}

  const v1::InvestigateQuestion& question;
  const std::set<std::string> fresh;
  const Shown shown;
  std::set<std::string> nodes;
  std::map<std::string, Verdict> by_label;  // of all leaves, by the built-in reasoner
  std::vector<Verdict> ranked;              // by what was known before the first turn
  std::string model;
  TextSizes sizes = kLongForm;
};

const LikenessIndex& Investigator::leaves() const {
  std::call_once(made_, [this] { leaves_ = std::make_unique<const LikenessIndex>(knowledge_); });
  return *leaves_;
}

// The opinion of the built-in reasoner on the cause, as calibrations name it.
std::string Investigator::StandingOf(const std::string& label, const Look& look) const {
  if (!look.ranked.empty() && look.ranked.front().label() == label) return "first";
  const auto known = look.by_label.find(label);
  const bool likely = known != look.by_label.end() && known->second.probability() >= kLikely;
  return likely ? "likely" : "unlikely";
}

double Investigator::ProbabilityOf(const ModelVerdict& verdict) const {
  const knowledge::v1::LlmCalibration* const measured =
      CalibrationOf(knowledge_.base(), verdict.model(), verdict.built_in());
  const double right = measured == nullptr ? 0 : static_cast<double>(measured->right());
  const double of = measured == nullptr ? 0 : static_cast<double>(measured->of());
  return (right + kPriorRight) / (of + kPriorOf);
}

bool Investigator::Bears(const Citation& citation, const Label& label, const Look& look) const {
  const std::string check = CheckOf(citation.artefact());
  if (!check.empty()) {
    for (const auto* rules : {&label.confirm(), &label.refute()}) {
      for (const knowledge::v1::Rule& rule : *rules) {
        if (Uses(rule, check)) return true;
      }
    }
  }
  for (const galen::v1::Signal& signal : look.question.evidence().summary().signals()) {
    const bool here = signal.first_line() == citation.line() &&
                      (signal.source() == citation.artefact() ||
                       (signal.source() == "description" && citation.artefact() == kReport));
    if (!here) continue;
    for (const std::string& named : signal.labels()) {
      const bool effect =
          std::find(label.secondary_effects().begin(), label.secondary_effects().end(), named) !=
          label.secondary_effects().end();
      if (named == label.label() || effect) return true;
    }
  }
  const std::shared_ptr<const Likeness> alike = leaves().Of(citation.quote(), "");
  const auto like = alike->find(label.label());
  return like != alike->end() && like->second.weight >= kBears;
}

// Keeps a machine if it belongs to the case or is named in it, and if a citation is from it; any
// other is dropped with its device. The verdict itself does not depend on it.
void Investigator::SetPlaces(const Opinion& opinion, const Look& look,
                             ModelVerdict& verdict) const {
  const auto concerns = [&](const Citation& cited, const std::string& node) {
    if (cited.node().empty() || cited.node() == node || cited.node() == host::kReportedMachine ||
        absl::StrContains(cited.quote(), node)) {
      return true;
    }
    // A finding of several machines is cited only for one.
    const std::string check = CheckOf(cited.artefact());
    const auto& results = look.question.evidence().results();
    return !check.empty() && std::any_of(results.begin(), results.end(), [&](const auto& each) {
      return each.check() == check && each.node() == node &&
             each.status() == galen::v1::CheckResult::FAIL;
    });
  };
  const bool paired = opinion.devices.size() == opinion.nodes.size();
  std::vector<std::string> nodes;
  std::vector<std::string> devices;
  for (std::size_t i = 0; i < opinion.nodes.size(); ++i) {
    const std::string& node = opinion.nodes[i];
    if (!look.nodes.contains(node) && !look.shown.NamesMachine(node)) continue;
    const auto& cited = verdict.citations();
    const bool there =
        cited.empty() || std::any_of(cited.begin(), cited.end(),
                                     [&](const Citation& each) { return concerns(each, node); });
    if (!there) continue;
    nodes.push_back(node);
    if (paired) devices.push_back(opinion.devices[i]);
  }
  if (!paired && nodes.size() == opinion.nodes.size()) devices = opinion.devices;
  verdict.set_node(absl::StrJoin(nodes, ", "));
  verdict.set_device(absl::StrJoin(devices, ", "));
}

// Adds the verified citations and places, and returns the objection, which contains no text of the
// model. `weak`: it rejects a cause without relevant evidence, so it is only an opinion.
std::string Investigator::Objection(const Opinion& opinion, const Look& look, ModelVerdict& verdict,
                                    bool& weak) const {
  std::string wrong;
  for (std::size_t i = 0; i < opinion.quotes.size(); ++i) {
    const Opinion::Quote& quote = opinion.quotes[i];
    absl::StatusOr<Citation> found = look.shown.Find(quote.of, quote.line, quote.text);
    if (found.ok() && look.shown.IsTooOld(*found)) {
      found = absl::InvalidArgumentError("it is dated more than a day before the incident");
    }
    if (!found.ok()) {
      if (!wrong.empty()) continue;
      // Only the number: an objection contains no text of the model.
      wrong = absl::StrCat("its quote ", i + 1, ", of line ", quote.line, ": ",
                           found.status().message());
      continue;
    }
    *verdict.add_citations() = *std::move(found);
  }
  SetPlaces(opinion, look, verdict);
  if (!wrong.empty()) return wrong;
  if (opinion.outcome == ModelVerdict::OPEN) return "";
  const bool rejects = opinion.outcome == ModelVerdict::REJECTED;
  if (verdict.citations().empty()) {
    weak = rejects && !opinion.label.empty();
    return weak ? "" : "it cites nothing";
  }
  if (opinion.label.empty()) return "";
  const Label& label = *knowledge_.FindLabel(opinion.label);
  const bool bears = std::any_of(verdict.citations().begin(), verdict.citations().end(),
                                 [&](const Citation& each) { return Bears(each, label, look); });
  if (!bears) {
    weak = rejects;
    return weak ? ""
                : "none of its citations is relevant to that cause: they contain neither a check "
                  "nor a message of it, nor words that describe it";
  }
  if (!rejects) {
    const auto known = look.by_label.find(opinion.label);
    const std::string fact =
        known == look.by_label.end()
            ? ""
            : Contradiction(knowledge_, look.question.evidence(), known->second);
    if (!fact.empty()) return absl::StrCat("a fact excludes it: ", fact);
  }
  return "";
}

std::optional<ModelVerdict> Investigator::VerdictOf(const Opinion& opinion,
                                                    const Look& look) const {
  ModelVerdict verdict;
  verdict.set_label(opinion.label);
  verdict.set_outcome(opinion.outcome);
  // Its text is shown to people only if all its quotes can be looked up.
  if (look.shown.QuotesOnlyWhatStands(opinion.text)) verdict.set_text(opinion.text);
  verdict.set_model(look.model);
  bool weak = false;
  verdict.set_objection(Objection(opinion, look, verdict, weak));
  if (weak) return std::nullopt;
  verdict.set_built_in(StandingOf(opinion.label, look));
  verdict.set_probability(ProbabilityOf(verdict));
  return verdict;
}

// Checks labels while the model can still correct them; the error suggests the most similar labels.
absl::Status Investigator::CheckLabels(const Turn& turn) const {
  std::set<std::string> named;
  for (const Opinion& opinion : turn.opinions) {
    if (opinion.label.empty()) continue;
    if (!named.insert(opinion.label).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", CleanText(opinion.label, 80),
                       "\" has two verdicts; give one, with all of its machines in \"nodes\""));
    }
    const Label* const label = knowledge_.FindLabel(opinion.label);
    if (label != nullptr && knowledge::IsLeaf(*label)) continue;
    const std::vector<std::string> names =
        leaves().MostLike(absl::StrCat(opinion.label, " ", opinion.text), kAlike);
    return absl::InvalidArgumentError(
        absl::StrCat("\"", CleanText(opinion.label, 80), "\" is not a root cause of the taxonomy",
                     names.empty() ? "" : absl::StrCat("; alike are ", absl::StrJoin(names, ", ")),
                     "; with \"label\" empty you state a cause that the taxonomy does not have"));
  }
  return absl::OkStatus();
}

std::string Investigator::RefusalOf(const ToolCall& call, const Look& look,
                                    const Allowed& allowed) const {
  for (const InvestigationTurn& turn : look.question.transcript()) {
    for (const ToolCall& earlier : turn.calls()) {
      if (earlier.refused().empty() && DescribeCall(earlier) == DescribeCall(call)) {
        return "You asked that before; the answer is above.";
      }
    }
  }
  if (!call.has_run_checks()) return "";
  if (!allowed.run_checks) return "No check can run for this incident.";
  if (call.run_checks().checks().empty()) return "Name the checks to run.";
  for (const std::string& name : call.run_checks().checks()) {
    const knowledge::v1::Check* const check = knowledge_.FindCheck(name);
    if (check == nullptr || check->off()) {
      return "One of them is not a check; the question names those that have not run.";
    }
    if (check->intrusive()) {
      return "One of them loads the machine; only a person may start it.";
    }
  }
  return "";
}

void Investigator::LeaveOutWhatRan(const Look& look, ToolCall& call) {
  if (!call.has_run_checks() || call.run_checks().checks().empty()) return;
  std::set<absl::string_view> ran;
  for (const galen::v1::CheckResult& result : look.question.evidence().results()) {
    ran.insert(result.check());
  }
  auto& checks = *call.mutable_run_checks()->mutable_checks();
  const auto open = std::stable_partition(
      checks.begin(), checks.end(), [&](const std::string& name) { return !ran.contains(name); });
  if (open == checks.begin()) {
    call.set_refused("They have run; show_check shows what they found.");
  } else {
    checks.erase(open, checks.end());
  }
}

// Adds the tool calls since the last turn as steps of the reasoning.
void Investigator::AddSteps(const Look& look, Reasoned& reasoned) const {
  const auto& transcript = look.question.transcript();
  const int number = TurnsTaken(look.question);
  if (number == 0) return;
  const InvestigationTurn& turn = transcript[transcript.size() - 1];
  for (int i = 0; i < turn.calls_size(); ++i) {
    galen::v1::ReasoningStep& step = *reasoned.add_steps();
    const int round = look.question.evidence().feedback_size() + 1;
    step.set_id(absl::StrCat("look/", round > 1 ? absl::StrCat("round-", round, "/") : "", number,
                             "/", i + 1));
    step.set_kind(galen::v1::ReasoningStep::VERIFICATION);
    const int lines = i < turn.results_size() ? turn.results(i).lines_size() : 0;
    step.set_text(absl::StrCat(DescribeCall(WithFullNames(turn, i)), ": ",
                               !turn.calls(i).refused().empty() ? "refused"
                               : turn.calls(i).has_run_checks() ? "run"
                                                                : absl::StrCat(lines, " lines")));
    step.set_model(reasoned.model());
  }
}

absl::StatusOr<v1::InvestigateAnswer> Investigator::Take(const v1::InvestigateQuestion& question,
                                                         absl::Time deadline) const {
  Look look(question, asker_.redactor());
  const galen::llm::Settings settings = asker_.SettingsOf(kQuestion);
  look.model = settings.model;
  if (settings.context < galen::llm::kRoomForLongForm) look.sizes = kShortForm;
  look.nodes.insert(question.incident().nodes().begin(), question.incident().nodes().end());
  for (const auto& result : question.evidence().results()) look.nodes.insert(result.node());
  for (const auto& signal : question.evidence().summary().signals()) {
    if (!signal.node().empty()) look.nodes.insert(signal.node());
  }

  // The rules' verdicts on each leaf, by all evidence, and by the initial evidence, so that the
  // question begins the same way at each turn.
  v1::JudgeQuestion judge;
  for (const Label& label : knowledge_.base().labels()) {
    if (knowledge::IsLeaf(label)) judge.add_labels(label.label());
  }
  *judge.mutable_incident() = question.incident();
  *judge.mutable_evidence() = question.evidence();
  GALEN_ASSIGN_OR_RETURN(const v1::JudgeAnswer judged, rules_.Judge(judge, deadline));
  for (const Verdict& verdict : judged.verdicts()) look.by_label[verdict.label()] = verdict;
  look.ranked.assign(judged.verdicts().begin(), judged.verdicts().end());
  if (!look.fresh.empty()) {
    auto& results = *judge.mutable_evidence()->mutable_results();
    results.erase(std::remove_if(results.begin(), results.end(),
                                 [&](const auto& each) { return look.fresh.contains(each.id()); }),
                  results.end());
    GALEN_ASSIGN_OR_RETURN(const v1::JudgeAnswer before, rules_.Judge(judge, deadline));
    look.ranked.assign(before.verdicts().begin(), before.verdicts().end());
  }
  std::stable_sort(look.ranked.begin(), look.ranked.end(), [](const Verdict& a, const Verdict& b) {
    return a.probability() > b.probability();
  });
  BorrowedEvidence<v1::HistoryQuestion> history(judge.evidence());
  *history->mutable_incident() = question.incident();
  history->set_max_causes(kPast);
  GALEN_ASSIGN_OR_RETURN(const v1::HistoryAnswer past,
                         rules_.ProposeFromHistory(*history, deadline));

  const knowledge::v1::Prompt* const prompt = knowledge_.FindPrompt(kQuestion);
  const int most_turns = prompt == nullptr ? 0 : prompt->most();
  const bool last = TurnsTaken(question) + 1 >= most_turns || Conclusions(question) > 1;
  Asker::Question asked;
  asked.name = kQuestion;
  const Told told{knowledge_, question, look.fresh, look.ranked, look.sizes};
  asked.case_text = CaseOf(told, [&](const Citation& line) { return look.shown.IsTooOld(line); });
  const Allowed allowed{.calls = !last, .run_checks = CanRunChecks(told)};
  asked.slots["tools"] = ToolsText(allowed);
  asked.slots["checks"] = ChecksText(told);
  asked.slots["causes"] = CausesText(told);
  asked.slots["history"] = PastText(knowledge_, past, look.sizes);
  asked.slots["draft"] = Section(TextKind::kPlain, {{"name", "draft"}}, Dump(EmptyTurn()), 1000);
  asked.spending = question.spending();
  const std::int64_t own = usage::EstimateTokens(asked.case_text) +
                           usage::EstimateTokens(asked.slots["checks"]) +
                           usage::EstimateTokens(asked.slots["causes"]) +
                           usage::EstimateTokens(asked.slots["history"]) + 1500;
  const int room = static_cast<int>(settings.context * kShareOfRoom) - settings.max_tokens -
                   static_cast<int>(own);
  asked.turns = TranscriptMessages(knowledge_, question, look.by_label, look.sizes,
                                   {settings.tools, most_turns, room});
  if (settings.tools) {
    asked.tools = TurnTools(allowed);
    asked.from_tools = TurnOfTools;
  } else {
    asked.schema = TurnSchema(allowed);
  }

  std::optional<Turn> taken;
  Reasoned reasoned = asker_.Ask(
      asked,
      [&](const Json& json) -> absl::Status {
        GALEN_ASSIGN_OR_RETURN(Turn turn, TurnOf(json));
        if (last && !turn.calls.empty()) {
          return absl::InvalidArgumentError("nothing more can be asked for: give the verdicts");
        }
        GALEN_RETURN_IF_ERROR(CheckLabels(turn));
        taken = std::move(turn);
        return absl::OkStatus();
      },
      deadline);
  v1::InvestigateAnswer answer;
  if (reasoned.fallback() == Reasoned::NONE) {
    AddSteps(look, reasoned);
    for (ToolCall& call : taken->calls) {
      call.set_refused(RefusalOf(call, look, allowed));
      if (call.refused().empty()) LeaveOutWhatRan(look, call);
      *answer.add_calls() = std::move(call);
    }
    for (const Opinion& opinion : taken->opinions) {
      if (auto verdict = VerdictOf(opinion, look); verdict.has_value()) {
        *answer.add_verdicts() = *std::move(verdict);
      }
    }
    if (look.shown.QuotesOnlyWhatStands(taken->explanation)) {
      answer.set_explanation(taken->explanation);
    }
    for (galen::v1::Suggestion& suggestion : taken->suggestions) {
      suggestion.set_title(
          absl::StrCat(suggestion.title(), " (an idea of the model ", look.model, ")"));
      *answer.add_suggestions() = std::move(suggestion);
    }
    answer.set_concluded(answer.calls().empty());
  } else {
    answer.set_ended(WhyEnded(reasoned));
  }
  *answer.mutable_reasoned() = std::move(reasoned);
  return answer;
}

}  // namespace galen::reasoner::llm
