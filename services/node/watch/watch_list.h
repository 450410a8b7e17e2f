#ifndef SERVICES_NODE_WATCH_WATCH_LIST_H_
#define SERVICES_NODE_WATCH_WATCH_LIST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace galen::node {

// When the movement of a counter is an event of its own.
struct MovementRule {
  // Which check's finding it is: "rdma.counters", "link_downed_delta", as in knowledge/checks. Its
  // value is the rise, or for units "1/h" and "1/s" the rise by hour or second.
  std::string check;
  std::string finding;
  std::string unit;
  // The device of the counter, as in galen.v1.Device: "nic:{1}/port:{2}", where {N} is the text
  // that the N-th `*` of the path matches and {row} the name of the row. "-" in the file: the node.
  std::string device;
  // It is an event when the counter rises by at least this...
  std::uint64_t rise = 1;
  // ...within this time.
  absl::Duration within;
};

// Counters of one form in the files of one form.
struct CounterSpec {
  enum class Layout {
    kNumber,  // the file is one number
    kRow,     // the number is word `column` after the row's first word, `row`
    kRows,    // as kRow, for every row; a row's name is its word number `name_word`
    kPairs,   // a line of names and below it a line of numbers, both begin with `row`
  };
  std::string path;   // glob(7), absolute
  std::string field;  // as the file of counters says it, for people and for History
  Layout layout = Layout::kNumber;
  std::string row;
  std::string name;   // of kPairs: the counter
  int column = 1;     // 1 and up
  int name_word = 1;  // 1 and up
  std::optional<MovementRule> rule;
};

// Reads knowledge/watch.txt, whose head says what a line is. INVALID_ARGUMENT "file:line: what is
// wrong; remedy".
absl::StatusOr<std::vector<CounterSpec>> ParseWatchList(absl::string_view text,
                                                        absl::string_view file);

// From the last of the knowledge directories that has a watch.txt, so that a site can replace the
// list. NOT_FOUND none has one.
absl::StatusOr<std::vector<CounterSpec>> LoadWatchList(
    const std::vector<std::string>& knowledge_directories);

}  // namespace galen::node

#endif  // SERVICES_NODE_WATCH_WATCH_LIST_H_
