#ifndef COMMON_SECURITY_CLAIMS_CLAIM_H_
#define COMMON_SECURITY_CLAIMS_CLAIM_H_

#include <cstddef>

#include "absl/time/time.h"

// Constants that signer and verifier of a tenant's claim share. A claim is a
// galen.security.v1.SignedClaim, serialized.
namespace galen::security {

// The metadata key that a claim travels under.
inline constexpr char kClaimKey[] = "galen-claim-bin";

// The metadata key of the credential of whose request a call is part, "key/ID (ROLE)". It grants
// nothing: it goes into the audit logs of the called services. Gateways state it; orchestrator and
// execution pass it on. A claim that comes with the call must name the same one.
inline constexpr char kAskerKey[] = "galen-asker-bin";

// The signed bytes begin with this, so that a signature made for another purpose is not valid for a
// claim; its final NUL is signed too.
inline constexpr char kClaimContext[] = "galen-claim-v1";

// The validity of a claim. Long enough for many calls, short enough that a leaked claim is soon
// worthless.
inline constexpr absl::Duration kClaimLife = absl::Minutes(5);
// By how much the clocks of two machines may differ.
inline constexpr absl::Duration kClockSkew = absl::Minutes(1);

// Claims carry their signer's certificate for so long after it was exchanged: a connection that
// was made before showed the old one. Longer than a connection lasts
// (rpc::SecurityOptions::max_connection_age).
inline constexpr absl::Duration kOldConnections = absl::Hours(2);

// A claim with the longest chain that we sign with; gRPC takes 8 KiB of metadata in all.
inline constexpr std::size_t kMaxClaimBytes = 6 << 10;

}  // namespace galen::security

#endif  // COMMON_SECURITY_CLAIMS_CLAIM_H_
