#include "services/conclusion/report_writer.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/borrowed_evidence.h"
#include "common/base/status_macros.h"
#include "common/llm/usage/usage.h"
#include "galen/reasoner/v1/reasoner.pb.h"
#include "services/conclusion/attachment.h"
#include "services/conclusion/causes.h"
#include "services/conclusion/citations.h"
#include "services/conclusion/exclusion.h"
#include "services/conclusion/model_note.h"
#include "services/conclusion/model_verdicts.h"
#include "services/conclusion/reasoning_graph.h"
#include "services/conclusion/system_review.h"
#include "services/conclusion/ticket.h"

namespace galen::conclusion {
namespace {

using galen::v1::Cause;
using galen::v1::Device;
using galen::v1::Hypothesis;
using galen::v1::Report;
using galen::v1::Verdict;
using reasoner::v1::ConcludeAnswer;

constexpr size_t kMaxCollect = 3;
constexpr size_t kMaxReads = 3;
constexpr size_t kMaxMeasure = 4;

// Refuses an answer with causes or evidence that are not in the question.
absl::Status CheckAnswer(const v1::ConcludeRequest& request, const ConcludeAnswer& answer) {
  std::set<std::string> confirmed;
  for (const Hypothesis& each : request.hypotheses()) {
    if (each.verdict().outcome() == Verdict::CONFIRMED) confirmed.insert(each.label());
  }
  std::set<std::string> causes(answer.other_labels().begin(), answer.other_labels().end());
  if (!answer.primary_label().empty()) causes.insert(answer.primary_label());
  if (answer.primary_label().empty() && !causes.empty()) {
    return absl::FailedPreconditionError(
        "conclusion: the reasoner names other causes and no primary one");
  }
  for (const std::string& label : causes) {
    if (!confirmed.contains(label)) {
      return absl::FailedPreconditionError(
          absl::StrCat(label, ": the reasoner calls it a cause, but it is not confirmed"));
    }
  }
  std::set<std::string> ids;
  for (const auto& result : request.evidence().results()) ids.insert(result.id());
  for (const auto& signal : request.evidence().summary().signals()) ids.insert(signal.id());
  for (const ConcludeAnswer::Effect& effect : answer.effects()) {
    if (!causes.contains(effect.cause())) {
      return absl::FailedPreconditionError(
          absl::StrCat(effect.effect(), ": the reasoner explains it by \"", effect.cause(),
                       "\", which is not a cause of its answer"));
    }
    for (const std::string& id : effect.evidence_ids()) {
      if (!ids.contains(id)) {
        return absl::FailedPreconditionError(absl::StrCat(
            effect.effect(), ": the reasoner cites \"", id, "\", which is not evidence"));
      }
    }
  }
  return absl::OkStatus();
}

std::string Places(const Cause& cause) {
  std::vector<std::string> places;
  for (const Device& device : cause.devices()) {
    if (device.node().empty() && device.device().empty()) continue;
    places.push_back(device.device().empty() ? device.node()
                     : device.node().empty()
                         ? device.device()
                         : absl::StrCat(device.device(), " on ", device.node()));
  }
  constexpr size_t kMaxPlaces = 4;
  if (places.size() > kMaxPlaces) {
    const size_t more = places.size() - kMaxPlaces;
    places.resize(kMaxPlaces);
    places.push_back(absl::StrCat(more, " more"));
  }
  return absl::StrJoin(places, ", ");
}

std::string Repair(const Cause& cause) {
  const std::string places = Places(cause);
  std::string step =
      cause.mitigation().empty() ? absl::StrCat("Repair: ", cause.title()) : cause.mitigation();
  if (!places.empty()) step = absl::StrCat(places, ": ", step);
  return step;
}

// The causes that the next steps are about if nothing is confirmed; none: all undecided ones.
std::set<std::string> Leads(const Report& report) {
  std::set<std::string> leads;
  if (report.has_presumed_cause()) leads.insert(report.presumed_cause().label());
  for (const Cause& suspect : report.suspects()) leads.insert(suspect.label());
  return leads;
}

// "was skipped, ...", "ran without telling ...".
std::string Told(const std::string& why) {
  const bool is_verb = absl::StartsWith(why, "ran ") || absl::StartsWith(why, "gave ");
  return is_verb ? why : absl::StrCat("was ", why);
}

// Checks that would decide the leads, the check that serves most leads first.
std::vector<std::string> ToCollect(const knowledge::Knowledge& knowledge,
                                   const v1::ConcludeRequest& request, const Report& report) {
  const std::set<std::string> leads = Leads(report);
  std::map<std::string, std::set<std::string>> wanted;  // check to labels
  std::map<std::string, std::string> why;
  for (const Hypothesis& each : request.hypotheses()) {
    if (each.verdict().outcome() != Verdict::INCONCLUSIVE) continue;
    if (!leads.empty() && !leads.contains(each.label())) continue;
    for (const std::string& missing : each.verdict().missing()) {
      const std::string check = missing.substr(0, missing.find_first_of("@:"));
      const knowledge::v1::Check* const spec = knowledge.FindCheck(check);
      if (spec == nullptr) continue;
      const size_t colon = missing.find(": ");
      const std::string reason = colon == std::string::npos ? "" : missing.substr(colon + 2);
      // The report has read the given logs; they are not asked for again.
      if (spec->kind() == knowledge::v1::Check::LOG && absl::StartsWith(reason, "ran ")) continue;
      wanted[check].insert(each.label());
      if (!reason.empty()) why.emplace(check, reason);
    }
  }
  std::vector<std::pair<std::string, size_t>> order;
  order.reserve(wanted.size());
  for (const auto& [check, labels] : wanted) order.emplace_back(check, labels.size());
  // Checks that a person does by looking come before programs, which a site may not have.
  const auto is_program = [&](const std::string& name) {
    return knowledge.FindCheck(name)->kind() == knowledge::v1::Check::EXEC;
  };
  std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    return std::pair(is_program(a.first), b.second) < std::pair(is_program(b.first), a.second);
  });
  if (!order.empty() && !is_program(order.front().first)) {
    std::erase_if(order, [&](const auto& each) { return is_program(each.first); });
  }
  std::vector<std::string> steps;
  for (const auto& [name, serves] : order) {
    if (steps.size() == kMaxCollect) break;
    const knowledge::v1::Check& check = *knowledge.FindCheck(name);
    std::vector<std::string> reads(check.reads().begin(), check.reads().end());
    const bool more = reads.size() > kMaxReads;
    if (more) reads.resize(kMaxReads);
    std::string step =
        reads.empty() ? absl::StrCat("Run check ", name)
                      : absl::StrCat("Give what check ", name,
                                     " reads: ", absl::StrJoin(reads, ", "), more ? ", ..." : "");
    if (serves > 1) absl::StrAppend(&step, "; it would decide ", serves, " causes");
    if (why.contains(name)) absl::StrAppend(&step, "; it ", Told(why[name]));
    steps.push_back(std::move(step));
  }
  return steps;
}

