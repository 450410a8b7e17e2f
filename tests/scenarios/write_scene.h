#ifndef TESTS_SCENARIOS_WRITE_SCENE_H_
#define TESTS_SCENARIOS_WRITE_SCENE_H_

#include <string>

#include "absl/status/status.h"
#include "tests/scenarios/scene.h"

namespace galen::scenarios {

// As OpenMetrics text: all series of a metric together.
absl::Status WriteOpenMetrics(const Scene& scene, const std::string& path);

// Creates the directory with a bundle (galen.bundle/v1): incident.yaml, logs/, telemetry/, and the
// nodes, without captured data.
absl::Status WriteBundle(const Scene& scene, const std::string& directory);

// Prometheus' blocks, by promtool. NOT_FOUND: promtool is not installed (Debian's package
// prometheus).
absl::Status WriteTsdb(const Scene& scene, const std::string& directory);

// The scene without its series and logs, as JSON.
std::string TruthJson(const Scene& scene);

}  // namespace galen::scenarios

#endif  // TESTS_SCENARIOS_WRITE_SCENE_H_
