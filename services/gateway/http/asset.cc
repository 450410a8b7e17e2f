#include "services/gateway/http/asset.h"

#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace galen::gateway::http {
namespace {

// FNV-1a: it only distinguishes versions of a file.
std::uint64_t Hash(absl::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

bool Has(absl::string_view if_none_match, absl::string_view tag) {
  for (absl::string_view known : absl::StrSplit(if_none_match, ',')) {
    known = absl::StripAsciiWhitespace(known);
    if (known == "*" || absl::StripPrefix(known, "W/") == tag) return true;
  }
  return false;
}

}  // namespace

Asset::Asset(std::string type, std::string body)
    : type_(std::move(type)),
      body_(std::move(body)),
      packed_(Gzip(body_)),
      tag_(absl::StrCat("\"", absl::Hex(Hash(body_)), "-", absl::Hex(body_.size()), "\"")) {}

Response Asset::AnswerTo(const Request& request) const {
  Response response;
  response.headers.Add("Content-Type", type_);
  // Weak: it stands for both encodings.
  response.headers.Add("ETag", absl::StrCat("W/", tag_));
  response.headers.Add("Cache-Control", "no-cache");
  response.headers.Add("X-Content-Type-Options", "nosniff");
  if (packed_) response.headers.Add("Vary", "Accept-Encoding");
  if (Has(request.headers.Get("If-None-Match"), tag_)) {
    response.status = 304;
    return response;
  }
  if (packed_ && AcceptsGzip(request.headers.Get("Accept-Encoding"))) {
    response.headers.Add("Content-Encoding", "gzip");
    response.body = *packed_;
  } else {
    response.body = body_;
  }
  return response;
}

}  // namespace galen::gateway::http
