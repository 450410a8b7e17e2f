#include "services/gateway/oidc/oidc_config.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/security/loopback.h"
#include "common/yaml/yaml.h"

namespace galen::gateway {
namespace {

using nlohmann::json;

// HTTPS; plain HTTP on this machine alone, where nobody can change the keys in transit.
bool IsSafeUrl(absl::string_view url) {
  if (absl::StartsWith(url, "https://")) return url.size() > 8;
  constexpr absl::string_view kPlain = "http://";
  if (!absl::StartsWith(url, kPlain)) return false;
  const absl::string_view rest = url.substr(kPlain.size());
  return security::IsLoopback(rest.substr(0, rest.find('/')));
}

absl::Status ReadTenant(const Yaml& value, absl::string_view file, OidcIssuer& issuer) {
  if (value.kind == Yaml::Kind::kMap) {
    const Yaml* const claim = value.Find("claim");
    if (claim == nullptr || value.fields.size() != 1) {
      return YamlError(value, file, "tenant: is neither a name nor {claim: NAME}");
    }
    GALEN_ASSIGN_OR_RETURN(issuer.tenant_claim, YamlText(*claim, file, "tenant.claim"));
    return absl::OkStatus();
  }
  GALEN_ASSIGN_OR_RETURN(issuer.tenant, YamlText(value, file, "tenant"));
  if (issuer.tenant != "*" && !IsTenant(issuer.tenant)) {
    return YamlError(value, file, "tenant: is not a tenant name");
  }
  return absl::OkStatus();
}

absl::Status ReadRoles(const Yaml& value, absl::string_view file, OidcIssuer& issuer) {
  if (value.kind != Yaml::Kind::kMap) return YamlError(value, file, "roles: is not a map");
  for (const Yaml::Field& field : value.fields) {
    if (field.name == "claim") {
      GALEN_ASSIGN_OR_RETURN(issuer.role_claim, YamlText(field.value, file, "roles.claim"));
      continue;
    }
    const std::optional<UserRole> role = ParseUserRole(field.name);
    if (!role.has_value()) {
      return YamlError(field.value, file,
                       absl::StrCat("roles: \"", CleanText(field.name, 64),
                                    "\" is none of customer, operator, approver, admin"));
    }
    GALEN_ASSIGN_OR_RETURN(std::vector<std::string> worth,
                           YamlTexts(field.value, file, absl::StrCat("roles.", field.name)));
    issuer.roles.emplace_back(*role, std::move(worth));
  }
  return absl::OkStatus();
}

absl::StatusOr<OidcIssuer> ReadIssuer(const Yaml& value, absl::string_view file) {
  if (value.kind != Yaml::Kind::kMap) return YamlError(value, file, "an issuer is a map");
  OidcIssuer issuer;
  const std::pair<absl::string_view, std::string*> texts[] = {{"issuer", &issuer.issuer},
                                                              {"audience", &issuer.audience},
                                                              {"jwks", &issuer.jwks},
                                                              {"ca_file", &issuer.ca_file},
                                                              {"scopes", &issuer.scope_claim}};
  for (const Yaml::Field& field : value.fields) {
    const auto text = std::find_if(std::begin(texts), std::end(texts),
                                   [&](const auto& known) { return known.first == field.name; });
    if (text != std::end(texts)) {
      GALEN_ASSIGN_OR_RETURN(*text->second, YamlText(field.value, file, field.name));
    } else if (field.name == "tenant") {
      GALEN_RETURN_IF_ERROR(ReadTenant(field.value, file, issuer));
    } else if (field.name == "roles") {
      GALEN_RETURN_IF_ERROR(ReadRoles(field.value, file, issuer));
    } else {
      return YamlError(field.value, file,
                       absl::StrCat("\"", CleanText(field.name, 64),
                                    "\" is none of issuer, audience, jwks, ca_file, tenant, "
                                    "roles, scopes"));
    }
  }
  if (!IsSafeUrl(issuer.issuer)) {
    return YamlError(value, file, "issuer: is not an https:// URL, nor http:// on loopback");
  }
  if (!issuer.jwks.empty() && !IsSafeUrl(issuer.jwks)) {
    return YamlError(value, file, "jwks: is not an https:// URL, nor http:// on loopback");
  }
  if (issuer.audience.empty()) {
    return YamlError(value, file, "audience: is missing; tokens for others would be taken");
  }
  if (issuer.tenant.empty() == issuer.tenant_claim.empty()) {
    return YamlError(value, file, "tenant: is missing; a name, \"*\", or {claim: NAME}");
  }
  if (issuer.roles.empty()) {
    return YamlError(value, file, "roles: is missing; nobody would be let in");
  }
  return issuer;
}

// The words of a claim: one text, several words in one text (scopes), or a list.
// `separated`: a text has several words with blanks between, as in `scope` (RFC 8693 4.2). Names of
// groups and roles may have blanks: "my gpu-leads team" is not gpu-leads.
std::set<std::string> WordsOf(const json& claims, const std::string& name, bool separated) {
  std::set<std::string> words;
  const auto it = claims.find(name);
  if (it == claims.end()) return words;
  if (it->is_string()) {
    words.insert(it->get<std::string>());
    if (!separated) return words;
    for (const absl::string_view word : absl::StrSplit(it->get_ref<const std::string&>(), ' ')) {
      words.emplace(word);
    }
  } else if (it->is_array()) {
    for (const json& one : *it) {
      if (one.is_string()) words.insert(one.get<std::string>());
    }
  }
  return words;
}

}  // namespace

absl::StatusOr<std::vector<OidcIssuer>> ParseOidcConfig(absl::string_view text,
                                                        absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml root, ParseYaml(text, file));
  const Yaml* const list = root.Find("issuers");
  if (list == nullptr || list->kind != Yaml::Kind::kList || list->items.empty() ||
      root.fields.size() != 1) {
    return YamlError(root, file, "is not \"issuers:\" with a list of identity providers");
  }
  std::vector<OidcIssuer> issuers;
  for (const Yaml& item : list->items) {
    GALEN_ASSIGN_OR_RETURN(OidcIssuer issuer, ReadIssuer(item, file));
    for (const OidcIssuer& other : issuers) {
      if (other.issuer == issuer.issuer) {
        return YamlError(item, file, "issuer: is listed twice");
      }
    }
    issuers.push_back(std::move(issuer));
  }
  return issuers;
}

