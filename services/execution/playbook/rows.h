#ifndef SERVICES_EXECUTION_PLAYBOOK_ROWS_H_
#define SERVICES_EXECUTION_PLAYBOOK_ROWS_H_

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "common/telemetry/rules.h"
#include "common/timeseries/grid.h"
#include "services/execution/playbook/playbook_catalogue.h"

namespace galen::playbook {

// Of a finding. Nothing: it was looked for, and could not be told.
using Value = std::variant<std::monostate, bool, double, std::string>;

// What one measure brought, each place on the same axis. Of counters: growth a second.
struct Rows {
  std::string name;  // of the quantity or query
  std::string unit;
  bool counter = false;
  timeseries::Grid grid;
  std::vector<telemetry::Place> places;
  timeseries::Panel values{0, 0};
  // Of a quantity whose metrics are judged singly: which one a row is of. Else empty.
  std::vector<std::string> metrics;
};

// The rows of each metric by itself, where they are judged singly; else all of them. In the order
// in which metrics come first.
std::vector<Rows> Singly(const Rows& rows);

// One row of each node, or one of all ("": its place is nobody's), of the rows that belong to it.
// Of a sum or mean a point is unknown where any of its rows is that is known at all within the
// window; of the others where all are. Rows without a node are nobody's of a node, and left out.
Rows Together(const Rows& rows, Over over, Combine combine);

// The median of each point over all rows.
std::vector<float> MedianOf(const Rows& rows);

// The place in `rows` of the same device, or of the same node where it has one row alone; -1: none.
int RowOf(const Rows& rows, const telemetry::Place& place);

// "node-3 gpu 5": for people.
std::string Shown(const telemetry::Place& place);

}  // namespace galen::playbook

#endif  // SERVICES_EXECUTION_PLAYBOOK_ROWS_H_
