#include "common/kube/resource.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"

namespace galen::kube {
namespace {

constexpr std::size_t kMostPart = 253;  // length of a DNS name, which most names are

std::string Escape(absl::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-._~:", c)) {
      escaped += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      escaped += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return escaped;
}

}  // namespace

absl::StatusOr<std::string> PathOf(const Resource& resource, const ObjectName& object,
                                   absl::string_view subresource) {
  std::string path = resource.group.empty() ? "/api" : "/apis";
  absl::Status status;
  const auto add = [&](absl::string_view what, absl::string_view part) {
    const bool control = std::any_of(part.begin(), part.end(), [](unsigned char c) {
      return absl::ascii_iscntrl(c) || c == '/' || c == '%';
    });
    if (status.ok() &&
        (part.empty() || part.size() > kMostPart || part == "." || part == ".." || control)) {
      status = absl::InvalidArgumentError(
          absl::StrCat(what, " \"", CleanText(part, 80), "\" can be no ", what, " of Kubernetes"));
    }
    absl::StrAppend(&path, "/", Escape(part));
  };
  if (!resource.group.empty()) add("group", resource.group);
  add("version", resource.version);
  if (!object.space.empty()) {
    path += "/namespaces";
    add("namespace", object.space);
  }
  add("resource", resource.plural);
  if (!object.name.empty()) add("name", object.name);
  if (!subresource.empty()) add("subresource", subresource);
  if (!status.ok()) return status;
  return path;
}

std::string QueryText(const Query& query) {
  std::string text;
  for (const auto& [name, value] : query) {
    if (value.empty()) continue;
    absl::StrAppend(&text, text.empty() ? "?" : "&", name, "=", Escape(value));
  }
  return text;
}

}  // namespace galen::kube
