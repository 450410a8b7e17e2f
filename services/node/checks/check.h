#ifndef SERVICES_NODE_CHECKS_CHECK_H_
#define SERVICES_NODE_CHECKS_CHECK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/cancellation.h"
#include "common/host/host.h"
#include "common/knowledge/findings.h"
#include "common/knowledge/knowledge.h"
#include "common/knowledge/make_result.h"
#include "galen/v1/evidence.pb.h"
#include "services/node/checks/parameters.h"

namespace galen::node {

struct LogWant;

// The input of a check.
struct CheckContext {
  const host::Host& host;
  const knowledge::Knowledge& knowledge;
  // Window of the incident; InfinitePast/InfiniteFuture where not known.
  absl::Time window_start = absl::InfinitePast();
  absl::Time window_end = absl::InfiniteFuture();
  // By when the check has to be done, on the scale of SteadyNow().
  absl::Time deadline = absl::InfiniteFuture();
  Parameters parameters = {};
  // True when the caller allows to load a device that another process uses.
  bool allow_busy = false;
  // A check that takes longer than a second looks here at least every 200 ms, and ends with
  // CANCELLED, having undone what it did. Programs run through `host` are killed without its help.
  const Cancellation& cancelled = Cancellation::Never();
  // Reports the progress of a long check: 0 to 1, and its current step. May be empty; cheap enough
  // to call a few times a second.
  std::function<void(double done, absl::string_view what)> progress = nullptr;
  // The log lines that any of the checks reads, so that one scan of the logs serves them all
  // (system/wanted_lines.h). May be empty.
  absl::Span<const LogWant* const> log_wants = {};
};

using knowledge::CheckOutput;

// One examination. A status of NOT_FOUND, UNAVAILABLE, PERMISSION_DENIED or FAILED_PRECONDITION
// becomes SKIPPED with its message as the reason; every other error becomes ERROR. Thread-safe.
using NativeCheck = absl::StatusOr<CheckOutput> (*)(const CheckContext& context);

// A check under its name in the catalogue.
struct NamedCheck {
  absl::string_view name;
  NativeCheck run;
  // The lines of the job's logs that the check reads; two checks may share one.
  const LogWant* wants = nullptr;
};

using knowledge::BoolFinding;
using knowledge::EventFinding;
using knowledge::FloatFinding;
using knowledge::IntFinding;
using knowledge::TextFinding;
using knowledge::UnknownFinding;

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_CHECK_H_
