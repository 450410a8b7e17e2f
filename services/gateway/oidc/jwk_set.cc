#include "services/gateway/oidc/jwk_set.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <functional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/json_access.h"
#include "nlohmann/json.hpp"

namespace galen::gateway {
namespace {

using nlohmann::json;

constexpr std::size_t kMostKeySetBytes = 256 << 10;
constexpr std::size_t kMostKeys = 64;
// NIST SP 800-131A: fewer bits are broken; more would make verification slow.
constexpr int kLeastRsaBits = 2048;
constexpr int kMostRsaBits = 8192;

// Signature algorithms of identity providers, from RFC 7518 section 3.1 and RFC 8037. None is
// symmetric: a public key must never be taken for a secret.
struct Algorithm {
  absl::string_view name;
  absl::string_view kind;
  const EVP_MD* (*digest)();
  bool pss = false;
  std::size_t half = 0;  // bytes of each number of an ECDSA signature
};
constexpr Algorithm kAlgorithms[] = {
    {"RS256", "RSA", &EVP_sha256},
    {"RS384", "RSA", &EVP_sha384},
    {"RS512", "RSA", &EVP_sha512},
    {"PS256", "RSA", &EVP_sha256, true},
    {"PS384", "RSA", &EVP_sha384, true},
    {"PS512", "RSA", &EVP_sha512, true},
    {"ES256", "P-256", &EVP_sha256, false, 32},
    {"ES384", "P-384", &EVP_sha384, false, 48},
    {"EdDSA", "Ed25519", nullptr},
};

template <typename T, void (*Free)(T*)>
struct Deleter {
  void operator()(T* object) const { Free(object); }
};
using BigPtr = std::unique_ptr<BIGNUM, Deleter<BIGNUM, BN_free>>;
using BuilderPtr = std::unique_ptr<OSSL_PARAM_BLD, Deleter<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>>;
using ParamsPtr = std::unique_ptr<OSSL_PARAM, Deleter<OSSL_PARAM, OSSL_PARAM_free>>;
using KeyContextPtr = std::unique_ptr<EVP_PKEY_CTX, Deleter<EVP_PKEY_CTX, EVP_PKEY_CTX_free>>;
using DigestContextPtr = std::unique_ptr<EVP_MD_CTX, Deleter<EVP_MD_CTX, EVP_MD_CTX_free>>;
using SignaturePtr = std::unique_ptr<ECDSA_SIG, Deleter<ECDSA_SIG, ECDSA_SIG_free>>;

const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string KeyText(const json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::string Decoded(const json& object, const char* name) {
  std::string bytes;
  return absl::WebSafeBase64Unescape(KeyText(object, name), &bytes) ? bytes : std::string();
}

BigPtr Number(absl::string_view bytes) {
  return BigPtr(BN_bin2bn(Bytes(bytes), static_cast<int>(bytes.size()), nullptr));
}

std::shared_ptr<EVP_PKEY> Shared(EVP_PKEY* key) {
  return key == nullptr ? nullptr : std::shared_ptr<EVP_PKEY>(key, &EVP_PKEY_free);
}

std::shared_ptr<EVP_PKEY> FromData(const char* type, OSSL_PARAM_BLD* builder) {
  const ParamsPtr params(OSSL_PARAM_BLD_to_param(builder));
  const KeyContextPtr context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (params == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
    ERR_clear_error();
    return nullptr;
  }
  std::shared_ptr<EVP_PKEY> made = Shared(key);
  // A point that is not on the curve, for example.
  const KeyContextPtr check(EVP_PKEY_CTX_new_from_pkey(nullptr, made.get(), nullptr));
  if (check == nullptr || EVP_PKEY_public_check(check.get()) != 1) {
    ERR_clear_error();
    return nullptr;
  }
  return made;
}

std::shared_ptr<EVP_PKEY> RsaKey(const json& jwk) {
  const std::string n = Decoded(jwk, "n");
  const std::string e = Decoded(jwk, "e");
  if (n.empty() || e.empty() || n.size() > kMostRsaBits / 8 + 1 || e.size() > 8) return nullptr;
  const BigPtr modulus = Number(n);
  const BigPtr exponent = Number(e);
  const BuilderPtr builder(OSSL_PARAM_BLD_new());
  if (BN_num_bits(modulus.get()) < kLeastRsaBits || BN_num_bits(modulus.get()) > kMostRsaBits ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get()) != 1) {
    return nullptr;
  }
  return FromData("RSA", builder.get());
}

std::shared_ptr<EVP_PKEY> EcKey(const json& jwk, const char* group, std::size_t half) {
  const std::string x = Decoded(jwk, "x");
  const std::string y = Decoded(jwk, "y");
  if (x.size() != half || y.size() != half) return nullptr;
  const std::string point = absl::StrCat("\x04", x, y);  // SEC 1 section 2.3.3, uncompressed
  const BuilderPtr builder(OSSL_PARAM_BLD_new());
  if (OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, group, 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) != 1) {
    return nullptr;
  }
  return FromData("EC", builder.get());
}

// JWS has the two numbers side by side (RFC 7518 section 3.4), OpenSSL needs them in DER.
std::string DerSignature(absl::string_view raw, std::size_t half) {
  if (raw.size() != 2 * half) return "";
  const SignaturePtr signature(ECDSA_SIG_new());
  BigPtr r = Number(raw.substr(0, half));
  BigPtr s = Number(raw.substr(half));
  if (signature == nullptr || ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1) return "";
  // NOLINTNEXTLINE(bugprone-unused-return-value): they are the signature's now
  (void)r.release(), (void)s.release();
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  if (size <= 0) return "";
  std::string text(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return text;
}

absl::Status BadSignature() {
  return absl::UnauthenticatedError("the signature of the token does not hold");
}

}  // namespace

absl::StatusOr<JwkSet::Key> JwkSet::ParseKey(const void* pointer) {
  const json& jwk = *static_cast<const json*>(pointer);
  const absl::Status none = absl::InvalidArgumentError("no key of use");
  if (!jwk.is_object()) return none;
  const std::string use = KeyText(jwk, "use");
  if (!use.empty() && use != "sig") return none;
  if (const auto ops = jwk.find("key_ops"); ops != jwk.end()) {
    if (!ops->is_array() || std::find(ops->begin(), ops->end(), "verify") == ops->end())
      return none;
  }
  const std::string type = KeyText(jwk, "kty");
  const std::string curve = KeyText(jwk, "crv");
  Key key;
  key.alg = KeyText(jwk, "alg");
  if (type == "RSA") {
    key.kind = "RSA";
    key.key = RsaKey(jwk);
  } else if (type == "EC" && curve == "P-256") {
    key.kind = curve;
    key.key = EcKey(jwk, "prime256v1", 32);
  } else if (type == "EC" && curve == "P-384") {
    key.kind = curve;
    key.key = EcKey(jwk, "secp384r1", 48);
  } else if (type == "OKP" && curve == "Ed25519") {
    key.kind = curve;
    const std::string x = Decoded(jwk, "x");
    if (x.size() == 32) {
      key.key = Shared(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Bytes(x), x.size()));
    }
  }
  if (key.key == nullptr) return none;
  return key;
}

