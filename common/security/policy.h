#ifndef COMMON_SECURITY_POLICY_H_
#define COMMON_SECURITY_POLICY_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/security/role.h"

// The callers of each method. The policy is a table of one line a method, compiled in
// (policy_table.cc) instead of a file beside the program: the methods of a service change with its
// code and not with a site, a role or a field that does not exist does not compile, nothing can be
// missing or replaced while the program runs, and a knowledge directory, which a site overlays,
// cannot extend anyone's permissions. Nobody may call a method without a line;
// tests/unit/common/security/policy_test.cc compares the table with the protos.
namespace galen::security {

struct MethodRule {
  absl::string_view method;  // "/galen.v1.DiagnosisService/GetDiagnosis"
  Roles callers;
  // The field of the request with the name of a tenant's resource, "tenants/t/...": the call must
  // carry a claim of that tenant. "": the method does not act for tenants, and a call with a claim
  // is refused.
  absl::string_view tenant_field = "";
};

// Every method, in no order.
absl::Span<const MethodRule> PolicyTable();

// The line of a method; nullptr when there is none. Allocates nothing. Thread-safe.
const MethodRule* FindRule(absl::string_view method);

// The decision alone. False for a method without a line.
bool Allowed(Role caller, absl::string_view method);

// The roles whose signature on a tenant's claim `audience` accepts; none if it takes no claims.
Roles ClaimIssuers(Role audience);

}  // namespace galen::security

#endif  // COMMON_SECURITY_POLICY_H_
