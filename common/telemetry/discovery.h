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

// What a source has of a family between two times.
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

// What is there. `expected`: nodes that should be. Two questions, and one more for each family.
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

// NOT_FOUND: the source has none of the quantity's metrics, which is unknown and not zero. What
// several of them are to each other says Quantity::among: of one fact each place has one row, of
// several signs one for each of them. It asks for samples, not for points
// of the axis: one older than `most_age` speaks for nothing, growth is not lost to a reset between
// two points, and values that an exporter writes where it has none are unknown. Of a counter it
// asks for those up to `most_age` before the first step and after the range as well, so that the
// first and the last step are known whenever the scrapes are; a range that ends less than a scrape
// ago still ends unknown. `wanted` (null: all): the places that count; of others nothing is kept,
// nor told in a warning, since they may be somebody else's.
absl::StatusOr<Measured> Measure(Source& source, const Rules& rules, const std::string& quantity,
                                 const Range& range, absl::Duration most_age, const Call& call,
                                 const std::function<bool(const Place&)>& wanted = nullptr);

// Of a quantity whose metrics are judged singly: one row a place, at each step the highest of its
// metrics. Others stay as they are.
void TakeHighest(Measured& measured);

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_DISCOVERY_H_
