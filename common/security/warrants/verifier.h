#ifndef COMMON_SECURITY_WARRANTS_VERIFIER_H_
#define COMMON_SECURITY_WARRANTS_VERIFIER_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/security/certificates/credentials.h"
#include "common/security/warrants/warrant.h"

namespace galen::security {

// Verifies warrants: signed by a gateway of this trust domain, whose certificate leads to the
// authority, and valid now. The caller must ensure that a warrant is used only once. Thread-safe.
class WarrantVerifier {
 public:
  // `clock` must outlive the verifier.
  explicit WarrantVerifier(const Clock& clock);
  ~WarrantVerifier();
  WarrantVerifier(const WarrantVerifier&) = delete;
  WarrantVerifier& operator=(const WarrantVerifier&) = delete;

  // Replaces the trusted authority and trust domain.
  absl::Status Use(const Credentials& credentials);

  // PERMISSION_DENIED with what is wrong. No allowance is made for clocks that differ at its end;
  // it may begin a minute in the future.
  absl::StatusOr<Warrant> Read(absl::string_view warrant) const;

 private:
  struct Trust;
  const Clock& clock_;
  mutable Mutex mu_;
  std::shared_ptr<const Trust> trust_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::security

#endif  // COMMON_SECURITY_WARRANTS_VERIFIER_H_
