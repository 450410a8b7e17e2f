#ifndef COMMON_SECURITY_CERTIFICATES_SIGNATURE_H_
#define COMMON_SECURITY_CERTIFICATES_SIGNATURE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/security/certificates/openssl.h"
#include "google/protobuf/repeated_field.h"

// Signatures by the keys of certificates, over a context and a text: a signature made for one
// purpose is not valid for another. A context is a string literal whose final NUL is signed too.
namespace galen::security {

absl::StatusOr<std::string> Sign(EVP_PKEY* key, absl::string_view context, absl::string_view text);
bool SignatureHolds(EVP_PKEY* key, absl::string_view context, absl::string_view text,
                    absl::string_view signature);

// The form in which certificates accompany a signed text.
absl::StatusOr<std::vector<std::string>> ToDer(const std::vector<X509Ptr>& chain);
// INVALID_ARGUMENT one is malformed, or there are more than 8.
absl::StatusOr<std::vector<X509Ptr>> FromDer(
    const google::protobuf::RepeatedPtrField<std::string>& chain);

}  // namespace galen::security

#endif  // COMMON_SECURITY_CERTIFICATES_SIGNATURE_H_
