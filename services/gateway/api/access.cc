#include "services/gateway/api/access.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/names.h"
#include "common/base/text.h"

namespace galen::gateway {
namespace {

constexpr absl::string_view kRoles[] = {"customer", "operator", "approver", "admin"};

}  // namespace

absl::string_view NameOf(UserRole role) { return kRoles[static_cast<std::size_t>(role)]; }

std::optional<UserRole> ParseUserRole(absl::string_view name) {
  for (const UserRole role :
       {UserRole::kCustomer, UserRole::kOperator, UserRole::kApprover, UserRole::kAdmin}) {
    if (NameOf(role) == name) return role;
  }
  return std::nullopt;
}

std::string NameOf(const Principal& principal) {
  return absl::StrCat("key/", CleanText(principal.id, 128), " (", NameOf(principal.role), ")");
}

bool IsTenant(absl::string_view text) { return IsSegment(text); }

bool Principal::Has(absl::string_view scope) const {
  return std::find(scopes.begin(), scopes.end(), scope) != scopes.end();
}

bool Principal::MaySee(absl::string_view tenant_of_resource) const {
  if (tenant_of_resource.empty()) return false;
  return tenant == tenant_of_resource || (tenant == "*" && role != UserRole::kCustomer);
}

}  // namespace galen::gateway
