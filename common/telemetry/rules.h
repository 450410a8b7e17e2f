#ifndef COMMON_TELEMETRY_RULES_H_
#define COMMON_TELEMETRY_RULES_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/series/grid.h"
#include "common/telemetry/source.h"

namespace re2 {
class RE2;
}

namespace galen::telemetry {

// Whose numbers a series holds. "": its labels do not say.
struct Place {
  std::string node;
  std::string device;  // "0", "mlx5_0"
  std::string port;
  std::string uuid;
  std::string rank;
  std::string job;

  bool operator==(const Place& other) const = default;
};

// An exporter, as knowledge/telemetry/sources.yaml describes it.
struct Family {
  std::string name;
  std::string title;
  std::string device;  // gpu, port, host, rank
  std::string metrics;
  std::shared_ptr<const re2::RE2> pattern;
  std::map<std::string, std::vector<std::string>> labels;  // by the field of Place
  struct Between {
    double from = 0;
    double to = 0;
  };
  std::vector<Between> unknown;  // values that mean that there is none

  bool Has(absl::string_view metric) const;
  Place PlaceOf(const Labels& labels) const;
  // Turns values that mean none into NaN.
  void Forget(TimeSeries& series) const;
};

struct MetricOf {
  std::string metric;
  std::string where;  // a selector's braces, or ""
  double scale = 1;
  std::string of;  // "gpu": a series is of one GPU, whoever writes it; "": it depends
};

// A thing that exporters measure under names of their own.
struct Quantity {
  std::string name;
  std::string unit;
  bool counter = false;
  bool never_constant = false;
  std::vector<MetricOf> metrics;
};

// Immutable.
struct Rules {
  std::vector<Family> families;
  std::vector<Quantity> quantities;

  // The first family that has the metric; null: none.
  const Family* FamilyOf(absl::string_view metric) const;
  const Quantity* Find(absl::string_view quantity) const;
};

// INVALID_ARGUMENT "file:line: what; remedy".
absl::StatusOr<Rules> ParseRules(absl::string_view text, absl::string_view file);
// telemetry/sources.yaml of the last of the directories that has one. NOT_FOUND.
absl::StatusOr<Rules> LoadRules(const std::vector<std::string>& directories);

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_RULES_H_
