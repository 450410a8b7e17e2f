#include "common/security/identity.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace galen::security {
namespace {

constexpr absl::string_view kScheme = "spiffe://";
constexpr absl::string_view kPath = "/galen/";

bool IsPunctuation(char c) { return c == '.' || c == '_' || c == '-'; }

}  // namespace

bool IsDomain(absl::string_view domain) {
  return !domain.empty() && domain.size() <= 255 &&
         std::all_of(domain.begin(), domain.end(), [](char c) {
           return absl::ascii_islower(static_cast<unsigned char>(c)) ||
                  absl::ascii_isdigit(static_cast<unsigned char>(c)) || IsPunctuation(c);
         });
}

bool IsInstance(absl::string_view instance) {
  return !instance.empty() && instance.size() <= 253 && instance != "." && instance != ".." &&
         std::all_of(instance.begin(), instance.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || IsPunctuation(c);
         });
}

std::optional<Identity> ParseIdentity(absl::string_view uri) {
  if (uri.size() > kMaxIdentityBytes || !absl::ConsumePrefix(&uri, kScheme)) return std::nullopt;
  const std::size_t slash = uri.find('/');
  if (slash == absl::string_view::npos) return std::nullopt;
  Identity identity;
  identity.domain = uri.substr(0, slash);
  absl::string_view path = uri.substr(slash);
  if (!IsDomain(identity.domain) || !absl::ConsumePrefix(&path, kPath)) return std::nullopt;
  const std::size_t end = path.find('/');
  const std::optional<Role> role = ParseRole(path.substr(0, end));
  if (!role.has_value()) return std::nullopt;
  identity.role = *role;
  if (end != absl::string_view::npos) {
    identity.instance = path.substr(end + 1);
    if (!IsInstance(identity.instance)) return std::nullopt;
  }
  return identity;
}

std::string IdentityUri(absl::string_view domain, Role role, absl::string_view instance) {
  std::string uri = absl::StrCat(kScheme, domain, kPath, NameOf(role));
  if (!instance.empty()) absl::StrAppend(&uri, "/", instance);
  return uri;
}

std::string ServerName(absl::string_view domain, Role role) {
  return absl::StrCat(NameOf(role), ".", domain);
}

absl::string_view TenantOf(absl::string_view resource) {
  if (!absl::ConsumePrefix(&resource, "tenants/")) return "";
  return resource.substr(0, resource.find('/'));
}

}  // namespace galen::security
