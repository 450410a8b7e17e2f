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
  // The machines of the job; empty: all that there are numbers of.
  std::vector<std::string> nodes;
  // Of a server that knows machines of others too: only what names one of `nodes`, to the letter,
  // is looked at.
  bool named = false;
  // When it showed, as far as known.
  Times window;
  // What it is compared with.
  std::optional<Times> baseline;
  std::vector<std::string> baseline_nodes;
  // Between which the source has anything, where it can tell; else now.
  Times extent;
  absl::Time now;
  // Of the axis; zero: 15 s, or what keeps the axis below 4,000 points.
  absl::Duration step;
};

// Of one place, as one step saw it.
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
  std::vector<std::string> remarks;        // ghosts, what is incomplete, what was looked at
  bool complete = true;  // false: something is missing, and absence proves nothing
  std::shared_ptr<const JobActivity> activity;
  // Counters of errors that grow and that no playbook reads: where they do, nothing is cleared.
  std::shared_ptr<const std::vector<telemetry::GrowingError>> unread;
};

// The window that is looked at: the incident's, with an hour before its end at least, and six where
// it has no beginning, within what the source has.
Times WindowOf(const Request& request);

// Runs what the catalogue says of each of the checks. Where no time to compare with was given, and
// the window holds two jobs beside each other, the slower one is looked at beside the faster one;
// where it holds several runs, one after the other, the last one beside the one before. Each
// quantity is asked for once. Errors are those of the source, but for what it does not have: that
// is said check by check.
absl::StatusOr<std::vector<Examination>> Examine(const PlaybookCatalogue& catalogue,
                                                 const telemetry::Rules& rules,
                                                 telemetry::Source& source, const Request& request,
                                                 const telemetry::Call& call);

// Which machines there are numbers of between these times: what families "node", "host" and "dcgm"
// and their like say, at most `most`. Sorted.
absl::StatusOr<std::vector<std::string>> NodesOf(const telemetry::Rules& rules,
                                                 telemetry::Source& source, const Times& times,
                                                 std::size_t most, const telemetry::Call& call);

// "node-5" and "node-5.cluster.local" are one.
bool SameNode(absl::string_view one, absl::string_view other);

}  // namespace galen::playbook

#endif  // SERVICES_EXECUTION_PLAYBOOK_EXAMINE_H_
