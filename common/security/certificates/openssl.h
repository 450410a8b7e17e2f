#ifndef COMMON_SECURITY_CERTIFICATES_OPENSSL_H_
#define COMMON_SECURITY_CERTIFICATES_OPENSSL_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// OpenSSL's objects with owners, and the few things that more than one file does with them.
namespace galen::security {

struct OpensslFree {
  void operator()(X509* x) const { X509_free(x); }
  void operator()(EVP_PKEY* k) const { EVP_PKEY_free(k); }
  void operator()(BIO* b) const { BIO_free(b); }
  void operator()(X509_STORE* s) const { X509_STORE_free(s); }
  void operator()(X509_STORE_CTX* c) const { X509_STORE_CTX_free(c); }
  void operator()(EVP_MD_CTX* c) const { EVP_MD_CTX_free(c); }
};
using X509Ptr = std::unique_ptr<X509, OpensslFree>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpensslFree>;
using BioPtr = std::unique_ptr<BIO, OpensslFree>;
using StorePtr = std::unique_ptr<X509_STORE, OpensslFree>;

// The text of OpenSSL's last error on this thread; clears the thread's queue of errors.
std::string OpensslError();

// The certificates of a PEM text, in its order; other PEM blocks are ignored. An error when there
// is none, more than 64, or one that cannot be read.
absl::StatusOr<std::vector<X509Ptr>> ParseCertificates(absl::string_view pem);
// The private key of a PEM text. Keys under a passphrase are refused.
absl::StatusOr<KeyPtr> ParseKey(absl::string_view pem);

// A store that trusts these certificates.
absl::StatusOr<StorePtr> StoreOf(const std::vector<X509Ptr>& roots);

// Whether `leaf` leads to the store over `chain` (untrusted, its first may be the leaf itself) and
// all of it is valid at `now`. Says what is wrong.
absl::Status VerifyChain(X509_STORE* roots, X509* leaf, const std::vector<X509Ptr>& chain,
                         absl::Time now);

// The one URI among the subject alternative names. An error when there is none or more than one,
// as SPIFFE asks (X509-SVID.md section 2).
absl::StatusOr<std::string> UriOf(X509* certificate);

absl::Time NotBefore(const X509* certificate);
absl::Time NotAfter(const X509* certificate);

}  // namespace galen::security

#endif  // COMMON_SECURITY_CERTIFICATES_OPENSSL_H_
