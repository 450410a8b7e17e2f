#ifndef COMMON_TELEMETRY_RULES_H_
#define COMMON_TELEMETRY_RULES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/telemetry/source.h"
#include "common/timeseries/grid.h"

namespace re2 {
class RE2;
}

namespace galen::telemetry {

// The component that a series describes. "": its labels do not say.
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
  // No check of this family clears a machine on which a counter grows that matches `errors` and
  // that the check does not read. "": none.
  std::string clears;
  std::shared_ptr<const re2::RE2> errors;  // null: none of its metrics counts errors
  std::map<std::string, std::vector<std::string>> labels;  // by the field of Place
  struct Between {
    double from = 0;
    double to = 0;
  };
  std::vector<Between> unknown;  // placeholder values that mean "no value"

  bool Has(absl::string_view metric) const;
  Place PlaceOf(const Labels& labels) const;
  // Turns placeholder values into NaN.
  void Forget(TimeSeries& series) const;
};

struct MetricOf {
  std::string metric;
  std::string where;  // a selector's braces, or ""
  double scale = 1;
  std::string of;               // "gpu": a series is of one GPU, from any exporter; "": it depends
  std::uint64_t mask = 0;       // of a value that holds flags: whether one of these is set
  std::string value_of;         // the label that holds the value, where the series is above zero
  std::optional<bool> counter;  // where it is another kind than the quantity
};

// How several metrics of a quantity combine.
enum class Among {
  kEachPlace,  // one fact, by several exporters: for each place the first that has it counts
  kFirst,      // similar facts that cannot be mixed: the first existing one counts
  kSingly,     // several signs of one fault: each is judged by itself
};

// A thing that exporters measure under names of their own.
struct Quantity {
  std::string name;
  std::string unit;
  bool counter = false;
  bool never_constant = false;
  Among among = Among::kEachPlace;
  std::vector<MetricOf> metrics;
};

// A series whose labels are names of one machine.
struct Naming {
  std::string metric;
  std::string where;            // a selector's braces, or ""
  std::vector<std::string> of;  // labels with names or addresses that exporters use
  std::string name;             // the label with the machine's name
};

// Metrics that nothing reads, and why.
struct Waiver {
  std::string metrics;
  std::shared_ptr<const re2::RE2> pattern;
  std::string why;
};

// Immutable.
struct Rules {
  std::vector<Family> families;
  std::vector<Quantity> quantities;
  std::vector<Naming> names;  // earlier ones count more
  std::vector<Waiver> waived;

  // By the labels of the metric's family; of a metric of none, and of a series without a name, by
  // those of all.
  Place PlaceOf(const Labels& labels) const;
  // Null: it is not waived.
  const Waiver* WaiverOf(absl::string_view metric) const;
  // The first family that has the metric; null: none.
  const Family* FamilyOf(absl::string_view metric) const;
  const Quantity* Find(absl::string_view quantity) const;
};

// "n1" of "n1:9400". A name without a port, and an address of IPv6 in brackets, keep what they are.
std::string WithoutPort(const std::string& value);

// INVALID_ARGUMENT "file:line: what; remedy".
absl::StatusOr<Rules> ParseRules(absl::string_view text, absl::string_view file);
// Loads telemetry/sources.yaml of the directories. Entries of a later directory take precedence:
// its families, and its metrics of a quantity. NOT_FOUND: none has any.
absl::StatusOr<Rules> LoadRules(const std::vector<std::string>& directories);

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_RULES_H_