// Telemetry that checks lacked, at most kMaxMeasure items: first that of checks which were skipped
// for it.
std::vector<std::string> ToMeasure(const v1::ConcludeRequest& request) {
  struct Wanted {
    bool silent = false;
    std::set<std::string> checks;
  };
  std::map<std::string, Wanted> all;
  for (const galen::v1::CheckResult& result : request.evidence().results()) {
    for (const std::string& wanted : result.wanted()) {
      Wanted& one = all[wanted];
      one.silent = one.silent || result.status() == galen::v1::CheckResult::SKIPPED;
      one.checks.insert(result.check());
    }
  }
  std::vector<std::string> steps;
  for (const bool silent : {true, false}) {
    for (const auto& [wanted, one] : all) {
      if (one.silent != silent || steps.size() == kMaxMeasure) continue;
      steps.push_back(absl::StrCat("Collect ", wanted, "; ", absl::StrJoin(one.checks, ", "),
                                   one.checks.size() == 1 ? " lacks it" : " lack it"));
    }
  }
  return steps;
}

std::string Verify(const knowledge::Knowledge& knowledge, const Report& report) {
  std::string step = "Verify the presumed cause before anything is done about it";
  const knowledge::v1::Label* label = knowledge.FindLabel(report.presumed_cause().label());
  if (label == nullptr) return step;
  const std::vector<std::string>& checks = knowledge.ChecksFor(*label);
  if (!checks.empty()) absl::StrAppend(&step, ": what decides it is ", absl::StrJoin(checks, ", "));
  return step;
}

