#include "common/security/warrants/verifier.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/security/certificates/openssl.h"
#include "common/security/certificates/signature.h"
#include "common/security/identity.h"
#include "common/security/role.h"
#include "galen/security/v1/warrant.pb.h"

namespace galen::security {
namespace {

constexpr absl::Duration kSkew = absl::Minutes(1);
constexpr std::size_t kLeastNonce = 16;

absl::Status Refused(absl::string_view why) {
  return absl::PermissionDeniedError(absl::StrCat("warrant of an approval: ", why));
}

}  // namespace

struct WarrantVerifier::Trust {
  StorePtr roots;
  std::string domain;
};

WarrantVerifier::WarrantVerifier(const Clock& clock) : clock_(clock) {}
WarrantVerifier::~WarrantVerifier() = default;

absl::Status WarrantVerifier::Use(const Credentials& credentials) {
  auto trust = std::make_shared<Trust>();
  GALEN_ASSIGN_OR_RETURN(const std::vector<X509Ptr> roots,
                         ParseCertificates(credentials.authority));
  GALEN_ASSIGN_OR_RETURN(trust->roots, StoreOf(roots));
  trust->domain = credentials.domain;
  MutexLock lock(mu_);
  trust_ = std::move(trust);
  return absl::OkStatus();
}

absl::StatusOr<Warrant> WarrantVerifier::Read(absl::string_view text) const {
  std::shared_ptr<const Trust> trust;
  {
    MutexLock lock(mu_);
    trust = trust_;
  }
  if (trust == nullptr) return Refused("nobody is trusted yet");
  if (text.empty()) return Refused("there is none");
  if (text.size() > kMostWarrantBytes) return Refused("it is too large");
  v1::SignedWarrant given;
  v1::Warrant warrant;
  if (!given.ParseFromArray(text.data(), static_cast<int>(text.size())) ||
      !warrant.ParseFromString(given.warrant())) {
    return Refused("it is malformed");
  }
  if (warrant.action().empty() || warrant.content_hash().empty() || warrant.node().empty() ||
      warrant.approver().empty() || warrant.nonce().size() < kLeastNonce) {
    return Refused("it does not say what was approved, where, or by whom");
  }
  const absl::Time now = clock_.Now();
  const absl::Time issued = absl::FromUnixSeconds(warrant.issued_s());
  const absl::Time expires = absl::FromUnixSeconds(warrant.expires_s());
  if (now < issued - kSkew || now >= expires) {
    return Refused(absl::StrCat("it was good from ", absl::FormatTime(issued, absl::UTCTimeZone()),
                                " to ", absl::FormatTime(expires, absl::UTCTimeZone())));
  }
  if (expires - issued > kMostWarrantLife) return Refused("it would be good for too long");
  auto chain = FromDer(given.certificates());
  if (!chain.ok()) return Refused(chain.status().message());
  if (chain->empty()) return Refused("no certificate came with it");
  X509* const own = chain->front().get();
  if (const absl::Status sound = VerifyChain(trust->roots.get(), own, *chain, now); !sound.ok()) {
    return Refused(absl::StrCat("the certificate of who signed it: ", sound.message()));
  }
  const auto uri = UriOf(own);
  const std::optional<Identity> issuer = uri.ok() ? ParseIdentity(*uri) : std::optional<Identity>();
  if (!issuer.has_value() || *uri != warrant.issuer() || issuer->domain != trust->domain) {
    return Refused("its issuer is not who signed it");
  }
  if (issuer->role != Role::kGateway) {
    return Refused(absl::StrCat("a program of role ", NameOf(issuer->role),
                                " cannot attest a person's approval"));
  }
  EVP_PKEY* const key = X509_get0_pubkey(own);
  if (key == nullptr || !SignatureHolds(key, kWarrantContext, given.warrant(), given.signature())) {
    return Refused("its signature does not hold");
  }
  return Warrant{warrant.action(), warrant.content_hash(),
                 warrant.node(),   warrant.approver(),
                 expires,          absl::BytesToHexString(warrant.nonce())};
}

}  // namespace galen::security
