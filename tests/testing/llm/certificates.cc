#include "tests/testing/llm/certificates.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>

namespace galen::testing {
namespace {

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "certificates: %s failed\n", what);
  std::abort();
}

struct Free {
  void operator()(X509* x) const { X509_free(x); }
  void operator()(EVP_PKEY* k) const { EVP_PKEY_free(k); }
  void operator()(BIO* b) const { BIO_free(b); }
};
using X509Ptr = std::unique_ptr<X509, Free>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Free>;
using BioPtr = std::unique_ptr<BIO, Free>;

std::string Text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(size));
}

Certificate ToPem(X509* certificate, EVP_PKEY* key) {
  const BioPtr first(BIO_new(BIO_s_mem()));
  Require(PEM_write_bio_X509(first.get(), certificate) == 1, "PEM_write_bio_X509");
  const BioPtr second(BIO_new(BIO_s_mem()));
  Require(PEM_write_bio_PrivateKey(second.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
          "PEM_write_bio_PrivateKey");
  return {Text(first.get()), Text(second.get())};
}

void Extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  Require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1, "extension");
  X509_EXTENSION_free(extension);
}

X509Ptr Begin(const std::string& name, long serial, absl::Duration valid_for, EVP_PKEY* key) {
  X509Ptr certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -86400);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()),
                  static_cast<long>(absl::ToInt64Seconds(valid_for)));
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

}  // namespace

struct Authority::Parts {
  KeyPtr key;
  X509Ptr certificate;
};

Authority::Authority(const std::string& name) : parts_(std::make_unique<Parts>()) {
  parts_->key.reset(EVP_EC_gen("P-256"));
  Require(parts_->key != nullptr, "EVP_EC_gen");
  parts_->certificate = Begin(name, 1, absl::Hours(24), parts_->key.get());
  X509* const certificate = parts_->certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  Extend(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  Extend(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
  Require(X509_sign(certificate, parts_->key.get(), EVP_sha256()) > 0, "X509_sign");
  own_ = ToPem(certificate, parts_->key.get());
}

Authority::~Authority() = default;

Certificate Authority::Issue(const std::string& host, absl::Duration valid_for) const {
  const KeyPtr key(EVP_EC_gen("P-256"));
  Require(key != nullptr, "EVP_EC_gen");
  const X509Ptr certificate = Begin(host, 2, valid_for, key.get());
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(parts_->certificate.get()));
  in_addr address{};
  const bool is_address = inet_pton(AF_INET, host.c_str(), &address) == 1;
  Extend(certificate.get(), parts_->certificate.get(), NID_subject_alt_name,
         (is_address ? "IP:" : "DNS:") + host);
  Require(X509_sign(certificate.get(), parts_->key.get(), EVP_sha256()) > 0, "X509_sign");
  return ToPem(certificate.get(), key.get());
}

}  // namespace galen::testing
