#include "common/security/certificates/authority.h"

#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/security/certificates/openssl.h"
#include "common/security/identity.h"

namespace galen::security {
namespace {

absl::Status Failed(const char* what) {
  return absl::InternalError(absl::StrCat(what, ": ", OpensslError()));
}

absl::Status Extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  const bool added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added ? absl::OkStatus() : Failed("certificate extension");
}

absl::StatusOr<X509Ptr> Begin(const std::string& name, const Validity& validity, EVP_PKEY* key) {
  X509Ptr certificate(X509_new());
  if (certificate == nullptr) return Failed("certificate");
  // RFC 5280 section 4.1.2.2: positive, and unique of an authority.
  std::uint64_t serial = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial)) != 1) {
    return Failed("random numbers");
  }
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  const bool made =
      X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
      ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), (serial >> 1) | 1) == 1 &&
      ASN1_TIME_set(X509_getm_notBefore(certificate.get()), absl::ToTimeT(validity.from)) !=
          nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(certificate.get()), absl::ToTimeT(validity.until)) !=
          nullptr &&
      X509_set_pubkey(certificate.get(), key) == 1 &&
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                 0) == 1;
  if (!made) return Failed("certificate");
  return certificate;
}

absl::StatusOr<Issued> Sign(X509* certificate, EVP_PKEY* key, EVP_PKEY* signing) {
  if (X509_sign(certificate, signing, EVP_sha256()) <= 0) return Failed("signature");
  const auto text = [](BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return std::string(data, static_cast<std::size_t>(size));
  };
  const BioPtr first(BIO_new(BIO_s_mem()));
  const BioPtr second(BIO_new(BIO_s_mem()));
  if (first == nullptr || second == nullptr || PEM_write_bio_X509(first.get(), certificate) != 1 ||
      PEM_write_bio_PrivateKey(second.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return Failed("PEM");
  }
  return Issued{text(first.get()), text(second.get())};
}

}  // namespace

absl::StatusOr<Issued> MakeAuthority(const std::string& name, const Validity& validity) {
  const KeyPtr key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Failed("key");
  GALEN_ASSIGN_OR_RETURN(const X509Ptr certificate, Begin(name, validity, key.get()));
  X509* const own = certificate.get();
  X509_set_issuer_name(own, X509_get_subject_name(own));
  GALEN_RETURN_IF_ERROR(Extend(own, own, NID_basic_constraints, "critical,CA:TRUE"));
  GALEN_RETURN_IF_ERROR(Extend(own, own, NID_key_usage, "critical,keyCertSign,cRLSign"));
  GALEN_RETURN_IF_ERROR(Extend(own, own, NID_subject_key_identifier, "hash"));
  return Sign(own, key.get(), key.get());
}

absl::StatusOr<Issued> Issue(const Issued& authority, const std::string& uri,
                             const Validity& validity) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<X509Ptr> issuers,
                         ParseCertificates(authority.certificate));
  GALEN_ASSIGN_OR_RETURN(const KeyPtr signing, ParseKey(authority.key));
  X509* const issuer = issuers.front().get();
  if (X509_check_private_key(issuer, signing.get()) != 1) {
    return absl::InvalidArgumentError("the authority's key is not that of its certificate");
  }
  const KeyPtr key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Failed("key");
  // A common name holds at most 64 bytes; nothing reads it.
  GALEN_ASSIGN_OR_RETURN(const X509Ptr certificate, Begin("Galen", validity, key.get()));
  X509* const own = certificate.get();
  X509_set_issuer_name(own, X509_get_subject_name(issuer));
  GALEN_RETURN_IF_ERROR(Extend(own, issuer, NID_basic_constraints, "critical,CA:FALSE"));
  GALEN_RETURN_IF_ERROR(Extend(own, issuer, NID_key_usage, "critical,digitalSignature"));
  GALEN_RETURN_IF_ERROR(Extend(own, issuer, NID_ext_key_usage, "serverAuth,clientAuth"));
  GALEN_RETURN_IF_ERROR(Extend(own, issuer, NID_authority_key_identifier, "keyid"));
  std::string names = "URI:" + uri;
  if (const std::optional<Identity> identity = ParseIdentity(uri)) {
    absl::StrAppend(&names, ",DNS:", ServerName(identity->domain, identity->role));
  }
  GALEN_RETURN_IF_ERROR(Extend(own, issuer, NID_subject_alt_name, names));
  return Sign(own, key.get(), signing.get());
}

}  // namespace galen::security
