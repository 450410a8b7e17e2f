#ifndef SERVICES_ADVISOR_LEARNING_SIGNATURE_H_
#define SERVICES_ADVISOR_LEARNING_SIGNATURE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/advisor/learning/mix.h"

// The only data about a workload that leaves the tenant's side. docs/advisor.md says what it
// reveals to whom; tests/unit/services/advisor/learning/privacy_test.cc measures it.
namespace galen::advisor {

// Shares below this are omitted.
inline constexpr double kLeastShare = 0.05;

// Precision of a mix in a signature.
enum class Grain {
  kCoarse,  // the operators that take more than kLeastShare
  kFine,    // and in which bucket of a factor of four: 5 % to 20 %, to 80 %, more
};

// The canonical text of a mix; exactly this is digested. "fine attention=1 gemm=2 scale=2". `gpus`
// contributes only the power of eight.
std::string CanonicalMix(const OperatorMix& mix, std::int64_t gpus, Grain grain);

// Versions of software by component ("nccl": "2.19.3").
using Versions = std::map<std::string, std::string>;
// Whether a component is in the closed list of public software that identifies a stack: "nccl",
// "torch", "driver".
bool IsComponent(absl::string_view component);
// The canonical text of versions: components of the closed list in order, each up to its second
// number ("2.19"). Others, which may be the tenant's own, are left out.
std::string CanonicalVersions(const Versions& versions);

// Two tokens of 128 bits, as 32 lowercase hexadecimal digits each. Without the key they show only
// which workloads are alike.
struct Signature {
  std::string archetype;
  std::string stack;
  bool operator==(const Signature&) const = default;
};

// Signs with the key that all tenants of a fleet share (otherwise nothing could be learned from one
// tenant for another). Tokens of different keys have nothing in common. INVALID_ARGUMENT: a key of
// fewer than 16 bytes; a mix with an unknown operator, or with invalid shares; more than 64
// components.
absl::StatusOr<Signature> Sign(absl::string_view key, const OperatorMix& mix, std::int64_t gpus,
                               const Versions& versions, Grain grain = Grain::kFine);

// True for the output of Sign().
bool IsToken(absl::string_view text);

// HMAC-SHA-256 (RFC 2104) as 64 hexadecimal digits.
std::string HmacSha256Hex(absl::string_view key, absl::string_view text);

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_LEARNING_SIGNATURE_H_
