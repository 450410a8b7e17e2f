#include "tests/scenarios/scene.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/scenarios/plan.h"

namespace galen::scenarios {

std::size_t Scene::samples() const {
  std::size_t all = 0;
  for (const telemetry::TimeSeries& of : series) all += of.samples.size();
  return all;
}

const std::vector<std::string>& Studies() {
  static const auto* const studies = new std::vector<std::string>{
      "retransmits",  "heartbeat", "hang", "dead_node",   "restore_leak",
      "load_balance", "thermal",   "ecc",  "host_memory", "cpu_contention",
      "storage",      "node_slow", "fine"};
  return *studies;
}

bool HasMissing(absl::string_view study) { return study != "dead_node" && study != "fine"; }

absl::StatusOr<Scene> MakeScene(const std::string& study, std::uint64_t seed,
                                const SceneOptions& options) {
  constexpr int kFewest = 6;
  if (options.nodes != 0 && (options.nodes < kFewest || options.nodes > 1000)) {
    return absl::InvalidArgumentError(
        absl::StrCat("nodes: ", options.nodes, "; give 0 or ", kFewest, " to 1000"));
  }
  if (options.missing && !HasMissing(study))
    return absl::InvalidArgumentError(absl::StrCat(study, ": has no variant \"missing\""));
  // Every study alternates between the styles, beginning with its own first one.
  const Random of = Random(seed).Of(study);
  const Style style = options.style.value_or(
      (seed + Random(0).Of(study).Next()) % 2 == 0 ? Style::kAmd : Style::kNvidia);
  Plan plan = MakePlan(style, of, options.nodes);
  if (!Disturb(study, plan)) {
    return absl::InvalidArgumentError(
        absl::StrCat(study, ": no such study; there are ", absl::StrJoin(Studies(), ", ")));
  }
  std::uint64_t number = 0;
  for (JobPlan& job : plan.jobs) {
    job.end = std::min(job.end, plan.end);
    Simulate(job, of.Of("job", ++number));
  }
  WriteCheckpoints(plan);
  if (!options.missing) {
    plan.left_out.clear();
  } else {
    std::set<std::string> quantities;
    for (const Signal signal : plan.left_out) quantities.insert(QuantityOf(signal));
    plan.truth.left_out.assign(quantities.begin(), quantities.end());
    plan.truth.labels.clear();
    plan.truth.ask = plan.truth.decisive;
    plan.logs.erase(std::remove_if(plan.logs.begin(), plan.logs.end(),
                                   [](const Log& log) { return log.kernel; }),
                    plan.logs.end());
  }

  Scene scene;
  scene.study = study;
  scene.seed = seed;
  scene.style = style;
  scene.missing = options.missing;
  scene.start = plan.start;
  scene.end = plan.end;
  scene.interval = plan.interval;
  scene.gpus = plan.gpus;
  scene.nodes = plan.nodes;
  for (const JobPlan& job : plan.jobs) {
    Job told{job.name, job.start, job.train, job.end, job.runs, {}};
    for (const int node : job.nodes)
      told.nodes.push_back(plan.nodes[static_cast<std::size_t>(node)]);
    scene.jobs.push_back(std::move(told));
  }
  scene.series = Render(plan);
  scene.logs = WriteLogs(plan, study);
  scene.incident = plan.incident;
  scene.truth = plan.truth;
  std::sort(scene.truth.guilty_nodes.begin(), scene.truth.guilty_nodes.end());
  auto& cleared = scene.truth.cleared_nodes;
  std::sort(cleared.begin(), cleared.end());
  cleared.erase(std::unique(cleared.begin(), cleared.end()), cleared.end());
  return scene;
}

}  // namespace galen::scenarios
