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
#include "common/knowledge/knowledge.h"
#include "galen/v1/evidence.pb.h"
#include "services/node/checks/parameters.h"

namespace galen::node {

struct LogWant;

// What a check may look at.
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
  // Tells people how far a long check is: 0 to 1, and what it does now. May be empty; cheap enough
  // to call a few times a second.
  std::function<void(double done, absl::string_view what)> progress = nullptr;
  // What all checks look for in logs, so that one reading serves them all (system/wanted_lines.h).
  // May be empty.
  absl::Span<const LogWant* const> log_wants = {};
};

// What a check saw. PASS or FAIL follows from the findings' declared limits (knowledge/checks), so
// a check only reports values; one it could look for but not tell is a finding without a value.
struct CheckOutput {
  std::vector<galen::v1::Finding> findings;
  std::string message;  // one sentence for people
  std::string excerpt;  // raw output that shows it; cleaned and cut by the executor
};

// One examination. A status of NOT_FOUND, UNAVAILABLE, PERMISSION_DENIED or FAILED_PRECONDITION
// becomes SKIPPED with its message as the reason; every other error becomes ERROR. Thread-safe.
using NativeCheck = absl::StatusOr<CheckOutput> (*)(const CheckContext& context);

// A check under its name in the catalogue.
struct NamedCheck {
  absl::string_view name;
  NativeCheck run;
  // What it looks for in the logs of the job; two checks may share one.
  const LogWant* wants = nullptr;
};

// Builders of findings: `device` as in galen.v1.Device ("gpu:1", "" for the node). They fill
// name, subject and value; unit and limits come from the catalogue.
galen::v1::Finding BoolFinding(absl::string_view name, absl::string_view node,
                               absl::string_view device, bool value);
galen::v1::Finding IntFinding(absl::string_view name, absl::string_view node,
                              absl::string_view device, std::int64_t value);
galen::v1::Finding FloatFinding(absl::string_view name, absl::string_view node,
                                absl::string_view device, double value);
galen::v1::Finding TextFinding(absl::string_view name, absl::string_view node,
                               absl::string_view device, absl::string_view value);
// Looked for, and could not be told.
galen::v1::Finding UnknownFinding(absl::string_view name, absl::string_view node,
                                  absl::string_view device);
galen::v1::Finding EventFinding(absl::string_view name, absl::string_view node,
                                absl::string_view device, galen::v1::LogEvent event);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_CHECK_H_
