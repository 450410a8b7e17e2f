#ifndef SERVICES_EXECUTION_PLAYBOOK_EXAMINE_H_
#define SERVICES_EXECUTION_PLAYBOOK_EXAMINE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/telemetry/growing_errors.h"
#include "common/telemetry/rules.h"
#include "common/telemetry/source.h"
#include "services/execution/playbook/job_activity.h"
#include "services/execution/playbook/playbook_catalogue.h"
#include "services/execution/playbook/rows.h"

namespace galen::playbook {

struct Times {
  absl::Time start = absl::InfinitePast();
  absl::Time end = absl::InfiniteFuture();
};

struct Request {
  std::vector<std::string> checks;
  // The machines of the job; empty: all that have time series.
  std::vector<std::string> nodes;
  // For a server that also has other tenants' machines: only series that name one of `nodes`
  // exactly are read.
  bool named = false;
  // When the incident showed, as far as known.
  Times window;
  // The time to compare with.
  std::optional<Times> baseline;
  std::vector<std::string> baseline_nodes;
  // The time range that the source covers, if it reports one; otherwise until now.
  Times extent;
  absl::Time now;
  // Step of the time axis; zero: 15 s, or longer to keep the axis below 4,000 points.
  absl::Duration step;
};

// One step's observation of one place.
struct Observation {
  const Step* step = nullptr;
  telemetry::Place place;
  Value value;
  std::string why;
  std::shared_ptr<const Rows> rows;  // that show it; null: none
  int row = -1;
};

struct Examination {
  std::string check;
  absl::Status status;  // not OK: nothing could be told
  std::vector<Observation> observations;
  std::vector<telemetry::Answer> answers;  // what was asked, when, of whom; without samples
  std::vector<std::string> remarks;        // ghosts, incomplete data, what was examined
  bool complete = true;  // false: something is missing, and absence proves nothing
  std::shared_ptr<const JobActivity> activity;
  // Counters of errors that grow and that no playbook reads: where they do, nothing is cleared.
  std::shared_ptr<const std::vector<telemetry::GrowingError>> unread;
};

// The window to examine: the incident's, at least one hour before its end, or six hours if it has
// no beginning, within the source's range.
Times WindowOf(const Request& request);

// Runs the catalogue's steps for each of the checks. If no time to compare with was given and two
// jobs ran side by side in the window, the slower one is compared with the faster one; if several
// runs followed each other, the last one is compared with the one before. Each quantity is queried
// once. Errors are those of the source; missing quantities are reported per check instead.
absl::StatusOr<std::vector<Examination>> Examine(const PlaybookCatalogue& catalogue,
                                                 const telemetry::Rules& rules,
                                                 telemetry::Source& source, const Request& request,
                                                 const telemetry::Call& call);

// Which machines there are numbers of between these times: what families "node", "host" and "dcgm"
// and their like say, at most `most`. Sorted.
absl::StatusOr<std::vector<std::string>> NodesOf(const telemetry::Rules& rules,
                                                 telemetry::Source& source, const Times& times,
                                                 std::size_t most, const telemetry::Call& call);

}  // namespace galen::playbook

#endif  // SERVICES_EXECUTION_PLAYBOOK_EXAMINE_H_
