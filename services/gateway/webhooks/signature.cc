#include "services/gateway/webhooks/signature.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <array>
#include <cstdint>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "services/gateway/api/path_template.h"

namespace galen::gateway::webhooks {
namespace {

constexpr std::size_t kMostSignatures = 16;  // in one header
constexpr std::size_t kEd25519Bytes = 32;

using PublicKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Digest = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string HmacSha256(absl::string_view key, absl::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), Bytes(text), text.size(), mac.data(),
       &size);
  return {reinterpret_cast<const char*>(mac.data()), size};
}

// Does not disclose the position of a difference, nor whether lengths differ.
bool Same(absl::string_view a, absl::string_view b) {
  const std::string left = Sha256(a);
  const std::string right = Sha256(b);
  return CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

std::string Encode(Scheme::Encoding encoding, absl::string_view bytes) {
  return encoding == Scheme::Encoding::kHex ? absl::BytesToHexString(bytes)
                                            : absl::Base64Escape(bytes);
}

// Compared as text: if two texts decode to the same bytes, one was tampered with.
bool SameSignature(const Scheme& scheme, absl::string_view presented, absl::string_view bytes) {
  const std::string expected = Encode(scheme.encoding, bytes);
  return Same(scheme.encoding == Scheme::Encoding::kHex ? absl::AsciiStrToLower(presented)
                                                        : std::string(presented),
              expected);
}

bool VerifyEd25519(const Scheme& scheme, absl::string_view key, absl::string_view text,
                   absl::string_view presented) {
  std::string signature;
  if (!absl::Base64Unescape(presented, &signature) ||
      Encode(scheme.encoding, signature) != presented) {
    return false;
  }
  const PublicKey made(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Bytes(key), key.size()),
      &EVP_PKEY_free);
  const Digest digest(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  return made != nullptr && digest != nullptr &&
         EVP_DigestVerifyInit(digest.get(), nullptr, nullptr, nullptr, made.get()) == 1 &&
         EVP_DigestVerify(digest.get(), Bytes(signature), signature.size(), Bytes(text),
                          text.size()) == 1;
}

std::string SignedText(const Scheme& scheme, absl::string_view id, absl::string_view timestamp,
                       absl::string_view body) {
  if (scheme.signs == "{body}") return std::string(body);
  return absl::StrReplaceAll(scheme.signs,
                             {{"{id}", id}, {"{timestamp}", timestamp}, {"{body}", body}});
}

// The only value of a header; an error if it is missing, empty or there twice.
absl::StatusOr<std::string> OneHeader(const http::Request& request, const std::string& name) {
  const std::size_t count = request.headers.Count(name);
  if (count > 1) {
    return absl::UnauthenticatedError(absl::StrCat("the header ", name, " appears twice"));
  }
  std::string value(request.headers.Get(name));
  if (value.empty()) {
    return absl::UnauthenticatedError(absl::StrCat("the header ", name, " is missing"));
  }
  return value;
}

// The only value of a parameter of the query, decoded.
absl::StatusOr<std::string> OneParameter(const http::Request& request, const std::string& name) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(request.target, absl::MaxSplits('?', 1));
  std::vector<std::string> found;
  for (const absl::string_view pair : absl::StrSplit(parts.second, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> sides =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    if (sides.first != name) continue;
    // Senders write a token as it is, or percent-encoded; a "+" is one.
    found.push_back(
        PercentDecode(sides.second, /*plus_is_space=*/false).value_or(std::string(sides.second)));
  }
  if (found.size() != 1 || found[0].empty()) {
    return absl::UnauthenticatedError(absl::StrCat("the parameter ", name, " of the URL is ",
                                                   found.size() > 1 ? "there twice" : "missing"));
  }
  return found[0];
}

absl::Status CheckTime(const Scheme& scheme, const std::string& timestamp, absl::Time now) {
  std::int64_t seconds = 0;
  const bool digits =
      timestamp.size() <= 12 && timestamp.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || !absl::SimpleAtoi(timestamp, &seconds)) {
    return absl::UnauthenticatedError(
        absl::StrCat("the header ", scheme.timestamp_header, " is not a time in whole seconds"));
  }
  const absl::Duration off = absl::AbsDuration(now - absl::FromUnixSeconds(seconds));
  if (off < scheme.tolerance) return absl::OkStatus();
  return absl::UnauthenticatedError(absl::StrCat(
      "the header ", scheme.timestamp_header, " is ",
      absl::FormatDuration(absl::Trunc(off, absl::Seconds(1))), " away from the gateway's time, ",
      absl::FormatDuration(scheme.tolerance), " are allowed"));
}

