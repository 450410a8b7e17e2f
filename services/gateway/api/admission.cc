#include "services/gateway/api/admission.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/retry_hint.h"
#include "common/base/text.h"
#include "common/security/identity.h"
#include "services/gateway/api/errors.h"

namespace galen::gateway {
namespace {

std::int64_t WholeSeconds(absl::Duration duration) {
  return static_cast<std::int64_t>(std::ceil(std::max(0.0, absl::ToDoubleSeconds(duration))));
}

// The names of draft-ietf-httpapi-ratelimit-headers-10, and those that most clients know.
void AddRateHeaders(const Allowance& allowance, http::Headers& headers) {
  const std::int64_t reset = WholeSeconds(allowance.full_in);
  const absl::string_view policy = allowance.is_quota ? "\"day\"" : "\"tenant\"";
  headers.Set("RateLimit-Policy", absl::StrCat(policy, ";q=", allowance.limit));
  headers.Set("RateLimit", absl::StrCat(policy, ";r=", allowance.left, ";t=", reset));
  headers.Set("X-RateLimit-Limit", absl::StrCat(allowance.limit));
  headers.Set("X-RateLimit-Remaining", absl::StrCat(allowance.left));
  headers.Set("X-RateLimit-Reset", absl::StrCat(reset));
}

absl::Status TooMuch(const Allowance& allowance) {
  const absl::string_view what =
      allowance.is_quota ? "this tenant's diagnoses of a day are used up; the next can start in "
                         : "too many requests of this tenant; try again in ";
  return WithRetryAfter(WithReason(absl::ResourceExhaustedError(
                                       absl::StrCat(what, WholeSeconds(allowance.wait), "s")),
                                   allowance.is_quota ? "QUOTA_EXCEEDED" : "RATE_LIMITED"),
                        allowance.wait);
}

}  // namespace

void Admit(Access& access, RateLimiter& rates, const http::Request& request,
           const Admission& wanted, http::Headers& headers,
           absl::AnyInvocable<void(absl::StatusOr<Principal>) &&> done) {
  absl::StatusOr<Principal> principal = access.Authenticate(request);
  if (!principal.ok()) return std::move(done)(principal.status());
  if (!principal->Has(wanted.scope)) {
    return std::move(done)(WithReason(absl::PermissionDeniedError(absl::StrCat(
                                          "this key does not have the scope ", wanted.scope)),
                                      "MISSING_SCOPE"));
  }
  const std::string tenant(security::TenantOf(wanted.resource));
  if (!principal->MaySee(tenant)) {
    // The same answer whether it exists or not: nothing is disclosed about other tenants.
    return std::move(done)(absl::NotFoundError(
        absl::StrCat(CleanText(wanted.resource, 200), ": there is nothing of that name")));
  }
  rates.Take(tenant, wanted.starts,
             [principal = *std::move(principal), &headers,
              done = std::move(done)](absl::StatusOr<Allowance> allowance) mutable {
               if (!allowance.ok()) return std::move(done)(allowance.status());
               AddRateHeaders(*allowance, headers);
               if (allowance->wait > absl::ZeroDuration()) {
                 return std::move(done)(TooMuch(*allowance));
               }
               std::move(done)(std::move(principal));
             });
}

}  // namespace galen::gateway