// Adds the findings of telemetry beside the causes.
void FillSystem(const knowledge::Knowledge& knowledge, const galen::v1::EvidenceSet& evidence,
                Report& report) {
  galen::v1::SystemReview review = ReviewSystem(knowledge, evidence);
  if (!review.families().empty()) {
    const std::string fine = FineSystem(review);
    if (!fine.empty()) {
      if (!report.has_primary_cause()) {
        report.set_headline(absl::StrCat(
            fine, report.has_presumed_cause()
                      ? absl::StrCat("; presumed, not verified: ", report.presumed_cause().title())
                      : "; no other cause is confirmed"));
      } else {
        report.add_notes(fine);
      }
    }
    *report.mutable_system() = std::move(review);
  }
  galen::v1::NodeExclusion exclusion = ExcludeNodes(report, evidence);
  if (!exclusion.nodes().empty()) *report.mutable_exclusion() = std::move(exclusion);
  FillCourses(evidence, report);
}

int Lost(const Report& report) {
  return static_cast<int>(
      std::count_if(report.model_verdicts().begin(), report.model_verdicts().end(),
                    [](const galen::v1::ModelVerdict& each) { return !each.objection().empty(); }));
}

std::string LeaveOut(const galen::v1::NodeExclusion& exclusion) {
  std::vector<std::string> nodes;
  for (const auto& node : exclusion.nodes()) nodes.push_back(node.node());
  std::string step = absl::StrCat("Leave ", absl::StrJoin(nodes, ", "), " out of the job until ",
                                  nodes.size() == 1 ? "it is" : "they are", " repaired");
  if (exclusion.has_gain_pct()) {
    absl::StrAppend(&step, "; about ", absl::StrFormat("%.0f", exclusion.gain_pct()),
                    " % more throughput than now is to be expected");
  }
  return step;
}

void FillNextSteps(const knowledge::Knowledge& knowledge, const v1::ConcludeRequest& request,
                   Report& report) {
  if (report.has_primary_cause()) {
    if (report.has_exclusion()) report.add_next_steps(LeaveOut(report.exclusion()));
    report.add_next_steps(Repair(report.primary_cause()));
    for (const Cause& cause : report.other_causes()) report.add_next_steps(Repair(cause));
    return;
  }
  if (report.has_presumed_cause()) {
    report.add_next_steps(Verify(knowledge, report));
    if (!report.presumed_cause().mitigation().empty()) {
      report.add_next_steps(absl::StrCat("If it is so: ", Repair(report.presumed_cause())));
    }
  } else {
    for (const Cause& suspect : report.suspects()) {
      if (suspect.mitigation().empty()) continue;
      report.add_next_steps(absl::StrCat("If it is \"", suspect.title(), "\": ", Repair(suspect)));
    }
  }
  for (std::string& step : ToMeasure(request)) report.add_next_steps(std::move(step));
  // Questions are more precise: they name the check that matters and its purpose.
  if (!request.questions().empty()) return;
  for (std::string& step : ToCollect(knowledge, request, report))
    report.add_next_steps(std::move(step));
  for (const auto& suggestion : request.suggestions()) {
    report.add_next_steps(suggestion.title());
  }
}

}  // namespace

