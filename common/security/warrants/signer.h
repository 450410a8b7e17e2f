#ifndef COMMON_SECURITY_WARRANTS_SIGNER_H_
#define COMMON_SECURITY_WARRANTS_SIGNER_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/security/certificates/credentials.h"
#include "common/security/warrants/warrant.h"

namespace galen::security {

// Signs warrants with the key of this program's certificate. Thread-safe.
class WarrantSigner {
 public:
  // `clock` must outlive the signer.
  explicit WarrantSigner(const Clock& clock);
  ~WarrantSigner();
  WarrantSigner(const WarrantSigner&) = delete;
  WarrantSigner& operator=(const WarrantSigner&) = delete;

  // Replaces the signing credentials; called at the start, and when the certificate was renewed.
  absl::Status Use(const Credentials& credentials);

  // A SignedWarrant, serialized. The nonce of `warrant` is not looked at: it is random. It is good
  // no longer than the certificate. INVALID_ARGUMENT something is empty, or it would be good for
  // longer than kMostWarrantLife; FAILED_PRECONDITION there is no certificate.
  absl::StatusOr<std::string> Sign(const Warrant& warrant) const;

 private:
  struct Key;
  const Clock& clock_;
  mutable Mutex mu_;
  std::shared_ptr<const Key> key_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::security

#endif  // COMMON_SECURITY_WARRANTS_SIGNER_H_
