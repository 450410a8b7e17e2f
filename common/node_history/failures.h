#ifndef COMMON_NODE_HISTORY_FAILURES_H_
#define COMMON_NODE_HISTORY_FAILURES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "galen/execution/v1/failures.pb.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::node_history {

using Failure = execution::v1::NodeFailures::Failure;

// The faults that a diagnosis found, by node: its confirmed causes that are the provider's to fix,
// on live machines. (A failing program proves nothing about the machine that it ran on, and
// machines of a bundle cannot be distinguished from others of the same name.) A node without any
// remaining cause has an empty list: a person replaced Galen's cause by another. Pure.
std::map<std::string, std::vector<Failure>> FailuresOf(const galen::v1::Diagnosis& diagnosis);

// Selects the failures that count.
struct Window {
  // Failures until then; earlier ones within `apart` are the same failure.
  absl::Time until;
  // How far back.
  absl::Duration back;
  // Failures that follow each other closer than this are one: a job that is restarted on the same
  // bad device fails again, and is diagnosed again.
  absl::Duration apart;
};

struct Count {
  std::string device;  // as Failure has it: the newest name of that device
  std::string serial;  // "": not known
  int failures = 0;
  std::vector<Failure> counted;  // the first one of each, oldest first
};

struct Counts {
  Count node;                  // of the node and all of its devices together
  std::vector<Count> devices;  // by name, then serial; each failed at least once
};

// Failures of the node before this one, without those that `diagnosis` found itself. A device with
// a known serial number is identified by it, because its name may have belonged to another one.
// Pure.
Counts CountEarlier(const execution::v1::NodeFailures& failures, absl::string_view diagnosis,
                    const Window& window);

}  // namespace galen::node_history

#endif  // COMMON_NODE_HISTORY_FAILURES_H_