absl::StatusOr<v1::ConcludeResponse> ReportWriter::Conclude(const v1::ConcludeRequest& request,
                                                            absl::Time deadline) const {
  BorrowedEvidence<reasoner::v1::ConcludeQuestion> question(request.evidence());
  *question->mutable_incident() = request.incident();
  *question->mutable_spending() = request.spending();
  for (const Hypothesis& each : request.hypotheses()) {
    if (each.has_verdict()) *question->add_judged() = each;
  }
  GALEN_ASSIGN_OR_RETURN(const ConcludeAnswer answer, reasoner_.Conclude(*question, deadline));
  GALEN_RETURN_IF_ERROR(CheckAnswer(request, answer));

  v1::ConcludeResponse response;
  auto reasoned = request.reasoned();
  if (answer.has_reasoned()) {
    *response.add_reasoned() = answer.reasoned();
    *reasoned.Add() = answer.reasoned();
  }
  Report& report = *response.mutable_report();
  report.set_outcome(answer.primary_label().empty() ? Report::NO_CAUSE_CONFIRMED
                                                    : Report::CAUSE_CONFIRMED);
  report.set_headline(answer.headline());
  FillCauses(knowledge_, request, answer, report);
  LetModelCount(knowledge_, request, report);
  if (report.has_presumed_cause()) {
    report.set_headline(absl::StrCat("No cause confirmed; presumed, not verified: ",
                                     report.presumed_cause().title().empty()
                                         ? report.presumed_cause().label()
                                         : report.presumed_cause().title()));
  }
  if (!report.has_primary_cause() && !report.has_presumed_cause()) {
    report.set_headline(
        answer.reads_harmless() ? "The evidence does not show a cause; the report reads like those "
                                  "when nothing is wrong"
        : report.suspects().empty()
            ? "The evidence does not show the cause"
            : absl::StrCat("No cause is proven; most likely: ", report.suspects(0).title()));
  }
  if (std::string headline = HeadlineOfModel(report); !headline.empty()) {
    report.set_headline(std::move(headline));
  }
  report.set_owner(report.primary_cause().owner());
  FillEvidence(knowledge_, request.evidence(), report);
  FillSystem(knowledge_, request.evidence(), report);
  FillNextSteps(knowledge_, request, report);
  *report.mutable_suggestions() = request.suggestions();
  report.mutable_notes()->MergeFrom(request.notes());
  if (const int lost = Lost(report); lost > 0) {
    report.add_notes(
        absl::StrCat(lost, lost == 1 ? " verdict of the model does" : " verdicts of the model do",
                     " not stand and counts for nothing"));
  }
  if (!reasoned.empty()) {
    *report.mutable_reasoner_spent() = SpentOn(reasoned);
    std::string note = ModelNote(
        reasoned, usage::MoneyText(knowledge_.base(), report.reasoner_spent().cost_nanos()));
    if (!note.empty()) report.add_notes(std::move(note));
  }
  if (!report.has_primary_cause()) {
    std::string left_out = LeftOut(knowledge_, request.evidence());
    if (!left_out.empty()) report.add_notes(std::move(left_out));
  }
  for (std::string& limit : Limits(request.evidence())) report.add_notes(std::move(limit));
  *report.mutable_checks() = CountChecks(request.evidence());
  report.set_knowledge_digest(knowledge_.digest());
  report.set_reasoner(std::string(reasoner_.name()));
  if (!report.has_primary_cause()) {
    *report.mutable_questions() = request.questions();
    *report.mutable_tests() = request.tests();
  }
  *report.mutable_changes() = request.changes();
  report.set_ticket(WriteTicket(request, report, Reader::kCustomer));
  report.set_provider_ticket(WriteTicket(request, report, Reader::kProvider));
  report.set_attachment(WriteAttachment(report));
  for (galen::v1::ReasoningStep& step : MakeReasoning(request, report, StepsByQuestion(reasoned))) {
    *response.add_reasoning() = std::move(step);
  }
  return response;
}

}  // namespace galen::conclusion
