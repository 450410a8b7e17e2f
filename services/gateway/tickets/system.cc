#include "services/gateway/tickets/system.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/json_access.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "services/gateway/tickets/yaml_map.h"

namespace galen::gateway::tickets {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSystemFile = 256 << 10;
constexpr absl::string_view kRequests[] = {"find", "open", "update", "comment", "resolve"};
constexpr absl::string_view kMethods[] = {"GET", "POST", "PUT", "PATCH"};

// The values that every template has from the document and its surroundings.
constexpr absl::string_view kGiven[] = {
    "mark",  "uuid",     "diagnosis", "tenant", "state", "headline",    "cause",   "cause_label",
    "owner", "severity", "node",      "device", "time",  "sequence",    "url",     "body",
    "plain", "id",       "key",       "page",   "since", "since_epoch", "comment", "user"};

RequestForm ReadRequest(const Yaml& node, absl::string_view file, absl::string_view name,
                        const Knows& known, YamlMap& outer) {
  YamlMap map(node, file, name);
  RequestForm request;
  map.Text("method", request.method, /*required=*/true);
  if (std::find(std::begin(kMethods), std::end(kMethods), request.method) == std::end(kMethods)) {
    map.Wrong("method", "is none of GET, POST, PUT, PATCH");
  }
  map.Text("url", request.url, /*required=*/true);
  if (const absl::Status status = CheckText(request.url, known); !status.ok()) {
    map.Wrong("url", status.message());
  }
  map.TextMap("headers", request.headers);
  for (const auto& [header, value] : request.headers) {
    if (const absl::Status status = CheckText(value, known); !status.ok()) {
      map.Wrong("headers", absl::StrCat(header, ": ", status.message()));
    }
  }
  std::string body;
  map.Text("body", body);
  if (!body.empty()) {
    request.body = ParseJson(body);
    if (request.body->is_discarded()) {
      map.Wrong("body", "is not JSON; write it as a block (\"body: |\")");
      request.body = std::nullopt;
    } else if (const absl::Status status = CheckJson(*request.body, known); !status.ok()) {
      map.Wrong("body", status.message());
    }
  }
  const std::pair<absl::string_view, std::string*> reads[] = {
      {"id", &request.id}, {"key", &request.key}, {"link", &request.link}};
  for (const auto& [field, value] : reads) {
    map.Text(field, *value);
    if (absl::StartsWith(*value, "/")) continue;
    if (const absl::Status status = CheckText(*value, known); !status.ok()) {
      map.Wrong(field, status.message());
    }
  }
  if (name == "find") {
    map.Text("items", request.items);
    map.Text("match_at", request.match_at);
    map.Text("match", request.match);
    if (const absl::Status status = CheckText(request.match, known); !status.ok()) {
      map.Wrong("match", status.message());
    }
    map.Integer("pages", 1, 20, request.pages);
    map.Integer("per_page", 1, 1000, request.per_page);
    map.Duration("settles", absl::ZeroDuration(), absl::Minutes(30), request.settles);
  }
  if ((name == "find" || name == "open") && request.id.empty()) {
    map.Wrong("", "id: is not there; say where the answer has the ticket's id");
  }
  if (const absl::Status status = map.NothingElse(); !status.ok()) outer.Wrong(status);
  return request;
}

void ReadAuths(YamlMap& map, absl::string_view file, TicketSystem& system) {
  const Yaml* auths = map.Node("auth");
  if (auths == nullptr) {
    system.auths.push_back({"none", {"none", "", ""}});
    return;
  }
  const Knows known = [](absl::string_view name) { return name == "secret" || name == "user"; };
  for (const Yaml::Field& field : auths->fields) {
    YamlMap auth(field.value, file, field.name);
    TicketSystem::Auth read;
    auth.Text("kind", read.kind, /*required=*/true);
    auth.Text("header", read.header);
    auth.Text("value", read.value);
    constexpr absl::string_view kKinds[] = {"header", "basic", "standard_webhooks", "body", "none"};
    if (std::find(std::begin(kKinds), std::end(kKinds), read.kind) == std::end(kKinds)) {
      auth.Wrong("kind", "is none of header, basic, standard_webhooks, body, none");
    }
    if (read.kind == "header" &&
        (read.header.empty() || !absl::StrContains(read.value, "${secret}"))) {
      auth.Wrong("", "give header, and value with ${secret}");
    }
    if (const absl::Status status = CheckText(read.value, known); !status.ok()) {
      auth.Wrong("value", status.message());
    }
    if (const absl::Status status = auth.NothingElse(); !status.ok()) map.Wrong(status);
    system.auths.emplace_back(field.name, std::move(read));
  }
  if (system.auths.empty()) map.Wrong("auth", "names no way to authenticate");
}

void ReadVariables(YamlMap& map, absl::string_view file, TicketSystem& system) {
  const Yaml* variables = map.Node("variables");
  if (variables == nullptr) return;
  for (const Yaml::Field& field : variables->fields) {
    YamlMap variable(field.value, file, field.name);
    TicketSystem::Variable read;
    variable.Bool("required", read.required);
    variable.Text("default", read.standard);
    if (const absl::Status status = variable.NothingElse(); !status.ok()) map.Wrong(status);
    system.variables[field.name] = std::move(read);
  }
}

void ReadMaps(YamlMap& map, absl::string_view file, TicketSystem& system) {
  const Yaml* maps = map.Node("maps");
  if (maps == nullptr) return;
  for (const Yaml::Field& field : maps->fields) {
    YamlMap one(field.value, file, field.name);
    TicketSystem::Map read;
    one.Text("from", read.from, /*required=*/true);
    std::vector<std::pair<std::string, std::string>> words;
    one.TextMap("words", words);
    read.words.insert(words.begin(), words.end());
    one.Text("else", read.otherwise);
    if (const absl::Status status = one.NothingElse(); !status.ok()) map.Wrong(status);
    system.maps[field.name] = std::move(read);
  }
}

}  // namespace

