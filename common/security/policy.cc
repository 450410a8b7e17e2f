#include "common/security/policy.h"

#include "absl/container/flat_hash_map.h"

namespace galen::security {

const MethodRule* FindRule(absl::string_view method) {
  static const auto* const rules = [] {
    auto* made = new absl::flat_hash_map<absl::string_view, const MethodRule*>();
    for (const MethodRule& rule : PolicyTable()) made->emplace(rule.method, &rule);
    return made;
  }();
  const auto found = rules->find(method);
  return found == rules->end() ? nullptr : found->second;
}

bool Allowed(Role caller, absl::string_view method) {
  const MethodRule* rule = FindRule(method);
  return rule != nullptr && rule->callers.Has(caller);
}

}  // namespace galen::security
