#ifndef SERVICES_EXECUTION_HASH_RING_H_
#define SERVICES_EXECUTION_HASH_RING_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace galen::execution {

// The same in every process and on every day (FNV-1a, and the finalizer of MurmurHash3 behind it,
// without which names that differ in their last letter lie side by side).
std::uint64_t StableHash(absl::string_view text);

// Consistent hashing (Karger et al., STOC 1997): which member owns a name. One member more or less
// moves about one name in n, and none between the others. Immutable.
class HashRing {
 public:
  // Each member has `points` places on the ring: with 128, shares differ by about a tenth. The
  // order of `members` does not matter.
  explicit HashRing(const std::vector<std::string>& members, int points = 128);

  // "" when there are no members.
  const std::string& OwnerOf(absl::string_view name) const;

 private:
  std::map<std::uint64_t, std::string> places_;
  const std::string none_;
};

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_HASH_RING_H_
