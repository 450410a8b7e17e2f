#include "common/security/certificates/signature.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace galen::security {
namespace {

constexpr int kMaxChain = 8;

using DigestPtr = std::unique_ptr<EVP_MD_CTX, OpensslFree>;

// These two have a digest of their own and take none.
const EVP_MD* DigestFor(EVP_PKEY* key) {
  const bool own = EVP_PKEY_is_a(key, "ED25519") == 1 || EVP_PKEY_is_a(key, "ED448") == 1;
  return own ? nullptr : EVP_sha256();
}

std::string Joined(absl::string_view context, absl::string_view text) {
  return absl::StrCat(context, absl::string_view("\0", 1), text);
}

const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

absl::StatusOr<std::string> Sign(EVP_PKEY* key, absl::string_view context, absl::string_view text) {
  const std::string whole = Joined(context, text);
  const DigestPtr digest(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (digest == nullptr ||
      EVP_DigestSignInit(digest.get(), nullptr, DigestFor(key), nullptr, key) != 1 ||
      EVP_DigestSign(digest.get(), nullptr, &size, Bytes(whole), whole.size()) != 1) {
    return absl::InternalError(absl::StrCat(context, ": cannot be signed: ", OpensslError()));
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(digest.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     Bytes(whole), whole.size()) != 1) {
    return absl::InternalError(absl::StrCat(context, ": cannot be signed: ", OpensslError()));
  }
  signature.resize(size);
  return signature;
}

bool SignatureHolds(EVP_PKEY* key, absl::string_view context, absl::string_view text,
                    absl::string_view signature) {
  const std::string whole = Joined(context, text);
  const DigestPtr digest(EVP_MD_CTX_new());
  const bool holds =
      digest != nullptr &&
      EVP_DigestVerifyInit(digest.get(), nullptr, DigestFor(key), nullptr, key) == 1 &&
      EVP_DigestVerify(digest.get(), Bytes(signature), signature.size(), Bytes(whole),
                       whole.size()) == 1;
  if (!holds) static_cast<void>(OpensslError());
  return holds;
}

absl::StatusOr<std::vector<std::string>> ToDer(const std::vector<X509Ptr>& chain) {
  std::vector<std::string> links;
  for (const X509Ptr& link : chain) {
    unsigned char* der = nullptr;
    const int size = i2d_X509(link.get(), &der);
    if (size <= 0) return absl::InternalError(OpensslError());
    links.emplace_back(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
    OPENSSL_free(der);
  }
  return links;
}

absl::StatusOr<std::vector<X509Ptr>> FromDer(
    const google::protobuf::RepeatedPtrField<std::string>& chain) {
  if (chain.size() > kMaxChain) {
    return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxChain, " certificates"));
  }
  std::vector<X509Ptr> links;
  for (const std::string& der : chain) {
    const unsigned char* data = Bytes(der);
    const unsigned char* const end = data + der.size();
    X509Ptr link(d2i_X509(nullptr, &data, static_cast<long>(der.size())));
    if (link == nullptr || data != end) {
      static_cast<void>(OpensslError());
      return absl::InvalidArgumentError("a certificate in it is malformed");
    }
    links.push_back(std::move(link));
  }
  return links;
}

}  // namespace galen::security
