#ifndef SERVICES_NODE_REPAIR_USED_WARRANTS_H_
#define SERVICES_NODE_REPAIR_USED_WARRANTS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "galen/node/v1/node.pb.h"

namespace galen::node {

// The warrants that were used on this machine and their outcomes, in files of a directory, so that
// none is used twice, not even after a crash or a restart. Not thread-safe: one program owns it.
class UsedWarrants {
 public:
  // Makes the directory. INVALID_ARGUMENT it cannot be made or written.
  static absl::StatusOr<std::unique_ptr<UsedWarrants>> Open(const std::string& directory);

  // The outcome of the run of that warrant; INTERRUPTED when it began and its end was never
  // recorded; nothing: it was not used. `nonce` is hexadecimal. DATA_LOSS the record cannot be
  // read.
  absl::StatusOr<std::optional<v1::RepairResponse>> Find(const std::string& nonce) const;
  // Before the run: on the disk when it returns. ALREADY_EXISTS it was used.
  absl::Status Begin(const std::string& nonce);
  absl::Status End(const std::string& nonce, const v1::RepairResponse& response);
  // Forgets those begun before `then`: their warrants are good no longer.
  void Forget(absl::Time then);

 private:
  explicit UsedWarrants(std::string directory) : directory_(std::move(directory)) {}
  std::string PathOf(const std::string& nonce) const;

  const std::string directory_;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_REPAIR_USED_WARRANTS_H_
