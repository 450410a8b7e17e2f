#ifndef TESTS_UNIT_SCENARIOS_LOOKING_H_
#define TESTS_UNIT_SCENARIOS_LOOKING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/telemetry/discovery.h"
#include "tests/scenarios/memory_source.h"
#include "tests/scenarios/scene.h"

namespace galen::scenarios {

inline const telemetry::Rules& Shipped() {
  static const auto* const rules =
      new absl::StatusOr<telemetry::Rules>(telemetry::LoadRules({GALEN_SOURCE_DIR "/knowledge"}));
  EXPECT_TRUE(rules->ok()) << rules->status();
  return **rules;
}

// A scene as a reader of its telemetry sees it.
class Looking {
 public:
  explicit Looking(Scene scene) : scene_(std::move(scene)), source_("scene", scene_.series) {}

  const Scene& scene() const { return scene_; }
  MemorySource& source() { return source_; }

  absl::StatusOr<telemetry::Measured> Measure(const std::string& quantity, absl::Time from,
                                              absl::Time to) {
    absl::StatusOr<telemetry::Measured> measured = telemetry::Measure(
        source_, Shipped(), quantity, {from, to, scene_.interval}, scene_.interval * 4, {});
    if (measured.ok()) telemetry::TakeHighest(*measured);
    return measured;
  }

  // The mean of a quantity between two times, for each place: "node", "node/device". Places without
  // a value are left out.
  std::map<std::string, double> Means(const std::string& quantity, absl::Time from, absl::Time to) {
    return Each(quantity, from, to, [](const std::vector<double>& values) {
      double sum = 0;
      for (const double value : values) sum += value;
      return sum / static_cast<double>(values.size());
    });
  }
  std::map<std::string, double> Medians(const std::string& quantity, absl::Time from,
                                        absl::Time to) {
    return Each(quantity, from, to, [](std::vector<double> values) {
      std::sort(values.begin(), values.end());
      return values[values.size() / 2];
    });
  }
  std::map<std::string, double> Highest(const std::string& quantity, absl::Time from,
                                        absl::Time to) {
    return Each(quantity, from, to, [](const std::vector<double>& values) {
      return *std::max_element(values.begin(), values.end());
    });
  }
  // The throughput of a job, as one rank reports it.
  double Throughput(absl::Time from, absl::Time to) {
    const auto medians = Medians("throughput", from, to);
    EXPECT_EQ(medians.size(), 1U);
    return medians.empty() ? 0 : medians.begin()->second;
  }

  bool Guilty(const std::string& place) const {
    const std::string node = place.substr(0, place.find('/'));
    return std::count(scene_.truth.guilty_nodes.begin(), scene_.truth.guilty_nodes.end(), node) > 0;
  }
  bool GuiltyDevice(const std::string& place) const {
    const auto& devices = scene_.truth.guilty_devices;
    return std::count(devices.begin(), devices.end(), place) > 0;
  }

 private:
  template <typename Of>
  std::map<std::string, double> Each(const std::string& quantity, absl::Time from, absl::Time to,
                                     Of of) {
    std::map<std::string, double> all;
    const auto measured = Measure(quantity, from, to);
    EXPECT_TRUE(measured.ok()) << quantity << ": " << measured.status();
    if (!measured.ok()) return all;
    for (std::size_t row = 0; row < measured->rows.size(); ++row) {
      std::vector<double> values;
      for (const float value : measured->values.Row(row)) {
        if (timeseries::IsKnown(value)) values.push_back(static_cast<double>(value));
      }
      const telemetry::Place& place = measured->rows[row].place;
      if (values.empty()) continue;
      all[place.device.empty() || !place.rank.empty()
              ? place.node
              : absl::StrCat(place.node, "/", place.device)] = of(std::move(values));
    }
    return all;
  }

  Scene scene_;
  MemorySource source_;
};

inline Looking Look(const std::string& study, std::uint64_t seed, SceneOptions options = {}) {
  if (options.nodes == 0) options.nodes = 12;
  auto scene = MakeScene(study, seed, options);
  EXPECT_TRUE(scene.ok()) << scene.status();
  return Looking(scene.ok() ? *std::move(scene) : Scene());
}

}  // namespace galen::scenarios

#endif  // TESTS_UNIT_SCENARIOS_LOOKING_H_
