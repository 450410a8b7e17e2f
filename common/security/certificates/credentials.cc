#include "common/security/certificates/credentials.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/security/certificates/openssl.h"
#include "common/security/identity.h"

namespace galen::security {
namespace {

absl::Status In(const std::string& path, const absl::Status& status) {
  return {status.code(), absl::StrCat(path, ": ", status.message())};
}

}  // namespace

absl::StatusOr<Credentials> LoadCredentials(const CredentialFiles& files, Role role,
                                            absl::Time now) {
  Credentials credentials;
  GALEN_ASSIGN_OR_RETURN(credentials.certificate, ReadSmallFile(files.certificate));
  GALEN_ASSIGN_OR_RETURN(credentials.key, ReadSmallFile(files.key));
  GALEN_ASSIGN_OR_RETURN(credentials.authority, ReadSmallFile(files.authority));
  const auto chain = ParseCertificates(credentials.certificate);
  if (!chain.ok()) return In(files.certificate, chain.status());
  const auto key = ParseKey(credentials.key);
  if (!key.ok()) return In(files.key, key.status());
  const auto roots = ParseCertificates(credentials.authority);
  if (!roots.ok()) return In(files.authority, roots.status());
  X509* const own = chain->front().get();
  if (X509_check_private_key(own, key->get()) != 1) {
    static_cast<void>(OpensslError());
    return absl::InvalidArgumentError(
        absl::StrCat(files.key, ": is not the key of ", files.certificate));
  }
  GALEN_ASSIGN_OR_RETURN(const StorePtr store, StoreOf(*roots));
  if (const absl::Status sound = VerifyChain(store.get(), own, *chain, now); !sound.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(files.certificate, ": is not good by ",
                                                   files.authority, ": ", sound.message(),
                                                   "; `galen certs show` tells more"));
  }
  auto uri = UriOf(own);
  if (!uri.ok()) return In(files.certificate, uri.status());
  const std::optional<Identity> identity = ParseIdentity(*uri);
  if (!identity.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(files.certificate, ": is for \"", *uri,
                                                   "\", which is not spiffe://DOMAIN/galen/ROLE"));
  }
  if (identity->role != role) {
    return absl::InvalidArgumentError(absl::StrCat(files.certificate, ": is of role ",
                                                   NameOf(identity->role), "; this program is ",
                                                   NameOf(role)));
  }
  credentials.domain = std::string(identity->domain);
  credentials.role = role;
  credentials.uri = *std::move(uri);
  credentials.not_after = NotAfter(own);
  return credentials;
}

absl::Time ExpiryOf(absl::string_view pem) {
  const auto certificates = ParseCertificates(pem);
  return certificates.ok() ? NotAfter(certificates->front().get()) : absl::InfinitePast();
}

}  // namespace galen::security
