#include "services/gateway/tickets/site.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/names.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/security/loopback.h"
#include "services/gateway/tickets/signature.h"
#include "services/gateway/tickets/yaml_map.h"

namespace galen::gateway::tickets {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSecret = 16 << 10;

// Credentials must not cross a network in the clear.
bool IsSafeUrl(absl::string_view url) {
  if (absl::ConsumePrefix(&url, "https://")) return !url.empty();
  if (!absl::ConsumePrefix(&url, "http://")) return false;
  const absl::string_view host = url.substr(0, url.find('/'));
  return security::IsLoopback(host);
}

void ReadVariables(YamlMap& map, Target& target) {
  std::vector<std::pair<std::string, std::string>> given;
  map.TextMap("variables", given);
  for (const auto& [name, value] : given) {
    if (target.system.variables.count(name) == 0) {
      map.Wrong("variables",
                absl::StrCat(name, ": system ", target.system.id, " has no such variable"));
    }
    target.variables[name] = value;
  }
  for (const auto& [name, variable] : target.system.variables) {
    std::string& value = target.variables[name];
    if (value.empty()) value = variable.standard;
    if (value.empty() && variable.required) {
      map.Wrong("", absl::StrCat("variables: ", name, ": system ", target.system.id, " needs it"));
    }
    if (absl::StartsWith(value, "http") && !IsSafeUrl(value)) {
      map.Wrong("variables",
                absl::StrCat(name, ": is not an https:// address (http:// is for loopback alone)"));
    }
  }
}

void ReadAuth(YamlMap& map, const fs::path& directory, Target& target) {
  std::string auth = target.system.auths.front().first;
  map.Text("auth", auth);
  const auto it = std::find_if(target.system.auths.begin(), target.system.auths.end(),
                               [&auth](const auto& known) { return known.first == auth; });
  if (it == target.system.auths.end()) {
    map.Wrong("auth", absl::StrCat("system ", target.system.id, " has no \"", auth, "\""));
    return;
  }
  target.auth = it->second;
  map.Text("user", target.user);
  std::string secret_file;
  map.Text("secret_file", secret_file);
  if (target.auth.kind == "none") return;
  if (secret_file.empty()) {
    map.Wrong("", "secret_file: is not there; name the file that has the secret");
    return;
  }
  const absl::StatusOr<std::string> secret = ReadSmallFile(directory / secret_file, kMostSecret);
  if (!secret.ok()) return map.Wrong("secret_file", secret.status().message());
  const std::string text(absl::StripAsciiWhitespace(*secret));
  if (text.empty()) return map.Wrong("secret_file", "the file is empty");
  target.secret = galen::http::Secret(text);
  if (target.auth.kind == "standard_webhooks") {
    if (const auto signature = StandardSignature(text, "a", "1", ""); !signature.ok()) {
      map.Wrong("secret_file", signature.status().message());
    }
  }
}

Target ReadTarget(const Yaml& node, const std::string& file,
                  const std::map<std::string, TicketSystem>& systems, YamlMap& outer) {
  YamlMap map(node, file, "target");
  Target target;
  map.Text("name", target.name, /*required=*/true);
  if (!IsSegment(target.name)) map.Wrong("name", "is not 1 to 63 of a-z, 0-9 and \"-\"");
  std::string system;
  map.Text("system", system, /*required=*/true);
  if (const auto it = systems.find(system); it != systems.end()) {
    target.system = it->second;
    ReadVariables(map, target);
    ReadAuth(map, fs::path(file).parent_path(), target);
  } else {
    std::vector<std::string> known;
    for (const auto& [id, unused] : systems) known.push_back(id);
    map.Wrong("system", absl::StrCat("is none of ", absl::StrJoin(known, ", ")));
  }
  std::vector<std::string> texts;
  map.Texts("tenants", texts);
  target.tenants.insert(texts.begin(), texts.end());
  if (texts.empty()) map.Wrong("", "tenants: is not there; name them, or \"*\" for all");
  for (const std::string& tenant : texts) {
    if (tenant != "*" && !IsSegment(tenant)) map.Wrong("tenants", "has an invalid tenant");
  }
  texts = {"concluded", "escalated"};
  map.Texts("when", texts);
  for (const std::string& state : texts) {
    if (state == "concluded" || state == "escalated" || state == "awaiting_feedback" ||
        state == "failed") {
      continue;
    }
    map.Wrong("when", "holds none of concluded, escalated, awaiting_feedback, failed");
  }
  target.when.insert(texts.begin(), texts.end());
  std::string audience = "customer";
  map.Text("audience", audience);
  if (audience != "customer" && audience != "provider") {
    map.Wrong("audience", "is neither customer nor provider");
  }
  target.audience = audience == "provider" ? Reader::kProvider : Reader::kCustomer;
  map.Duration("timeout", absl::Seconds(1), absl::Minutes(2), target.timeout);
  map.Integer("concurrency", 1, 16, target.concurrency);
  texts.clear();
  map.Texts("own_accounts", texts);
  target.own_accounts.insert(texts.begin(), texts.end());
  map.Bool("close_confirms", target.close_confirms);
  map.Bool("resolve_cancelled", target.resolve_cancelled);
  if (const absl::Status status = map.NothingElse(); !status.ok()) outer.Wrong(status);
  return target;
}

}  // namespace

absl::StatusOr<Site> ParseSite(absl::string_view text, const std::string& file,
                               const std::map<std::string, TicketSystem>& systems) {
  GALEN_ASSIGN_OR_RETURN(const Yaml yaml, ParseYaml(text, file));
  YamlMap map(yaml, file, "tickets");
  Site site;
  map.Text("console_url", site.console_url);
  if (!site.console_url.empty() && !absl::StartsWith(site.console_url, "https://") &&
      !absl::StartsWith(site.console_url, "http://")) {
    map.Wrong("console_url", "is not an http:// or https:// address");
  }
  while (absl::EndsWith(site.console_url, "/")) site.console_url.pop_back();
  const Yaml* targets = map.Node("targets");
  if (targets == nullptr || targets->kind != Yaml::Kind::kList || targets->items.empty()) {
    map.Wrong("targets", "is not a list of targets");
  } else {
    std::set<std::string> names;
    for (const Yaml& node : targets->items) {
      site.targets.push_back(ReadTarget(node, file, systems, map));
      if (!names.insert(site.targets.back().name).second) {
        map.Wrong(YamlError(node, file, "name: is used twice; choose another one"));
      }
    }
  }
  GALEN_RETURN_IF_ERROR(map.NothingElse());
  return site;
}

absl::StatusOr<Site> LoadSite(const std::string& file,
                              const std::vector<std::string>& knowledge_directories) {
  GALEN_ASSIGN_OR_RETURN(const auto systems, LoadSystems(knowledge_directories));
  GALEN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(file));
  return ParseSite(text, file, systems);
}

}  // namespace galen::gateway::tickets
