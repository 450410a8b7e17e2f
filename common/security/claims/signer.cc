#include "common/security/claims/signer.h"

#include <openssl/rand.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/security/certificates/openssl.h"
#include "common/security/certificates/signature.h"
#include "common/security/claims/claim.h"
#include "galen/security/v1/claim.pb.h"

namespace galen::security {
namespace {

// Claims that are kept: one for each tenant and key.
constexpr std::size_t kMaxKept = 10'000;

}  // namespace

struct ClaimSigner::Key {
  KeyPtr key;
  std::vector<std::string> chain;  // DER
  std::string uri;
  absl::Time not_after;
};

ClaimSigner::ClaimSigner(const Clock& clock) : clock_(clock) {}
ClaimSigner::~ClaimSigner() = default;

absl::Status ClaimSigner::Use(const Credentials& credentials) {
  auto key = std::make_shared<Key>();
  GALEN_ASSIGN_OR_RETURN(key->key, ParseKey(credentials.key));
  GALEN_ASSIGN_OR_RETURN(const std::vector<X509Ptr> chain,
                         ParseCertificates(credentials.certificate));
  GALEN_ASSIGN_OR_RETURN(key->chain, ToDer(chain));
  key->uri = credentials.uri;
  key->not_after = credentials.not_after;
  MutexLock lock(mu_);
  if (key_ != nullptr) attach_until_ = clock_.Now() + kOldConnections;
  key_ = std::move(key);
  made_.clear();
  return absl::OkStatus();
}

absl::StatusOr<std::string> ClaimSigner::For(absl::string_view tenant, Role audience,
                                             absl::string_view asker) {
  const absl::Time now = clock_.Now();
  Wanted wanted{std::string(tenant), audience, std::string(asker)};
  std::shared_ptr<const Key> key;
  bool attach = false;
  {
    MutexLock lock(mu_);
    const auto found = made_.find(wanted);
    // A clock that was set back must not keep a claim that is yet to become good.
    if (found != made_.end() && now < found->second.renew &&
        now > found->second.renew - kClaimLife) {
      return found->second.claim;
    }
    key = key_;
    attach = now < attach_until_;
  }
  if (key == nullptr) return absl::FailedPreconditionError("claim: there is no certificate");
  GALEN_ASSIGN_OR_RETURN(std::string claim, Make(*key, wanted, now, attach));
  MutexLock lock(mu_);
  if (key != key_) return claim;
  if (made_.size() >= kMaxKept) made_.clear();
  made_[std::move(wanted)] = {claim, now + kClaimLife / 2};
  return claim;
}

absl::StatusOr<std::string> ClaimSigner::Make(const Key& key, const Wanted& wanted, absl::Time now,
                                              bool attach) const {
  v1::Claim claim;
  claim.set_tenant(wanted.tenant);
  claim.set_audience(std::string(NameOf(wanted.audience)));
  claim.set_asker(wanted.asker);
  claim.set_issuer(key.uri);
  claim.set_issued_s(absl::ToUnixSeconds(now));
  claim.set_expires_s(absl::ToUnixSeconds(std::min(now + kClaimLife, key.not_after)));
  std::string nonce(16, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), static_cast<int>(nonce.size())) !=
      1) {
    return absl::InternalError(absl::StrCat("claim: no random numbers: ", OpensslError()));
  }
  claim.set_nonce(nonce);
  v1::SignedClaim made;
  made.set_claim(claim.SerializeAsString());
  GALEN_ASSIGN_OR_RETURN(*made.mutable_signature(),
                         Sign(key.key.get(), kClaimContext, made.claim()));
  if (attach) {
    for (const std::string& link : key.chain) made.add_certificates(link);
  }
  std::string text = made.SerializeAsString();
  if (text.size() > kMaxClaimBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("claim: would take ", text.size(), " bytes, more than ", kMaxClaimBytes,
                     "; use a certificate with a shorter chain or an ECDSA key"));
  }
  return text;
}

}  // namespace galen::security
