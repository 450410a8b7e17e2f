#ifndef COMMON_SECURITY_CLAIMS_CLAIM_H_
#define COMMON_SECURITY_CLAIMS_CLAIM_H_

#include <cstddef>

#include "absl/time/time.h"

// What signer and verifier of a tenant's claim agree on. A claim is a
// galen.security.v1.SignedClaim, serialized.
namespace galen::security {

// The metadata key that a claim travels under.
inline constexpr char kClaimKey[] = "galen-claim-bin";

// The metadata key of the one for whom a gateway asks, "key/ID (ROLE)". It opens nothing: it stands
// in the audit logs of those who are asked, who believe it of gateways alone.
inline constexpr char kAskerKey[] = "galen-asker-bin";

// What is signed begins with this, so that no signature made for anything else passes for one of a
// claim; its final NUL is signed too.
inline constexpr char kClaimContext[] = "galen-claim-v1";

// How long a claim is good for. Long enough to be used for many calls, short enough that one that
// got away is soon worthless.
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
