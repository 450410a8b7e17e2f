#ifndef COMMON_SECURITY_CLAIMS_SIGNER_H_
#define COMMON_SECURITY_CLAIMS_SIGNER_H_

#include <compare>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/security/certificates/credentials.h"
#include "common/security/role.h"

namespace galen::security {

// Signs claims with the key of this program's certificate, so that no other secret has to be
// distributed: every program that trusts the authority can verify them. Thread-safe.
class ClaimSigner {
 public:
  // `clock` must outlive the signer.
  explicit ClaimSigner(const Clock& clock);
  ~ClaimSigner();
  ClaimSigner(const ClaimSigner&) = delete;
  ClaimSigner& operator=(const ClaimSigner&) = delete;

  // Replaces the signing credentials; called at the start, and when the certificate was renewed.
  absl::Status Use(const Credentials& credentials);

  // A claim of `tenant` that `audience` accepts, for calls that are part of a request of `asker`.
  // It is reused, and made again when half of its life is over.
  absl::StatusOr<std::string> For(absl::string_view tenant, Role audience,
                                  absl::string_view asker = "");

 private:
  struct Key;
  struct Made {
    std::string claim;
    absl::Time renew;
  };
  struct Wanted {
    std::string tenant;
    Role audience;
    std::string asker;
    auto operator<=>(const Wanted&) const = default;
  };
  absl::StatusOr<std::string> Make(const Key& key, const Wanted& wanted, absl::Time now,
                                   bool attach) const;

  const Clock& clock_;
  Mutex mu_;
  std::shared_ptr<const Key> key_ ABSL_GUARDED_BY(mu_);
  absl::Time attach_until_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  std::map<Wanted, Made> made_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::security

#endif  // COMMON_SECURITY_CLAIMS_SIGNER_H_
