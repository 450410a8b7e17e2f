#include "common/security/certificates/openssl.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <time.h>

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"

namespace galen::security {
namespace {

constexpr std::size_t kMaxCertificates = 64;

BioPtr BioOf(absl::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// A key that asks for a passphrase would otherwise ask at the terminal.
int NoPassphrase(char*, int, int, void*) { return 0; }

absl::Time TimeOf(const ASN1_TIME* time) {
  tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTimeT(timegm(&parts));
}

}  // namespace

std::string OpensslError() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "no reason given";
  char text[256];
  ERR_error_string_n(code, text, sizeof(text));
  return text;
}

absl::StatusOr<std::vector<X509Ptr>> ParseCertificates(absl::string_view pem) {
  const BioPtr bio = BioOf(pem);
  if (bio == nullptr) return absl::ResourceExhaustedError(OpensslError());
  std::vector<X509Ptr> certificates;
  ERR_clear_error();
  for (;;) {
    X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr));
    if (certificate == nullptr) break;
    certificates.push_back(std::move(certificate));
    if (certificates.size() > kMaxCertificates) {
      return absl::InvalidArgumentError("holds more than 64 certificates");
    }
  }
  const unsigned long end = ERR_peek_last_error();
  if (ERR_GET_LIB(end) != ERR_LIB_PEM || ERR_GET_REASON(end) != PEM_R_NO_START_LINE) {
    return absl::InvalidArgumentError(
        absl::StrCat("holds a certificate that cannot be read: ", OpensslError()));
  }
  ERR_clear_error();
  if (certificates.empty()) return absl::InvalidArgumentError("holds no certificate in PEM");
  return certificates;
}

absl::StatusOr<KeyPtr> ParseKey(absl::string_view pem) {
  const BioPtr bio = BioOf(pem);
  if (bio == nullptr) return absl::ResourceExhaustedError(OpensslError());
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("holds no private key in PEM without a passphrase: ", OpensslError()));
  }
  return key;
}

absl::StatusOr<StorePtr> StoreOf(const std::vector<X509Ptr>& roots) {
  StorePtr store(X509_STORE_new());
  if (store == nullptr) return absl::ResourceExhaustedError(OpensslError());
  for (const X509Ptr& root : roots) {
    if (X509_STORE_add_cert(store.get(), root.get()) != 1) {
      return absl::InternalError(OpensslError());
    }
  }
  return store;
}

absl::Status VerifyChain(X509_STORE* roots, X509* leaf, const std::vector<X509Ptr>& chain,
                         absl::Time now) {
  const std::unique_ptr<X509_STORE_CTX, OpensslFree> context(X509_STORE_CTX_new());
  STACK_OF(X509)* untrusted = sk_X509_new_null();
  bool ready = context != nullptr && untrusted != nullptr;
  for (const X509Ptr& link : chain) {
    ready = ready && sk_X509_push(untrusted, link.get()) > 0;
  }
  ready = ready && X509_STORE_CTX_init(context.get(), roots, leaf, untrusted) == 1;
  absl::Status status;
  if (!ready) {
    status = absl::InternalError(OpensslError());
  } else {
    X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(context.get()), absl::ToTimeT(now));
    if (X509_verify_cert(context.get()) != 1) {
      status = absl::PermissionDeniedError(
          X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get())));
      ERR_clear_error();
    }
  }
  sk_X509_free(untrusted);
  return status;
}

absl::StatusOr<std::string> UriOf(X509* certificate) {
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  std::string uri;
  int found = 0;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_URI) continue;
    ++found;
    const ASN1_IA5STRING* text = name->d.uniformResourceIdentifier;
    uri.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
               static_cast<std::size_t>(ASN1_STRING_length(text)));
  }
  GENERAL_NAMES_free(names);
  if (found != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has ", found, " URIs among its subject alternative names, instead of one identity"));
  }
  return uri;
}

absl::Time NotBefore(const X509* certificate) { return TimeOf(X509_get0_notBefore(certificate)); }
absl::Time NotAfter(const X509* certificate) { return TimeOf(X509_get0_notAfter(certificate)); }

}  // namespace galen::security
