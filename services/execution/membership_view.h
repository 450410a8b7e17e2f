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

// Who is there at an instant.
struct MembershipView {
  std::map<std::string, std::string> nodes;  // address by host name
  std::vector<std::string> replicas;         // addresses of execution's replicas, sorted

  friend bool operator==(const MembershipView& a, const MembershipView& b) {
    return a.nodes == b.nodes && a.replicas == b.replicas;
  }
};

// Replicas stand in the table of nodes under names that no host can have. Pure, as all here.
std::string ReplicaName(absl::string_view address);

// Of what the table holds: entries that are over at `now` are not there, nor are those whose name
// or address could not have been registered (another program may write to the store).
MembershipView ViewOf(const std::vector<store::NodeEntry>& entries, absl::Time now);

// Whether a node may announce itself so: the name is a host name (letters, digits, '.', '-', '_';
// at most 253), the address HOST:PORT or [IPV6]:PORT. INVALID_ARGUMENT says what is wrong.
absl::Status CheckRegistration(absl::string_view node, absl::string_view address);

// For how long to believe a node that asks for `asked`; zero: it did not say.
absl::Duration TimeToLive(absl::Duration asked);

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_MEMBERSHIP_VIEW_H_
