#ifndef SERVICES_GATEWAY_ACCESS_API_KEY_STORE_H_
#define SERVICES_GATEWAY_ACCESS_API_KEY_STORE_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/store/journal.h"
#include "common/store/seal.h"
#include "galen/gateway/v1/keys.pb.h"
#include "services/gateway/api/access.h"

namespace galen::gateway {

// The API keys of a mesh, in a journal of its store. Reads are answered from memory, as of the last
// Refresh(). Thread-safe.
class ApiKeyStore {
 public:
  // `journal` must outlive it. With a `seal`, which must outlive it too, records without that seal
  // are ignored, and `refused` gets one sentence about each.
  explicit ApiKeyStore(store::Journal& journal, const store::Seal* seal = nullptr,
                       std::function<void(const std::string&)> refused = nullptr)
      : journal_(journal), seal_(seal), refused_(std::move(refused)) {}

  struct NewKey {
    std::string tenant;
    UserRole role = UserRole::kCustomer;
    std::vector<std::string> scopes;  // empty: all scopes
    absl::Duration lifetime = absl::InfiniteDuration();
    std::string note;
  };
  // Makes a key and returns its text, which cannot be read again. INVALID_ARGUMENT: the tenant is
  // invalid, or is "*" for a customer; a scope does not exist; the lifetime is not positive.
  absl::StatusOr<std::string> Create(const NewKey& wanted, absl::Time now);
  // NOT_FOUND: there is no such key. Idempotent.
  absl::Status Revoke(const std::string& id);

  // Reads what others have written since. DATA_LOSS: an entry is not a valid record.
  absl::Status Refresh();
  // All that are not revoked, oldest first.
  std::vector<v1::ApiKey> List() const;

  // The owner of this key. UNAUTHENTICATED: it is not a key, is unknown, is revoked, or has
  // expired.
  absl::StatusOr<Principal> Find(absl::string_view text, absl::Time now) const;

 private:
  absl::Status Append(const v1::KeyRecord& record);
  void Apply(const v1::KeyRecord& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Refuse(std::int64_t position, absl::string_view why) const;

  store::Journal& journal_;
  const store::Seal* const seal_;
  const std::function<void(const std::string&)> refused_;
  Mutex refreshing_;  // one reads at a time; before mu_
  mutable Mutex mu_;
  std::int64_t position_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, v1::ApiKey> keys_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> revoked_ ABSL_GUARDED_BY(mu_);  // for good, whatever comes after
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_ACCESS_API_KEY_STORE_H_
