#ifndef SERVICES_EXECUTION_PLAYBOOK_SERIES_TESTS_H_
#define SERVICES_EXECUTION_PLAYBOOK_SERIES_TESTS_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/telemetry/rules.h"
#include "services/execution/playbook/job_activity.h"
#include "services/execution/playbook/playbook_catalogue.h"
#include "services/execution/playbook/rows.h"

namespace galen::playbook {

// Input of a test. Everything lives as long as the call.
struct SeriesTestInput {
  const JobActivity& activity;
  // The measures of the step in its order, taken together as the step says.
  std::vector<const Rows*> of;
  // The same at the time that the incident is compared with; empty: there is none.
  std::vector<const Rows*> before;
  const std::map<std::string, double>& numbers;

  double Number(absl::string_view name) const;
  const struct SeriesTest* test = nullptr;
};

// A test's result for one place.
struct SeriesTestResult {
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
struct SeriesTest {
  absl::string_view name;
  absl::string_view says;  // one sentence: what it finds
  std::size_t measures;
  absl::string_view type;  // of its finding: bool, float (also for int), text (also for enum)
  std::vector<NumberSpec> numbers;
  std::vector<SeriesTestResult> (*run)(const SeriesTestInput& input);

  const NumberSpec* FindNumber(absl::string_view name) const;
};

absl::Span<const SeriesTest> SeriesTests();
const SeriesTest* FindSeriesTest(absl::string_view name);
// All names, separated by commas.
std::string SeriesTestNames();

}  // namespace galen::playbook

#endif  // SERVICES_EXECUTION_PLAYBOOK_SERIES_TESTS_H_
