#include "services/execution/hash_ring.h"

#include "absl/strings/str_cat.h"

namespace galen::execution {

std::uint64_t StableHash(absl::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdu;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53u;
  return hash ^ (hash >> 33);
}

HashRing::HashRing(const std::vector<std::string>& members, int points) {
  for (const std::string& member : members) {
    for (int point = 0; point < points; ++point) {
      // On a collision the lesser name wins, whatever the order of the members.
      const auto [at, added] =
          places_.try_emplace(StableHash(absl::StrCat(member, "#", point)), member);
      if (!added && member < at->second) at->second = member;
    }
  }
}

const std::string& HashRing::OwnerOf(absl::string_view name) const {
  if (places_.empty()) return none_;
  const auto at = places_.lower_bound(StableHash(name));
  return at == places_.end() ? places_.begin()->second : at->second;
}

}  // namespace galen::execution
