#include "services/orchestrator/active_tests.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/orchestrator/search_steps.h"
#include "services/orchestrator/supplied_evidence.h"

namespace galen::orchestrator {
namespace {

// A test between machines loads all of them; of more it is not proposed.
constexpr std::size_t kMostTogether = 16;
constexpr absl::string_view kPolicy = "the policy of this site";

const v1::Question* FindTest(const State& state, const std::string& id) {
  const auto found = std::find_if(state.round.tests.begin(), state.round.tests.end(),
                                  [&](const v1::Question& test) { return test.id() == id; });
  return found == state.round.tests.end() ? nullptr : &*found;
}

std::vector<std::string> NodesOf(const State& state, const v1::Question& test) {
  if (!test.node().empty()) return {test.node()};
  return state.nodes;
}

bool CanRun(const State& state, const v1::Question& test) {
  if (!IsLive(state) || !test.loads()) return false;
  const std::vector<std::string> nodes = NodesOf(state, test);
  return !nodes.empty() && nodes.size() <= kMostTogether &&
         std::all_of(nodes.begin(), nodes.end(),
                     [&](const std::string& node) { return state.node_set.count(node) > 0; });
}

// Whether a check of this round says that no process uses a GPU there. Without a definite result,
// the GPUs count as in use.
bool IsIdle(const State& state, const std::string& node) {
  const auto result = state.results.find(ResultId("gpu.processes", node));
  if (result == state.results.end() || !IsDefinite(*result->second)) return false;
  int gpus = 0;
  for (const v1::Finding& finding : result->second->findings()) {
    if (finding.name() != "processes_per_gpu") continue;
    if (!finding.has_int_value() || finding.int_value() != 0) return false;
    ++gpus;
  }
  return gpus > 0;
}

}  // namespace

std::optional<TestPolicy> ParseTestPolicy(absl::string_view word) {
  if (word == "never") return TestPolicy::kNever;
  if (word == "approved") return TestPolicy::kApproved;
  if (word == "idle") return TestPolicy::kIdle;
  return std::nullopt;
}

std::vector<AllowedTest> AllowedTests(const State& state,
                                      const google::protobuf::RepeatedPtrField<std::string>& ids) {
  std::vector<AllowedTest> allowed;
  for (const std::string& id : ids) {
    const v1::Question* test = FindTest(state, id);
    if (test == nullptr || !CanRun(state, *test)) continue;
    const bool twice = std::any_of(allowed.begin(), allowed.end(), [&](const AllowedTest& each) {
      return each.check == test->check();
    });
    if (!twice) allowed.push_back({test->check(), NodesOf(state, *test)});
  }
  return allowed;
}

std::string NotProposed(const State& state,
                        const google::protobuf::RepeatedPtrField<std::string>& ids) {
  for (const std::string& id : ids) {
    const v1::Question* test = FindTest(state, id);
    if (test == nullptr || !CanRun(state, *test)) return id;
  }
  return "";
}

std::optional<v1::DiagnosisEvent> AllowByPolicy(const State& state, TestPolicy policy) {
  if (policy != TestPolicy::kIdle || state.lifecycle != v1::Diagnosis::AWAITING_FEEDBACK ||
      state.round.number >= kMaxRounds) {
    return std::nullopt;
  }
  // After a round of tests by policy, a person decides about the rest.
  if (!state.dialogue.empty() && state.dialogue.back().by() == kPolicy) return std::nullopt;
  v1::DiagnosisEvent event;
  v1::FeedbackReceived& answer = *event.mutable_feedback_received();
  answer.set_by(std::string(kPolicy));
  for (const v1::Question& test : state.round.tests) {
    if (!CanRun(state, test) || test.occupies() != "gpu") continue;
    const std::vector<std::string> nodes = NodesOf(state, test);
    if (std::all_of(nodes.begin(), nodes.end(),
                    [&](const std::string& node) { return IsIdle(state, node); })) {
      answer.add_allowed_tests(test.id());
    }
  }
  if (answer.allowed_tests().empty()) return std::nullopt;
  return event;
}

Decision RunAllowedTests(const State& state) {
  for (const AllowedTest& test : state.round.allowed) {
    Effect effect = MakeEffect(state, Effect::Kind::kTest, test.check);
    effect.checks = {test.check};
    effect.nodes = test.nodes;
    std::vector<std::string> missing;
    for (const std::string& node : test.nodes) {
      if (state.results.count(ResultId(test.check, node)) == 0) missing.push_back(node);
    }
    if (missing.empty()) continue;
    if (!CallFailedForGood(state, effect.id)) return Call(state, std::move(effect), false);
    Decision decision;
    for (const std::string& node : missing) {
      v1::CheckResult& result =
          *decision.events.emplace_back().mutable_check_completed()->mutable_result();
      result.set_id(ResultId(test.check, node));
      result.set_check(test.check);
      result.set_node(node);
      result.set_status(v1::CheckResult::ERROR);
      result.set_message(absl::StrCat("the test could not be run: ",
                                      state.round.calls.at(effect.id).error.message()));
    }
    return decision;
  }
  return {};
}

execution::v1::RunChecksRequest TestRequestOf(const State& state, const Effect& effect) {
  execution::v1::RunChecksRequest request;
  for (const std::string& check : effect.checks) request.add_checks(check);
  for (const std::string& node : effect.nodes) {
    if (state.results.count(ResultId(effect.checks[0], node)) == 0) request.add_nodes(node);
  }
  request.set_diagnosis(state.name);
  request.set_look(state.round.number);
  request.set_allow_intrusive(true);
  return request;
}

}  // namespace galen::orchestrator
