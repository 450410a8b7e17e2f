#include "common/security/claims/signer.h"

#include <openssl/rand.h>

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/security/certificates/openssl.h"
#include "common/security/claims/claim.h"
#include "galen/security/v1/claim.pb.h"

namespace galen::security {
namespace {

// Tenants whose claims are kept.
constexpr std::size_t kMaxKept = 10'000;

absl::StatusOr<std::string> Signature(EVP_PKEY* key, const std::string& claim) {
  std::string text(kClaimContext, sizeof(kClaimContext));
  text += claim;
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  const std::unique_ptr<EVP_MD_CTX, OpensslFree> context(EVP_MD_CTX_new());
  // These two hash by themselves and are told no digest.
  const bool own_digest = EVP_PKEY_is_a(key, "ED25519") == 1 || EVP_PKEY_is_a(key, "ED448") == 1;
  std::size_t size = 0;
  if (context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, own_digest ? nullptr : EVP_sha256(), nullptr,
                         key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, data, text.size()) != 1) {
    return absl::InternalError(absl::StrCat("claim: cannot be signed: ", OpensslError()));
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, data,
                     text.size()) != 1) {
    return absl::InternalError(absl::StrCat("claim: cannot be signed: ", OpensslError()));
  }
  signature.resize(size);
  return signature;
}

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
  for (const X509Ptr& link : chain) {
    unsigned char* der = nullptr;
    const int size = i2d_X509(link.get(), &der);
    if (size <= 0) return absl::InternalError(OpensslError());
    key->chain.emplace_back(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
    OPENSSL_free(der);
  }
  key->uri = credentials.uri;
  key->not_after = credentials.not_after;
  MutexLock lock(mu_);
  if (key_ != nullptr) attach_until_ = clock_.Now() + kOldConnections;
  key_ = std::move(key);
  made_.clear();
  return absl::OkStatus();
}

absl::StatusOr<std::string> ClaimSigner::For(absl::string_view tenant, Role audience) {
  const absl::Time now = clock_.Now();
  std::pair<std::string, Role> wanted(std::string(tenant), audience);
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
  GALEN_ASSIGN_OR_RETURN(std::string claim, Make(*key, wanted.first, audience, now, attach));
  MutexLock lock(mu_);
  if (key != key_) return claim;
  if (made_.size() >= kMaxKept) made_.clear();
  made_[std::move(wanted)] = {claim, now + kClaimLife / 2};
  return claim;
}

absl::StatusOr<std::string> ClaimSigner::Make(const Key& key, const std::string& tenant,
                                              Role audience, absl::Time now, bool attach) const {
  v1::Claim claim;
  claim.set_tenant(tenant);
  claim.set_audience(std::string(NameOf(audience)));
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
  GALEN_ASSIGN_OR_RETURN(*made.mutable_signature(), Signature(key.key.get(), made.claim()));
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
