#include "common/security/warrants/signer.h"

#include <openssl/rand.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/security/certificates/openssl.h"
#include "common/security/certificates/signature.h"
#include "galen/security/v1/warrant.pb.h"

namespace galen::security {

struct WarrantSigner::Key {
  KeyPtr key;
  std::vector<std::string> chain;  // DER
  std::string uri;
  absl::Time not_after;
};

WarrantSigner::WarrantSigner(const Clock& clock) : clock_(clock) {}
WarrantSigner::~WarrantSigner() = default;

absl::Status WarrantSigner::Use(const Credentials& credentials) {
  auto key = std::make_shared<Key>();
  GALEN_ASSIGN_OR_RETURN(key->key, ParseKey(credentials.key));
  GALEN_ASSIGN_OR_RETURN(const std::vector<X509Ptr> chain,
                         ParseCertificates(credentials.certificate));
  GALEN_ASSIGN_OR_RETURN(key->chain, ToDer(chain));
  key->uri = credentials.uri;
  key->not_after = credentials.not_after;
  MutexLock lock(mu_);
  key_ = std::move(key);
  return absl::OkStatus();
}

absl::StatusOr<std::string> WarrantSigner::Sign(const Warrant& warrant) const {
  std::shared_ptr<const Key> key;
  {
    MutexLock lock(mu_);
    key = key_;
  }
  if (key == nullptr) return absl::FailedPreconditionError("warrant: there is no certificate");
  const absl::Time now = clock_.Now();
  if (warrant.action.empty() || warrant.content_hash.empty() || warrant.node.empty() ||
      warrant.approver.empty()) {
    return absl::InvalidArgumentError(
        "warrant: needs an action, its content's hash, a node and an approver");
  }
  if (warrant.expires <= now || warrant.expires - now > kMostWarrantLife) {
    return absl::InvalidArgumentError(absl::StrCat(
        "warrant: is good for up to ", absl::FormatDuration(kMostWarrantLife), " from now on"));
  }
  v1::Warrant made;
  made.set_action(warrant.action);
  made.set_content_hash(warrant.content_hash);
  made.set_node(warrant.node);
  made.set_approver(warrant.approver);
  made.set_issuer(key->uri);
  made.set_issued_s(absl::ToUnixSeconds(now));
  made.set_expires_s(absl::ToUnixSeconds(std::min(warrant.expires, key->not_after)));
  std::string nonce(16, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), static_cast<int>(nonce.size())) !=
      1) {
    return absl::InternalError(absl::StrCat("warrant: no random numbers: ", OpensslError()));
  }
  made.set_nonce(nonce);
  v1::SignedWarrant signed_warrant;
  signed_warrant.set_warrant(made.SerializeAsString());
  GALEN_ASSIGN_OR_RETURN(*signed_warrant.mutable_signature(),
                         security::Sign(key->key.get(), kWarrantContext, signed_warrant.warrant()));
  for (const std::string& link : key->chain) signed_warrant.add_certificates(link);
  return signed_warrant.SerializeAsString();
}

}  // namespace galen::security
