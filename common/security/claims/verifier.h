#ifndef COMMON_SECURITY_CLAIMS_VERIFIER_H_
#define COMMON_SECURITY_CLAIMS_VERIFIER_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/security/certificates/credentials.h"
#include "common/security/role.h"

namespace galen::security {

// The bearer of a claim: the caller, as the connection identifies it.
struct ClaimBearer {
  absl::string_view uri;  // its identity
  // Its certificate and chain, PEM; asked only when a claim is seen for the first time.
  absl::FunctionRef<std::string()> certificates;
};

// Verifies tenants' claims. Thread-safe.
class ClaimVerifier {
 public:
  // `audience` is this program's role. `clock` must outlive the verifier.
  ClaimVerifier(const Clock& clock, Role audience);
  ~ClaimVerifier();
  ClaimVerifier(const ClaimVerifier&) = delete;
  ClaimVerifier& operator=(const ClaimVerifier&) = delete;

  // Replaces the trusted authority and trust domain.
  absl::Status Use(const Credentials& credentials);

  // The content of a claim.
  struct Accepted {
    std::string tenant;
    std::string asker;  // the credential of whose request the call is part; "" of none
  };
  // Gives it. PERMISSION_DENIED, with the reason, when it is not for this audience,
  // was not signed by its bearer, or the bearer may not sign one (ClaimIssuers()), when it is not
  // valid now, or is not a claim at all. A claim that was accepted before costs one look-up in a
  // table.
  absl::StatusOr<Accepted> Accept(absl::string_view claim, const ClaimBearer& bearer);

 private:
  struct Trust;
  struct Believed {
    Accepted content;
    std::string issuer;
    absl::Time expires;
  };
  absl::StatusOr<Believed> Check(const Trust& trust, absl::string_view claim,
                                 const ClaimBearer& bearer, absl::Time now) const;

  const Clock& clock_;
  const Role audience_;
  Mutex mu_;
  std::shared_ptr<const Trust> trust_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, Believed> believed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::security

#endif  // COMMON_SECURITY_CLAIMS_VERIFIER_H_