absl::Status VerifyToken(const Scheme& scheme, absl::Span<const Key> keys,
                         const http::Request& request) {
  std::string presented;
  if (!scheme.query.empty()) {
    GALEN_ASSIGN_OR_RETURN(presented, OneParameter(request, scheme.query));
  } else {
    GALEN_ASSIGN_OR_RETURN(presented, OneHeader(request, scheme.header));
    if (!absl::StartsWithIgnoreCase(presented, scheme.prefix)) {
      return absl::UnauthenticatedError(absl::StrCat(
          "the header ", scheme.header, " is not of the form \"", scheme.prefix, "...\""));
    }
    presented.erase(0, scheme.prefix.size());
  }
  bool good = false;
  for (const Key& key : keys) {
    const bool same = scheme.encoding == Scheme::Encoding::kBase64
                          ? Same(presented, absl::Base64Escape(key.bytes()))
                          : Same(presented, key.bytes());
    good = same || good;
  }
  if (good) return absl::OkStatus();
  return absl::UnauthenticatedError("the token is not one of this endpoint");
}

}  // namespace

std::string Sha256(absl::string_view data) {
  std::string hash(SHA256_DIGEST_LENGTH, '\0');
  SHA256(Bytes(data), data.size(), reinterpret_cast<unsigned char*>(hash.data()));
  return hash;
}

absl::Status CheckScheme(const Scheme& scheme) {
  if (scheme.header.empty() == scheme.query.empty()) {
    return absl::InvalidArgumentError("needs either a header or a query parameter");
  }
  if (scheme.kind == Scheme::Kind::kToken) return absl::OkStatus();
  if (scheme.header.empty()) {
    return absl::InvalidArgumentError("a signature must be in a header");
  }
  if (!absl::StrContains(scheme.signs, "{body}")) {
    return absl::InvalidArgumentError("\"signs\" leaves out {body}: anything could be sent");
  }
  if (absl::StrContains(scheme.signs, "{id}") != !scheme.id_header.empty()) {
    return absl::InvalidArgumentError("{id} in \"signs\" and \"id_header\" need each other");
  }
  if (absl::StrContains(scheme.signs, "{timestamp}") != !scheme.timestamp_header.empty()) {
    return absl::InvalidArgumentError(
        "{timestamp} in \"signs\" and \"timestamp_header\" need each other");
  }
  if (scheme.kind == Scheme::Kind::kEd25519 && scheme.encoding != Scheme::Encoding::kBase64) {
    return absl::InvalidArgumentError("ed25519 is there in base64 alone");
  }
  return absl::OkStatus();
}

absl::StatusOr<Key> Key::Make(const Scheme& scheme, absl::string_view text) {
  if (text.empty()) return absl::InvalidArgumentError("the secret is empty");
  Key key;
  key.bytes_ = std::string(text);
  if (scheme.secret == Scheme::SecretForm::kText && scheme.kind != Scheme::Kind::kEd25519) {
    return key;
  }
  const bool is_private = absl::ConsumePrefix(&text, "whsk_");
  if (!is_private && !absl::ConsumePrefix(&text, "whpk_")) absl::ConsumePrefix(&text, "whsec_");
  if (!absl::Base64Unescape(text, &key.bytes_) || key.bytes_.empty()) {
    return absl::InvalidArgumentError("the secret is not base64");
  }
  if (scheme.kind != Scheme::Kind::kEd25519) return key;
  if (key.bytes_.size() != kEd25519Bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the key of Ed25519 has ", kEd25519Bytes, " bytes in base64"));
  }
  if (is_private) {
    const PublicKey pair(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, Bytes(key.bytes_),
                                                      key.bytes_.size()),
                         &EVP_PKEY_free);
    std::size_t size = kEd25519Bytes;
    if (pair == nullptr ||
        EVP_PKEY_get_raw_public_key(pair.get(), reinterpret_cast<unsigned char*>(key.bytes_.data()),
                                    &size) != 1) {
      return absl::InvalidArgumentError("the key of Ed25519 is not sound");
    }
  }
  return key;
}

