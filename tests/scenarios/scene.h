#ifndef TESTS_SCENARIOS_SCENE_H_
#define TESTS_SCENARIOS_SCENE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/telemetry/source.h"

// Synthetic incidents of training jobs: telemetry, logs, a customer's sentence, and the truth. The
// first four follow the case studies that AMD published of maxtext-slurm ("Agentic Diagnosis for
// LLM Training at Scale"); numbers missing there are ours. Results on scenes show how a diagnosis
// handles scenes, not how it handles real incidents.
namespace galen::scenarios {

// Exporters and trainer: hw_*, ray_node_*, tb_* and MaxText; or DCGM_FI_*, node_*, training_* and
// (except for what only JAX has) Megatron-LM.
enum class Style { kAmd, kNvidia };

struct Job {
  std::string name;
  absl::Time start;
  absl::Time train;  // when steps begin
  absl::Time end;    // or that of the scene, while it runs
  bool runs = true;  // at the end of the scene
  std::vector<std::string> nodes;
};

struct Log {
  std::string path;  // below logs/
  std::string text;
  std::string node;  // "": of all
  std::optional<int> rank;
  bool kernel = false;  // of the machine, not of the job
};

struct Transition {
  absl::Time at;
  std::string what;
};

struct Truth {
  // Labels of knowledge/taxonomy, the best one first; any of them is right. Empty: there is nothing
  // to find, or (with `ask`) nothing that may be concluded.
  std::vector<std::string> labels;
  // Machines at fault; of a hang those where it may have begun.
  std::vector<std::string> guilty_nodes;
  // "node/3" a GPU, "node/mlx5_2" a port.
  std::vector<std::string> guilty_devices;
  // Accused by a log, or looking odd (decoys), and innocent.
  std::vector<std::string> cleared_nodes;
  // When something changed, in order: a fault's beginning and end; not checkpoints.
  std::vector<Transition> transitions;
  // No machine, link, storage or room is at fault.
  bool system_fine = false;
  // The quantity of knowledge/telemetry/sources.yaml that decides, "" where nothing is wrong.
  std::string decisive;
  // Quantities that the scene has not although its exporters could: variant `missing`.
  std::vector<std::string> left_out;
  // The quantity that a diagnosis has to ask for; in variant `missing` only.
  std::string ask;
};

struct Scene {
  std::string study;
  std::uint64_t seed = 0;
  Style style = Style::kAmd;
  bool missing = false;
  absl::Time start;
  absl::Time end;
  absl::Duration interval;  // of scrapes
  int gpus = 8;             // of a node
  std::vector<std::string> nodes;
  // Two in restore_leak, and the question is about the last one. The training series of each job
  // have its name as label job_id.
  std::vector<Job> jobs;
  std::vector<telemetry::TimeSeries> series;
  std::vector<Log> logs;
  std::string incident;  // a customer's sentence
  Truth truth;

  std::size_t samples() const;
};

struct SceneOptions {
  bool missing = false;  // the decisive series is left out
  // The seed determines values that are not set.
  int nodes = 0;  // 4 to 1000
  std::optional<Style> style = std::nullopt;
};

// retransmits, heartbeat, hang, dead_node, restore_leak, load_balance, thermal, ecc, host_memory,
// cpu_contention, storage, node_slow, fine.
const std::vector<std::string>& Studies();

// Whether the study has the variant `missing`: the decisive series can be left out, and then
// nothing reveals the cause. (For a dead node, the absence of series is the decisive sign.)
bool HasMissing(absl::string_view study);

// Equal arguments make equal scenes. INVALID_ARGUMENT: no such study or variant, or too few nodes.
absl::StatusOr<Scene> MakeScene(const std::string& study, std::uint64_t seed,
                                const SceneOptions& options = {});

}  // namespace galen::scenarios

#endif  // TESTS_SCENARIOS_SCENE_H_
