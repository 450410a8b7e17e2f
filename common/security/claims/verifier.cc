#include "common/security/claims/verifier.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/security/certificates/openssl.h"
#include "common/security/certificates/signature.h"
#include "common/security/claims/claim.h"
#include "common/security/identity.h"
#include "common/security/policy.h"
#include "galen/security/v1/claim.pb.h"

namespace galen::security {
namespace {

// Claims that are remembered: tenants in five minutes, times those who sign for them.
constexpr std::size_t kMaxRemembered = 10'000;

absl::Status Refused(absl::string_view why) {
  return absl::PermissionDeniedError(absl::StrCat("claim of a tenant: ", why));
}

}  // namespace

struct ClaimVerifier::Trust {
  StorePtr roots;
  std::string domain;
};

ClaimVerifier::ClaimVerifier(const Clock& clock, Role audience)
    : clock_(clock), audience_(audience) {}
ClaimVerifier::~ClaimVerifier() = default;

absl::Status ClaimVerifier::Use(const Credentials& credentials) {
  auto trust = std::make_shared<Trust>();
  GALEN_ASSIGN_OR_RETURN(const std::vector<X509Ptr> roots,
                         ParseCertificates(credentials.authority));
  GALEN_ASSIGN_OR_RETURN(trust->roots, StoreOf(roots));
  trust->domain = credentials.domain;
  MutexLock lock(mu_);
  trust_ = std::move(trust);
  believed_.clear();
  return absl::OkStatus();
}

absl::StatusOr<ClaimVerifier::Accepted> ClaimVerifier::Accept(absl::string_view claim,
                                                              const ClaimBearer& bearer) {
  if (claim.size() > kMaxClaimBytes) return Refused("it is larger than 6 KiB");
  const absl::Time now = clock_.Now();
  std::shared_ptr<const Trust> trust;
  {
    MutexLock lock(mu_);
    const auto found = believed_.find(claim);
    if (found != believed_.end() && now < found->second.expires &&
        found->second.issuer == bearer.uri) {
      return found->second.content;
    }
    trust = trust_;
  }
  if (trust == nullptr) return Refused("nobody is trusted yet");
  GALEN_ASSIGN_OR_RETURN(Believed believed, Check(*trust, claim, bearer, now));
  Accepted content = believed.content;
  MutexLock lock(mu_);
  if (trust == trust_) {
    if (believed_.size() >= kMaxRemembered) {
      absl::erase_if(believed_, [now](const auto& entry) { return entry.second.expires <= now; });
      if (believed_.size() >= kMaxRemembered) believed_.clear();
    }
    believed_.insert_or_assign(std::string(claim), std::move(believed));
  }
  return content;
}

absl::StatusOr<ClaimVerifier::Believed> ClaimVerifier::Check(const Trust& trust,
                                                             absl::string_view text,
                                                             const ClaimBearer& bearer,
                                                             absl::Time now) const {
  v1::SignedClaim given;
  v1::Claim claim;
  if (!given.ParseFromArray(text.data(), static_cast<int>(text.size())) ||
      !claim.ParseFromString(given.claim())) {
    return Refused("it is malformed");
  }
  if (claim.audience() != NameOf(audience_)) {
    return Refused(absl::StrCat("it is not for ", NameOf(audience_)));
  }
  const absl::Time issued = absl::FromUnixSeconds(claim.issued_s());
  const absl::Time expires = absl::FromUnixSeconds(claim.expires_s());
  if (now < issued - kClockSkew || now >= expires + kClockSkew) {
    return Refused(absl::StrCat("it was good from ", absl::FormatTime(issued, absl::UTCTimeZone()),
                                " to ", absl::FormatTime(expires, absl::UTCTimeZone())));
  }
  if (expires - issued > kClaimLife) return Refused("it would be good for too long");
  if (claim.issuer() != bearer.uri) return Refused("who brings it has not signed it");
  std::vector<X509Ptr> chain;
  if (given.certificates().empty()) {
    auto shown = ParseCertificates(bearer.certificates());
    if (!shown.ok()) return Refused("the connection shows no certificate");
    chain = *std::move(shown);
  }
  if (!given.certificates().empty()) {
    auto carried = FromDer(given.certificates());
    if (!carried.ok()) return Refused(carried.status().message());
    chain = *std::move(carried);
  }
  X509* const own = chain.front().get();
  if (const absl::Status sound = VerifyChain(trust.roots.get(), own, chain, now); !sound.ok()) {
    return Refused(absl::StrCat("the certificate of who signed it: ", sound.message()));
  }
  const auto uri = UriOf(own);
  const std::optional<Identity> issuer = uri.ok() ? ParseIdentity(*uri) : std::optional<Identity>();
  if (!issuer.has_value() || *uri != claim.issuer() || issuer->domain != trust.domain) {
    return Refused("its issuer is not who signed it");
  }
  if (!ClaimIssuers(audience_).Has(issuer->role)) {
    return Refused(absl::StrCat("a program of role ", NameOf(issuer->role),
                                " may not speak for a tenant here"));
  }
  EVP_PKEY* const key = X509_get0_pubkey(own);
  if (key == nullptr || !SignatureHolds(key, kClaimContext, given.claim(), given.signature())) {
    return Refused("its signature does not hold");
  }
  // By the signer's certificate too: a claim does not outlive it.
  return Believed{{claim.tenant(), claim.asker()},
                  claim.issuer(),
                  std::min(expires + kClockSkew, NotAfter(own))};
}

}  // namespace galen::security
