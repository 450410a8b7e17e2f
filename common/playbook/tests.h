#ifndef COMMON_PLAYBOOK_TESTS_H_
#define COMMON_PLAYBOOK_TESTS_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/playbook/book.h"
#include "common/playbook/rows.h"
#include "common/playbook/scene.h"
#include "common/telemetry/rules.h"

namespace galen::playbook {

// What a test is given. Everything lives as long as the call.
struct TestInput {
  const Scene& scene;
  // The measures of the step in its order, taken together as the step says.
  std::vector<const Rows*> of;
  // The same at the time that the incident is compared with; empty: there is none.
  std::vector<const Rows*> before;
  const std::map<std::string, double>& numbers;

  double Number(absl::string_view name) const;
  const struct Test* test = nullptr;
};

// What a test saw of one place.
struct Seen {
  telemetry::Place place;
  Value value;
  std::string why;
  // Worth a picture: the row of the first measure that shows it; -1: none.
  int row = -1;
};

struct NumberSpec {
  absl::string_view name;
  double usual;
  double least;
  double most;
  absl::string_view says;  // what it is, with its unit and source
};

// A test by name. Pure: a function of values.
struct Test {
  absl::string_view name;
  absl::string_view says;  // one sentence: what it finds
  std::size_t measures;
  absl::string_view type;  // of its finding: bool, float (also for int), text (also for enum)
  std::vector<NumberSpec> numbers;
  std::vector<Seen> (*run)(const TestInput& input);

  const NumberSpec* FindNumber(absl::string_view name) const;
};

absl::Span<const Test> Tests();
const Test* FindTest(absl::string_view name);
// All names, by comma.
std::string TestNames();

}  // namespace galen::playbook

#endif  // COMMON_PLAYBOOK_TESTS_H_