absl::Status Verify(const Scheme& scheme, absl::Span<const Key> keys, const http::Request& request,
                    absl::Time now) {
  if (scheme.kind == Scheme::Kind::kToken) return VerifyToken(scheme, keys, request);
  GALEN_ASSIGN_OR_RETURN(const std::string presented, OneHeader(request, scheme.header));
  std::string id;
  std::string timestamp;
  if (!scheme.id_header.empty()) {
    GALEN_ASSIGN_OR_RETURN(id, OneHeader(request, scheme.id_header));
  }
  if (!scheme.timestamp_header.empty()) {
    GALEN_ASSIGN_OR_RETURN(timestamp, OneHeader(request, scheme.timestamp_header));
  }
  const std::string text = SignedText(scheme, id, timestamp, request.body);
  std::vector<std::string> macs;
  if (scheme.kind == Scheme::Kind::kHmacSha256) {
    for (const Key& key : keys) macs.push_back(HmacSha256(key.bytes(), text));
  }
  std::vector<absl::string_view> signatures = {presented};
  if (scheme.separator != '\0') signatures = absl::StrSplit(presented, scheme.separator);
  if (signatures.size() > kMostSignatures) {
    return absl::UnauthenticatedError(absl::StrCat("the header ", scheme.header, " has more than ",
                                                   kMostSignatures, " signatures"));
  }
  bool good = false;
  for (absl::string_view signature : signatures) {
    if (scheme.separator != '\0') signature = absl::StripAsciiWhitespace(signature);
    if (!absl::ConsumePrefix(&signature, scheme.prefix)) continue;
    if (scheme.kind == Scheme::Kind::kHmacSha256) {
      for (const std::string& mac : macs) good = SameSignature(scheme, signature, mac) || good;
    } else {
      for (const Key& key : keys) {
        good = VerifyEd25519(scheme, key.bytes(), text, signature) || good;
      }
    }
  }
  if (!good) {
    return absl::UnauthenticatedError(
        absl::StrCat("no signature in the header ", scheme.header, " is one of this endpoint"));
  }
  // Checked after the signature, so that a request of another sender learns nothing.
  return scheme.timestamp_header.empty() ? absl::OkStatus() : CheckTime(scheme, timestamp, now);
}

void VerifyNothing(const http::Request& request) {
  static const auto* const scheme = new Scheme{.header = "X-Nobody"};
  static const auto* const key = new Key(Key::Make(*scheme, "nobody").value());
  const std::string mac = HmacSha256(key->bytes(), request.body);
  static_cast<void>(SameSignature(*scheme, request.headers.Get(scheme->header), mac));
}

absl::StatusOr<std::string> Sign(const Scheme& scheme, const Key& key, absl::string_view id,
                                 absl::string_view timestamp, absl::string_view body) {
  switch (scheme.kind) {
    case Scheme::Kind::kToken:
      return absl::StrCat(scheme.prefix, scheme.encoding == Scheme::Encoding::kBase64
                                             ? absl::Base64Escape(key.bytes())
                                             : key.bytes());
    case Scheme::Kind::kHmacSha256:
      return absl::StrCat(scheme.prefix,
                          Encode(scheme.encoding,
                                 HmacSha256(key.bytes(), SignedText(scheme, id, timestamp, body))));
    case Scheme::Kind::kEd25519:
      break;
  }
  return absl::InvalidArgumentError("a public key signs nothing");
}

}  // namespace galen::gateway::webhooks
