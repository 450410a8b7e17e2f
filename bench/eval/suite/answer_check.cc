#include "bench/eval/suite/answer_check.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/eval/suite/drafts/draft_check.h"
#include "bench/eval/suite/question_host.h"
#include "common/base/status_macros.h"
#include "common/knowledge/load.h"
#include "common/knowledge/make_result.h"
#include "services/node/executor.h"
#include "services/node/extract_check.h"
#include "services/node/host_source.h"
#include "services/node/registry.h"

namespace galen::eval {
namespace {

constexpr absl::Duration kLongestCheck = absl::Seconds(20);

// The output of the shown host's source. If it has several sources, all of them: the description
// names one.
std::optional<drafts::ShownOutput> ShownOf(const Question& question) {
  for (const QuestionHost& host : question.hosts) {
    if (!host.shown) continue;
    drafts::ShownOutput shown;
    for (const auto& [path, content] : host.files) shown.text += content;
    for (const auto& [argv, output] : host.commands) shown.text += output;
    shown.faulty = host.expect == "faulty";
    return shown;
  }
  return std::nullopt;
}

// "healthy", "faulty" or "unknown": a check that read nothing, or no value, cannot decide.
std::string StateOf(const galen::v1::CheckResult& result) {
  if (result.status() == galen::v1::CheckResult::FAIL) return "faulty";
  if (result.status() != galen::v1::CheckResult::PASS) return "unknown";
  const bool told =
      std::any_of(result.findings().begin(), result.findings().end(), [](const auto& finding) {
        return finding.value_case() != galen::v1::Finding::VALUE_NOT_SET;
      });
  return told ? "healthy" : "unknown";
}

galen::v1::CheckResult RunDraft(const knowledge::v1::Check& check, const host::Host& host,
                                const knowledge::Knowledge& knowledge) {
  return knowledge::MakeResult(
      check, host.name(), node::RunExtractCheck(check, {.host = host, .knowledge = knowledge}));
}

absl::StatusOr<galen::v1::CheckResult> RunCall(
    const drafts::CheckDraft& draft, const std::string& node, const std::string& bundle,
    const std::shared_ptr<const knowledge::Knowledge>& knowledge) {
  const node::LocalHosts hosts({.name = "suite"});
  const node::NodeExecutor executor(hosts, knowledge, node::AllChecks(), {});
  node::v1::RunChecksRequest request;
  request.add_checks(draft.call);
  if (!draft.parameters.empty()) {
    galen::v1::CheckParameters& parameters = *request.add_parameters();
    parameters.set_check(draft.call);
    for (const auto& [name, value] : draft.parameters) {
      (*parameters.mutable_values())[name] = value;
    }
  }
  request.set_node(node);
  request.set_bundle(bundle);
  galen::v1::CheckResult result;
  GALEN_RETURN_IF_ERROR(
      executor.RunChecks(request, absl::Now() + kLongestCheck,
                         [&](galen::v1::CheckResult each) { result = std::move(each); }));
  return result;
}

// The problems that lint finds in the draft; "" if there are none.
std::string Refusal(const knowledge::v1::Check& check) {
  knowledge::v1::KnowledgeBase alone;
  *alone.add_checks() = check;
  for (const knowledge::Problem& problem : knowledge::Lint(alone)) {
    if (problem.severity == knowledge::Problem::Severity::kError) return problem.text;
  }
  return "";
}

std::string Told(const drafts::CheckDraft& draft) {
  if (!draft.call.empty()) {
    std::vector<std::string> parameters;
    for (const auto& [name, value] : draft.parameters)
      parameters.push_back(absl::StrCat(name, "=", value));
    return absl::StrCat("calls ", draft.call, "(", absl::StrJoin(parameters, ", "), ")");
  }
  const auto& finding = draft.check.findings(0);
  return absl::StrCat(
      "reads ",
      draft.check.file().empty() ? absl::StrJoin(draft.check.command(), " ") : draft.check.file(),
      " with ", finding.pattern(), ", a fault when ",
      knowledge::v1::Rule::Op_Name(finding.abnormal().op()), " ", finding.abnormal().value());
}

}  // namespace

Answer AnswerCheck(const Question& question,
                   const std::shared_ptr<const knowledge::Knowledge>& knowledge,
                   const drafts::DescriptionWords& words, const Ablation& ablation) {
  Answer answer;
  const absl::StatusOr<drafts::CheckDraft> draft = drafts::DraftCheck(
      knowledge->base(), {.description = question.text, .shown = ShownOf(question)}, words,
      {.retrieval = ablation.retrieval,
       .critique = ablation.diagram,
       .self_check = ablation.selfplay});
  if (!draft.ok()) {
    answer.given = std::string(draft.status().message());
    return answer;
  }
  answer.given = Told(*draft);
  if (draft->call != question.call) {
    absl::StrAppend(
        &answer.given, "; right is ",
        question.call.empty() ? "a check of its own" : absl::StrCat("a call of ", question.call));
    return answer;
  }
  if (!question.call.empty() && draft->parameters != question.parameters) {
    std::vector<std::string> wanted;
    for (const auto& [name, value] : question.parameters)
      wanted.push_back(absl::StrCat(name, "=", value));
    absl::StrAppend(&answer.given, "; right are the parameters ", absl::StrJoin(wanted, ", "));
    return answer;
  }
  if (draft->call.empty()) {
    if (const std::string refused = Refusal(draft->check); !refused.empty()) {
      absl::StrAppend(&answer.given, "; lint refuses it: ", refused);
      return answer;
    }
  }
  if (question.hosts.empty()) {
    answer.right = true;
    return answer;
  }
  const absl::StatusOr<QuestionHosts> hosts = OpenHosts(question);
  if (!hosts.ok()) {
    absl::StrAppend(&answer.given, "; ", hosts.status().message());
    return answer;
  }
  for (const QuestionHost& host : question.hosts) {
    absl::StatusOr<galen::v1::CheckResult> result = galen::v1::CheckResult();
    if (draft->call.empty()) {
      const auto opened = hosts->bundle->OpenNode(host.name);
      if (!opened.ok()) {
        absl::StrAppend(&answer.given, "; ", opened.status().message());
        return answer;
      }
      result = RunDraft(draft->check, **opened, *knowledge);
    } else {
      result = RunCall(*draft, host.name, hosts->bundle->root(), knowledge);
    }
    const std::string state = result.ok() ? StateOf(*result) : "unknown";
    if (state == host.expect) continue;
    absl::StrAppend(&answer.given, "; finds ", host.name, " ", state, ", and it is ", host.expect);
    return answer;
  }
  answer.right = true;
  return answer;
}

}  // namespace galen::eval
