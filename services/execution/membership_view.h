#ifndef SERVICES_EXECUTION_MEMBERSHIP_VIEW_H_
#define SERVICES_EXECUTION_MEMBERSHIP_VIEW_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/store/node_table.h"

namespace galen::execution {

// Live nodes and replicas at one time.
struct MembershipView {
  std::map<std::string, std::string> nodes;  // address by host name
  std::vector<std::string> replicas;         // addresses of execution's replicas, sorted

  friend bool operator==(const MembershipView& a, const MembershipView& b) {
    return a.nodes == b.nodes && a.replicas == b.replicas;
  }
};

// Replicas are in the table of nodes under names that no host can have. Pure, like all functions
// here.
std::string ReplicaName(absl::string_view address);

// The table's live members: without entries that expired by `now`, and without those whose name or
// address could not have been registered (another program may write to the store).
MembershipView ViewOf(const std::vector<store::NodeEntry>& entries, absl::Time now);

// Whether a node may announce itself so: the name is a host name (letters, digits, '.', '-', '_';
// at most 253), the address HOST:PORT or [IPV6]:PORT. INVALID_ARGUMENT says what is wrong.
absl::Status CheckRegistration(absl::string_view node, absl::string_view address);

// Time to live of a node that asks for `asked`; zero: it did not ask for one.
absl::Duration TimeToLive(absl::Duration asked);

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_MEMBERSHIP_VIEW_H_
