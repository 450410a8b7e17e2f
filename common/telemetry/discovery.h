#ifndef COMMON_TELEMETRY_DISCOVERY_H_
#define COMMON_TELEMETRY_DISCOVERY_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/telemetry/rules.h"
#include "common/telemetry/source.h"
#include "common/timeseries/grid.h"

namespace galen::telemetry {

// The part of a family that a source has between two times.
struct FamilyFound {
  std::string family;
  std::vector<std::string> metrics;  // names, sorted
  std::vector<std::string> nodes;    // sorted, of one of its metrics
  std::size_t devices = 0;           // of one of its metrics
};

struct Inventory {
  std::string source;
  std::vector<FamilyFound> families;  // those that are there, in the order of the rules
  std::vector<std::string>
      absent;  // families of which the source has nothing: known, when `complete`
  std::vector<std::string> other;  // metrics of no family
  std::vector<std::string>
      missing_nodes;  // of those expected, of which no family has anything: unknown, not healthy
  bool complete = true;
  std::vector<std::string> warnings;
};

// Lists the families and nodes of the source. `expected`: nodes that should be there. Makes two
// queries, and one more for each family.
absl::StatusOr<Inventory> Discover(Source& source, const Rules& rules, absl::Time start,
                                   absl::Time end, const std::vector<std::string>& expected,
                                   const Call& call);

// A quantity of all places that a source has it of, on one axis.
struct Measured {
  struct Row {
    Place place;
    std::string metric;
  };
  const Quantity* quantity = nullptr;
  timeseries::Grid grid;
  std::vector<Row> rows;
  timeseries::Panel values;     // a row each; of counters growth a second
  std::vector<Answer> answers;  // that it rests on, without their samples
  bool complete = true;
  std::vector<std::string> warnings;
};

// NOT_FOUND: the source lacks every metric of the quantity, which means unknown, not zero.
// Quantity::among says how several of them combine: one fact has one row a place, several signs
// have one row each.
//
// It asks for samples, not for points of the axis, so that samples older than `most_age` are not
// used, growth is not lost to a reset between two points, and an exporter's placeholder values
// become unknown. For a counter it also asks for samples up to `most_age` before the first step and
// after the range, so that the first and the last step are known whenever the scrapes are; a range
// that ends less than a scrape ago still ends unknown. `wanted` (null: all) selects places; data of
// others is dropped, and not named in a warning, since it may be another tenant's.
absl::StatusOr<Measured> Measure(Source& source, const Rules& rules, const std::string& quantity,
                                 const Range& range, absl::Duration most_age, const Call& call,
                                 const std::function<bool(const Place&)>& wanted = nullptr);

// Reduces a quantity whose metrics are judged singly to one row a place, with the highest of its
// metrics at each step. Leaves other quantities as they are.
void TakeHighest(Measured& measured);

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_DISCOVERY_H_
