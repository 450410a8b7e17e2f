#ifndef COMMON_SECURITY_ROLE_H_
#define COMMON_SECURITY_ROLE_H_

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace galen::security {

// A program's role in the mesh. Planned programs have a role already, so that existing certificates
// remain valid for them. The number is not stored anywhere.
enum class Role : std::uint8_t {
  kGateway,
  kOrchestrator,
  kSummarization,
  kPlanning,
  kExecution,
  kNode,
  kReflection,
  kConclusion,
  kWatch,
  kAdvisor,
  kOperator,  // a person of the site with the `galen` program
  kMetrics,   // a monitor, which may ask for health and nothing else
};

// All of them, in the order above.
absl::Span<const Role> AllRoles();

// "orchestrator": as certificates, files and messages write it.
absl::string_view NameOf(Role role);
// The way back; nothing for a word that names no role.
std::optional<Role> ParseRole(absl::string_view name);

// A set of roles.
class Roles {
 public:
  constexpr Roles() = default;
  constexpr Roles(std::initializer_list<Role> roles) {
    for (const Role role : roles) bits_ |= Bit(role);
  }
  static constexpr Roles All() {
    Roles all;
    all.bits_ = ~std::uint32_t{0};
    return all;
  }
  constexpr bool Has(Role role) const { return (bits_ & Bit(role)) != 0; }

 private:
  static constexpr std::uint32_t Bit(Role role) {
    return std::uint32_t{1} << static_cast<std::uint8_t>(role);
  }
  std::uint32_t bits_ = 0;
};

}  // namespace galen::security

#endif  // COMMON_SECURITY_ROLE_H_