absl::StatusOr<std::vector<OidcIssuer>> LoadOidcConfig(const std::string& path) {
  GALEN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path));
  return ParseOidcConfig(text, path);
}

absl::StatusOr<Principal> PrincipalOf(const OidcIssuer& issuer, const json& claims) {
  Principal principal;
  const std::set<std::string> held =
      WordsOf(claims, issuer.role_claim, issuer.role_claim == "scope");
  std::optional<UserRole> best;
  for (const auto& [role, worth] : issuer.roles) {
    const bool has = std::any_of(worth.begin(), worth.end(), [&](const std::string& word) {
      return word == "*" || held.count(word) > 0;
    });
    if (has && (!best.has_value() || *best < role)) best = role;
  }
  if (!best.has_value()) {
    return absl::PermissionDeniedError("nothing in the token gives a role here");
  }
  principal.role = *best;
  principal.tenant = issuer.tenant;
  if (!issuer.tenant_claim.empty()) {
    const auto it = claims.find(issuer.tenant_claim);
    // A claim never opens all tenants: its author need not be the provider.
    if (it == claims.end() || !it->is_string() || !IsTenant(it->get_ref<const std::string&>())) {
      return absl::PermissionDeniedError("the token names no tenant");
    }
    principal.tenant = it->get<std::string>();
  }
  const std::set<std::string> scopes =
      issuer.scope_claim.empty() ? std::set<std::string>()
                                 : WordsOf(claims, issuer.scope_claim, /*separated=*/true);
  for (const absl::string_view scope : {kScopeRead, kScopeWrite}) {
    if (issuer.scope_claim.empty() || scopes.count(std::string(scope)) > 0) {
      principal.scopes.emplace_back(scope);
    }
  }
  const std::pair<absl::string_view, absl::string_view> url =
      absl::StrSplit(issuer.issuer, absl::MaxSplits("://", 1));
  principal.id = absl::StrCat(CleanText(claims.at("sub").get_ref<const std::string&>(), 256), "@",
                              url.second.substr(0, url.second.find('/')));
  return principal;
}

}  // namespace galen::gateway
