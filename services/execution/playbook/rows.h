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

// Value of a finding. monostate: examined, but unknown.
using Value = std::variant<std::monostate, bool, double, std::string>;

// The series of one measure, one row per place, on the same axis. Counters as growth per second.
struct Rows {
  std::string name;  // of the quantity or query
  std::string unit;
  bool counter = false;
  timeseries::Grid grid;
  std::vector<telemetry::Place> places;
  timeseries::Panel values{0, 0};
  // The metric of each row, for a quantity whose metrics are judged one by one; otherwise empty.
  std::vector<std::string> metrics;
};

// The rows of each metric by itself, where they are judged singly; else all of them. In the order
// in which metrics come first.
std::vector<Rows> Singly(const Rows& rows);

// One row per node, or one of all (its place is ""), combined from the rows that belong to it. For
// a sum or mean, a point is unknown if it is unknown in any row that has a value within the window;
// for the others, if it is unknown in all rows. Rows without a node are left out of the rows per
// node.
Rows Together(const Rows& rows, Over over, Combine combine);

// The median of each point over all rows.
std::vector<float> MedianOf(const Rows& rows);

// The place in `rows` of the same device, or of the same node where it has one row alone; -1: none.
int RowOf(const Rows& rows, const telemetry::Place& place);

// "node-3 gpu 5": for people.
std::string Shown(const telemetry::Place& place);

}  // namespace galen::playbook

#endif  // SERVICES_EXECUTION_PLAYBOOK_ROWS_H_
