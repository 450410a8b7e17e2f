// The cost of a step of the orchestrator: one event applied and the next decision made.
#include <benchmark/benchmark.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "services/orchestrator/decider.h"
#include "services/orchestrator/diagnosis_state.h"

namespace galen::orchestrator {
namespace {

void Add(State& state, v1::DiagnosisEvent event) {
  event.set_sequence(state.last_sequence + 1);
  Apply(state, event);
}

// A search that is in the middle of a taxonomy of `branches` times ten leaves, on `nodes` nodes.
State MidSearch(int branches, int nodes) {
  State state;
  v1::DiagnosisEvent created;
  created.mutable_created()->set_name("tenants/t/diagnoses/d");
  created.mutable_created()->set_strategy("tiered");
  Add(state, created);
  v1::DiagnosisEvent summarized;
  for (int i = 0; i < nodes; ++i) summarized.mutable_summarized()->add_nodes(absl::StrCat("n", i));
  Add(state, summarized);
  v1::DiagnosisEvent proposed;
  proposed.mutable_hypotheses_proposed();
  Add(state, proposed);
  v1::DiagnosisEvent root;
  for (int i = 0; i < branches; ++i) {
    root.mutable_children_ranked()->add_children()->set_label(absl::StrCat("BRANCH", i));
  }
  Add(state, root);
  for (int i = 0; i + 1 < branches; ++i) {
    v1::DiagnosisEvent left;
    left.mutable_branch_left()->set_label(absl::StrCat("BRANCH", i));
    Add(state, left);
  }
  v1::DiagnosisEvent ranked;
  ranked.mutable_children_ranked()->set_label(absl::StrCat("BRANCH", branches - 1));
  for (int i = 0; i < 10; ++i) {
    v1::RankedChild& leaf = *ranked.mutable_children_ranked()->add_children();
    leaf.set_label(absl::StrCat("BRANCH", branches - 1, ".LEAF", i));
    leaf.set_leaf(true);
    leaf.add_checks(absl::StrCat("check", i));
  }
  Add(state, ranked);
  return state;
}

void BM_Decide(benchmark::State& run) {
  const State state = MidSearch(static_cast<int>(run.range(0)), static_cast<int>(run.range(1)));
  for (auto _ : run) benchmark::DoNotOptimize(Decide(state));
}
BENCHMARK(BM_Decide)
    ->ArgNames({"branches", "nodes"})
    ->Args({10, 1})
    ->Args({100, 1})
    ->Args({100, 1000});

void BM_TakeInOneResultAndDecide(benchmark::State& run) {
  State state = MidSearch(10, static_cast<int>(run.range(0)));
  v1::DiagnosisEvent event;
  v1::CheckResult& result = *event.mutable_check_completed()->mutable_result();
  result.set_check("check0");
  std::int64_t taken = 0;
  for (auto _ : run) {
    // Each result is for a different pair; once the requested pairs are done, for nodes that nobody
    // asked for.
    result.set_node(absl::StrCat("n", taken++));
    result.set_id(ResultId(result.check(), result.node()));
    Add(state, event);
    benchmark::DoNotOptimize(Decide(state));
  }
}
BENCHMARK(BM_TakeInOneResultAndDecide)->ArgName("nodes")->Arg(1)->Arg(10'000);

}  // namespace
}  // namespace galen::orchestrator