absl::StatusOr<JwkSet> JwkSet::Parse(absl::string_view text) {
  if (text.size() > kMostKeySetBytes)
    return absl::InvalidArgumentError("the key set is over 256 KiB");
  const json document = ParseJson(text);
  const auto keys = document.is_object() ? document.find("keys") : document.end();
  if (!document.is_object() || keys == document.end() || !keys->is_array()) {
    return absl::InvalidArgumentError("is not a key set: its list \"keys\" is missing");
  }
  JwkSet set;
  for (const json& jwk : *keys) {
    if (set.keys_.size() == kMostKeys) break;
    const std::string kid = jwk.is_object() ? KeyText(jwk, "kid") : "";
    if (kid.empty()) continue;
    absl::StatusOr<Key> key = ParseKey(&jwk);
    if (key.ok()) set.keys_.insert_or_assign(kid, *std::move(key));
  }
  if (set.keys_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("none of its ", keys->size(), " keys can verify a token"));
  }
  return set;
}

absl::Status JwkSet::Verify(absl::string_view kid, absl::string_view alg, absl::string_view text,
                            absl::string_view signature) const {
  const auto found = keys_.find(kid);
  if (found == keys_.end()) return BadSignature();
  const Key& key = found->second;
  const Algorithm* algorithm = nullptr;
  for (const Algorithm& known : kAlgorithms) {
    if (known.name == alg) algorithm = &known;
  }
  if (algorithm == nullptr || algorithm->kind != key.kind || (!key.alg.empty() && key.alg != alg)) {
    return absl::UnauthenticatedError("the token is not signed as its key asks");
  }
  std::string der;
  if (algorithm->half > 0) {
    der = DerSignature(signature, algorithm->half);
    if (der.empty()) return BadSignature();
    signature = der;
  }
  const DigestContextPtr context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* parameters = nullptr;
  const EVP_MD* const digest = algorithm->digest == nullptr ? nullptr : algorithm->digest();
  bool good = context != nullptr &&
              EVP_DigestVerifyInit(context.get(), &parameters, digest, nullptr, key.key.get()) == 1;
  if (good && algorithm->pss) {
    good = EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) == 1;
  }
  good = good && EVP_DigestVerify(context.get(), Bytes(signature), signature.size(), Bytes(text),
                                  text.size()) == 1;
  ERR_clear_error();
  return good ? absl::OkStatus() : BadSignature();
}

}  // namespace galen::gateway
