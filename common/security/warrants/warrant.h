#ifndef COMMON_SECURITY_WARRANTS_WARRANT_H_
#define COMMON_SECURITY_WARRANTS_WARRANT_H_

#include <cstddef>
#include <string>

#include "absl/time/time.h"

namespace galen::security {

// See galen.security.v1.Warrant.
struct Warrant {
  std::string action;
  std::string content_hash;
  std::string node;
  std::string approver;
  absl::Time expires;
  std::string nonce;  // hexadecimal; of the signer's making
};

inline constexpr char kWarrantContext[] = "galen-warrant-v1";
// As long as an approval may be good (actions::kMostLifetime).
inline constexpr absl::Duration kMostWarrantLife = absl::Hours(1);
inline constexpr std::size_t kMostWarrantBytes = 16 << 10;

}  // namespace galen::security

#endif  // COMMON_SECURITY_WARRANTS_WARRANT_H_
