#ifndef COMMON_STORE_SEAL_H_
#define COMMON_STORE_SEAL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/store/records.h"

namespace galen::store {

// Seals Galen's records with a key that the store does not hold: an attacker with write access to
// the store can then remove records, and restore old ones, but not forge any. Thread-safe.
class Seal {
 public:
  // The key is a file of 64 hexadecimal digits ("openssl rand -hex 32"). NOT_FOUND,
  // INVALID_ARGUMENT name the file and what to do.
  static absl::StatusOr<Seal> FromFile(const std::string& path);
  // `key` of 32 bytes.
  explicit Seal(std::string key) : key_(std::move(key)) {}

  // `value` with the seal before it, good in just this place.
  std::string Put(absl::string_view place, absl::string_view value) const;
  // The value; nothing when it does not bear the seal of this place.
  std::optional<std::string> Take(absl::string_view place, absl::string_view sealed) const;

 private:
  std::string key_;
};

// The seal of a program whose store is `shared` or a file of its own. None without a path; for a
// shared store that is FAILED_PRECONDITION unless `unsealed` says that it is meant so: there,
// others may write.
absl::StatusOr<std::optional<Seal>> OpenSeal(const std::string& path, bool shared, bool unsealed);

// Records whose values bear a seal of their space, key and version, so that none can be moved to
// another place, or replace a later version of the same key. A record that does not verify is
// DATA_LOSS; a list leaves it out. `refused` is called each time with the record and the reason.
// `records` and `seal` must outlive it.
std::unique_ptr<Records> SealRecords(Records& records, const Seal& seal,
                                     std::function<void(const std::string& what)> refused);

}  // namespace galen::store

#endif  // COMMON_STORE_SEAL_H_