const RequestForm* TicketSystem::Find(absl::string_view request) const {
  const auto it = requests.find(std::string(request));
  return it == requests.end() ? nullptr : &it->second;
}

absl::StatusOr<TicketSystem> ParseSystem(absl::string_view text, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml yaml, ParseYaml(text, file));
  YamlMap map(yaml, file, "ticket system");
  TicketSystem system;
  map.Text("id", system.id, /*required=*/true);
  map.Text("title", system.title);
  ReadVariables(map, file, system);
  ReadAuths(map, file, system);
  ReadMaps(map, file, system);
  std::string form = "plain";
  map.Text("form", form);
  if (const std::optional<Form> known = ParseForm(form)) {
    system.form = *known;
  } else {
    map.Wrong("form", "is none of plain, markdown, slack, html, adf");
  }
  map.Size("most_text", system.most_text);
  map.Size("most_comment", system.most_comment);
  if (const Yaml* ok = map.Node("ok"); ok != nullptr) {
    YamlMap good(*ok, file, "ok");
    good.Text("at", system.ok_at, /*required=*/true);
    good.Text("is", system.ok_is, /*required=*/true);
    good.Text("reason", system.reason_at);
    good.Texts("again", system.again);
    if (const absl::Status status = good.NothingElse(); !status.ok()) map.Wrong(status);
  }
  const bool secret_in_body =
      std::any_of(system.auths.begin(), system.auths.end(),
                  [](const auto& auth) { return auth.second.kind == "body"; });
  const Knows known = [&](absl::string_view name) {
    return std::find(std::begin(kGiven), std::end(kGiven), name) != std::end(kGiven) ||
           system.variables.count(std::string(name)) > 0 ||
           system.maps.count(std::string(name)) > 0 || (secret_in_body && name == "secret");
  };
  map.TextMap("headers", system.headers);
  for (const auto& [header, value] : system.headers) {
    if (const absl::Status status = CheckText(value, known); !status.ok()) {
      map.Wrong("headers", absl::StrCat(header, ": ", status.message()));
    }
  }
  for (const auto& [name, one] : system.maps) {
    if (!known(one.from)) map.Wrong("maps", absl::StrCat(name, ": from: there is no such value"));
    if (const absl::Status status = CheckText(one.otherwise, known); !status.ok()) {
      map.Wrong("maps", absl::StrCat(name, ": else: ", status.message()));
    }
  }
  if (const Yaml* requests = map.Node("requests"); requests != nullptr) {
    for (const Yaml::Field& field : requests->fields) {
      if (std::find(std::begin(kRequests), std::end(kRequests), field.name) ==
          std::end(kRequests)) {
        map.Wrong("requests",
                  absl::StrCat(field.name, ": is not one of find, open, update, comment, resolve"));
        continue;
      }
      system.requests[field.name] = ReadRequest(field.value, file, field.name, known, map);
    }
  }
  if (system.Find("open") == nullptr) map.Wrong("", "requests: open: is not there; add it");
  GALEN_RETURN_IF_ERROR(map.NothingElse());
  return system;
}

absl::StatusOr<std::map<std::string, TicketSystem>> LoadSystems(
    const std::vector<std::string>& directories) {
  std::map<std::string, TicketSystem> systems;
  for (const std::string& directory : directories) {
    std::error_code error;
    std::set<fs::path> files;
    for (const auto& entry : fs::directory_iterator(fs::path(directory) / "tickets", error)) {
      const std::string base = entry.path().filename().string();
      if (absl::EndsWith(base, ".yaml") && !absl::StartsWith(base, ".")) files.insert(entry.path());
    }
    for (const fs::path& path : files) {
      GALEN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMostSystemFile));
      GALEN_ASSIGN_OR_RETURN(TicketSystem system, ParseSystem(text, path.string()));
      const std::string id = system.id;
      systems[id] = std::move(system);
    }
  }
  if (systems.empty()) {
    return absl::NotFoundError(
        "tickets/*.yaml: there is no ticket system in the knowledge; see docs/tickets.md");
  }
  return systems;
}

}  // namespace galen::gateway::tickets
