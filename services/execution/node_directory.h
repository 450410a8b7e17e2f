#ifndef SERVICES_EXECUTION_NODE_DIRECTORY_H_
#define SERVICES_EXECUTION_NODE_DIRECTORY_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/periodic_task.h"
#include "common/store/node_table.h"
#include "services/execution/membership_view.h"

namespace galen::execution {

// The live nodes and replicas, kept in the store so that every replica knows all of them, whichever
// they registered with. Changes at about the same time go to the store in one write. While the
// store does not answer, no member is removed: silence does not prove that one is gone.
// Thread-safe.
class NodeDirectory {
 public:
  struct Options {
    // How often the store is read, and this replica announces itself.
    absl::Duration refresh = absl::Seconds(2);
    // How long a replica counts as live after its announcement.
    absl::Duration replica_ttl = absl::Seconds(10);
    // How long registrations are gathered into one write.
    absl::Duration gather = absl::Milliseconds(100);
    std::size_t max_nodes = 100000;
    // Called when somebody came, went or moved; one call at a time. `self`: this replica.
    std::function<void(const MembershipView& view, const std::string& self)> on_change;
    // Called when the store fails, and when it answers again.
    std::function<void(const std::string& news)> tell = [](const std::string&) {};
  };

  // Both must outlive the node_directory.
  NodeDirectory(store::NodeTable& table, const Clock& clock, Options options);
  ~NodeDirectory();

  // Announces this replica at `address` and goes on by itself.
  void Start(std::string address);
  // Withdraws this replica, and does nothing more by itself.
  void Stop();

  struct Registered {
    absl::Duration again_in;
    std::string moved_from;  // where it was until now, if that is elsewhere
  };
  // Errors as of ExecutionService.RegisterNode. `may_move`: the caller is known to be the node, so
  // it may register a new address; otherwise ALREADY_EXISTS while it counts as live at the old one.
  absl::StatusOr<Registered> Register(absl::string_view node, absl::string_view address,
                                      absl::Duration ttl, bool may_move = true);
  // Errors as of ExecutionService.WithdrawNode.
  absl::Status Withdraw(absl::string_view node, absl::string_view address);

  // One pass of the directory's own work: writes what was registered; with `read` also announces
  // this replica and reads the other members. The store's error.
  absl::Status Sync(bool read);

 private:
  using Entries = std::map<std::string, store::NodeEntry>;

  // Sets `changed` when it learns of somebody new.
  absl::Status Exchange(bool read, bool& changed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(sync_mu_);
  void TellView(bool expire) ABSL_EXCLUSIVE_LOCKS_REQUIRED(sync_mu_);

  store::NodeTable& table_;
  const Clock& clock_;
  const Options options_;

  Mutex sync_mu_;  // held for a turn, and while something is withdrawn; taken before mu_
  MembershipView view_ ABSL_GUARDED_BY(sync_mu_);
  bool failing_ ABSL_GUARDED_BY(sync_mu_) = false;
  int reads_ ABSL_GUARDED_BY(sync_mu_) = 0;

  Mutex mu_;
  std::string address_ ABSL_GUARDED_BY(mu_);
  Entries known_ ABSL_GUARDED_BY(mu_);
  Entries pending_ ABSL_GUARDED_BY(mu_);  // to be written

  std::optional<PeriodicTask> task_;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_NODE_DIRECTORY_H_
