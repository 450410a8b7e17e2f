#include "common/llm/endpoint.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/llm/settings_reader.h"

namespace galen::llm {
namespace {

constexpr std::size_t kMostFileBytes = 64 << 10;
constexpr std::size_t kMostKeyBytes = 8 << 10;

constexpr std::array<std::pair<absl::string_view, Structured>, 5> kStructured = {{
    {"json_schema", Structured::kJsonSchema},
    {"structured_outputs", Structured::kStructuredOutputs},
    {"guided_json", Structured::kGuidedJson},
    {"json_object", Structured::kJsonObject},
    {"words", Structured::kWords},
}};

// Questions by the agent that asks them; docs/llm.md has the same table.
constexpr std::array<std::pair<absl::string_view, absl::string_view>, 5> kAgents = {{
    {"presume", "planning"},
    {"investigate", "reflection"},
    {"ticket_label", "curation"},
    {"ticket_group", "curation"},
    {"ticket_steps", "curation"},
}};

bool IsPurpose(absl::string_view name) {
  return std::any_of(kAgents.begin(), kAgents.end(),
                     [&](const auto& pair) { return pair.first == name || pair.second == name; });
}

// The host of "http://host:port/path", without brackets.
absl::string_view HostOf(absl::string_view url) {
  url.remove_prefix(std::min(url.size(), url.find("://") + 3));
  url = url.substr(0, url.find('/'));
  if (absl::ConsumePrefix(&url, "[")) return url.substr(0, url.find(']'));
  return url.substr(0, url.find(':'));
}

bool IsThisMachine(absl::string_view host) {
  return host == "localhost" || host == "::1" ||
         (absl::StartsWith(host, "127.") &&
          host.find_first_not_of("0123456789.") == absl::string_view::npos);
}

absl::Status CheckUrl(absl::string_view url, absl::string_view what) {
  absl::string_view rest = url;
  if (!absl::ConsumePrefix(&rest, "https://") && !absl::ConsumePrefix(&rest, "http://")) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": is not an address; write http://HOST:PORT/v1 or https://..."));
  }
  const absl::string_view authority = rest.substr(0, rest.find('/'));
  if (absl::StrContains(authority, "@")) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": holds a user or password; use key_file or key_environment"));
  }
  if (authority.empty() || url.find_first_of("?# \\\"<>") != absl::string_view::npos ||
      std::any_of(url.begin(), url.end(), [](char c) {
        return absl::ascii_iscntrl(static_cast<unsigned char>(c)) ||
               static_cast<signed char>(c) < 0;
      })) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": has no host, or characters that no address has; no query is taken"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, Override>> ReadOverrides(const SettingsReader& agents) {
  std::map<std::string, Override> overrides;
  for (const std::string& name : agents.names()) {
    if (!IsPurpose(name)) {
      std::vector<absl::string_view> known;
      for (const auto& [purpose, agent] : kAgents) {
        if (std::find(known.begin(), known.end(), agent) == known.end()) known.push_back(agent);
        known.push_back(purpose);
      }
      return agents.Error(name, absl::StrCat("is neither an agent nor a question; there are ",
                                             absl::StrJoin(known, ", ")));
    }
    GALEN_ASSIGN_OR_RETURN(SettingsReader reader, agents.Map(name));
    Override& one = overrides[name];
    GALEN_RETURN_IF_ERROR(reader.Text("model", one.model));
    GALEN_RETURN_IF_ERROR(reader.OptionalNumber("temperature", 0, 2, one.temperature));
    GALEN_RETURN_IF_ERROR(reader.OptionalInteger("seed", one.seed));
    GALEN_RETURN_IF_ERROR(reader.Integer("max_tokens", 1, 1 << 20, one.max_tokens));
    GALEN_RETURN_IF_ERROR(reader.NothingElse());
  }
  return overrides;
}

absl::Status ReadLimits(SettingsReader& root, Endpoint& endpoint) {
  GALEN_ASSIGN_OR_RETURN(SettingsReader timeouts, root.Map("timeouts"));
  const absl::Duration least = absl::Milliseconds(1);
  const absl::Duration most = absl::Hours(1);
  GALEN_RETURN_IF_ERROR(timeouts.Duration("connect", least, most, endpoint.connect));
  GALEN_RETURN_IF_ERROR(timeouts.Duration("first_byte", least, most, endpoint.first_byte));
  GALEN_RETURN_IF_ERROR(timeouts.Duration("total", least, most, endpoint.total));
  GALEN_RETURN_IF_ERROR(timeouts.NothingElse());

  GALEN_ASSIGN_OR_RETURN(SettingsReader retries, root.Map("retries"));
  GALEN_RETURN_IF_ERROR(retries.Integer("most", 0, 10, endpoint.retry.most));
  GALEN_RETURN_IF_ERROR(retries.Duration("base", least, most, endpoint.retry.base));
  GALEN_RETURN_IF_ERROR(retries.Duration("longest", least, most, endpoint.retry.longest));
  GALEN_RETURN_IF_ERROR(retries.NothingElse());

  GALEN_ASSIGN_OR_RETURN(SettingsReader circuit, root.Map("circuit"));
  CircuitPolicy& policy = endpoint.circuit;
  GALEN_RETURN_IF_ERROR(circuit.Integer("consecutive", 1, 1000, policy.consecutive));
  GALEN_RETURN_IF_ERROR(circuit.Number("rate", 0.01, 1, policy.rate));
  GALEN_RETURN_IF_ERROR(circuit.Integer("least", 1, 100000, policy.least));
  GALEN_RETURN_IF_ERROR(circuit.Duration("window", least, most, policy.window));
  GALEN_RETURN_IF_ERROR(circuit.Duration("cool_down", least, most, policy.cool_down));
  GALEN_RETURN_IF_ERROR(circuit.Duration("longest", least, most, policy.longest));
  GALEN_RETURN_IF_ERROR(circuit.NothingElse());

  GALEN_RETURN_IF_ERROR(root.Integer("concurrency", 1, 256, endpoint.concurrency));
  GALEN_RETURN_IF_ERROR(
      root.Duration("hedge_after", absl::ZeroDuration(), most, endpoint.hedge_after));
  int bytes = static_cast<int>(endpoint.most_bytes);
  GALEN_RETURN_IF_ERROR(root.Integer("most_bytes", 1024, 64 << 20, bytes));
  endpoint.most_bytes = static_cast<std::size_t>(bytes);
  return absl::OkStatus();
}

absl::Status ReadConnection(SettingsReader& root, Endpoint& endpoint) {
  GALEN_RETURN_IF_ERROR(root.Text("url", endpoint.url));
  if (endpoint.url.empty()) {
    return root.Error("url", "is missing; write the address that the server prints, with its /v1");
  }
  while (absl::EndsWith(endpoint.url, "/")) endpoint.url.pop_back();
  if (const absl::Status status = CheckUrl(endpoint.url, "url"); !status.ok()) {
    return root.Error("", status.message());
  }
  int api = 0;
  GALEN_RETURN_IF_ERROR(root.Choice("api", {"openai", "azure"}, api));
  endpoint.api = api == 0 ? Api::kOpenAi : Api::kAzure;
  GALEN_RETURN_IF_ERROR(root.Text("api_version", endpoint.api_version));
  for (const char c : endpoint.api_version) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-') {
      return root.Error("api_version", "is not a version; write one as 2024-10-21");
    }
  }
  if (endpoint.api == Api::kAzure && endpoint.api_version.empty()) {
    return root.Error("api_version",
                      "is missing, and api azure needs it; write 2024-10-21 or later");
  }
  int authorization = endpoint.api == Api::kAzure ? 1 : 0;
  GALEN_RETURN_IF_ERROR(root.Choice("authorization", {"bearer", "api-key"}, authorization));
  endpoint.authorization = authorization == 0 ? Authorization::kBearer : Authorization::kApiKey;
  if (root.Has("key")) {
    return root.Error("key",
                      "a key does not belong into this file; use key_file or "
                      "key_environment");
  }
  GALEN_RETURN_IF_ERROR(root.Text("key_file", endpoint.key_file));
  GALEN_RETURN_IF_ERROR(root.Text("key_environment", endpoint.key_environment));
  GALEN_RETURN_IF_ERROR(root.Bool("plain_http", endpoint.plain_http));
  const bool has_key = !endpoint.key_file.empty() || !endpoint.key_environment.empty();
  if (!endpoint.key_file.empty() && !endpoint.key_environment.empty()) {
    return root.Error("key_file", "is set together with key_environment; keep one of them");
  }
  if (has_key && absl::StartsWith(endpoint.url, "http://") &&
      !IsThisMachine(HostOf(endpoint.url)) && !endpoint.plain_http) {
    return root.Error("url",
                      "would send the key and the incident over a network in the clear; use "
                      "https, or write plain_http: true where that network is trusted");
  }
  GALEN_RETURN_IF_ERROR(root.Text("proxy", endpoint.proxy));
  if (endpoint.proxy != "environment" && endpoint.proxy != "none") {
    if (const absl::Status status = CheckUrl(endpoint.proxy, "proxy"); !status.ok()) {
      return root.Error("", status.message());
    }
  }
  GALEN_ASSIGN_OR_RETURN(SettingsReader tls, root.Map("tls"));
  GALEN_RETURN_IF_ERROR(tls.Text("ca_file", endpoint.ca_file));
  GALEN_RETURN_IF_ERROR(tls.Text("certificate_file", endpoint.certificate_file));
  GALEN_RETURN_IF_ERROR(tls.Text("certificate_key_file", endpoint.certificate_key_file));
  if (endpoint.certificate_file.empty() != endpoint.certificate_key_file.empty()) {
    return root.Error("tls", "certificate_file and certificate_key_file go together");
  }
  return tls.NothingElse();
}

absl::Status ReadModels(SettingsReader& root, Endpoint& endpoint) {
  GALEN_RETURN_IF_ERROR(root.Text("model", endpoint.model));
  if (endpoint.model.empty()) {
    return root.Error("model",
                      "is missing; `curl URL/models` lists what a server has; for azure it "
                      "is the name of the deployment");
  }
  GALEN_RETURN_IF_ERROR(root.OptionalNumber("temperature", 0, 2, endpoint.temperature));
  std::string seed;
  GALEN_RETURN_IF_ERROR(root.OptionalInteger("seed", endpoint.seed));
  GALEN_RETURN_IF_ERROR(root.Text("seed", seed));
  endpoint.sends_seed = seed != "none";
  GALEN_RETURN_IF_ERROR(root.Integer("max_tokens", 1, 1 << 20, endpoint.max_tokens));
  int field = 0;
  GALEN_RETURN_IF_ERROR(
      root.Choice("max_tokens_field", {"max_tokens", "max_completion_tokens"}, field));
  endpoint.completion_tokens_field = field == 1;
  GALEN_RETURN_IF_ERROR(root.Bool("stream", endpoint.stream));
  std::vector<absl::string_view> names;
  for (const auto& [name, value] : kStructured) names.push_back(name);
  int structured = 0;
  GALEN_RETURN_IF_ERROR(root.Choice("structured", names, structured));
  endpoint.structured = kStructured[static_cast<std::size_t>(structured)].second;
  int tools = 0;
  GALEN_RETURN_IF_ERROR(root.Choice("tools", {"json", "openai"}, tools));
  endpoint.tools = tools == 1;
  GALEN_RETURN_IF_ERROR(root.Bool("schema_bounds", endpoint.schema_bounds));
  GALEN_RETURN_IF_ERROR(root.Integer("context", 4096, 1 << 24, endpoint.context));
  GALEN_ASSIGN_OR_RETURN(SettingsReader agents, root.Map("agents"));
  GALEN_ASSIGN_OR_RETURN(endpoint.overrides, ReadOverrides(agents));

  GALEN_ASSIGN_OR_RETURN(SettingsReader embedding, root.Map("embedding"));
  GALEN_RETURN_IF_ERROR(embedding.Text("model", endpoint.embedding_model));
  GALEN_RETURN_IF_ERROR(embedding.Integer("dimensions", 1, 4096, endpoint.embedding_dimensions));
  GALEN_RETURN_IF_ERROR(embedding.Duration("limit", absl::Milliseconds(1), absl::Minutes(1),
                                           endpoint.embedding_limit));
  if (endpoint.embedding_model.empty() != (endpoint.embedding_dimensions == 0)) {
    return root.Error("embedding",
                      "model and dimensions go together; `galen llm check` says how "
                      "many dimensions the model has");
  }
  return embedding.NothingElse();
}

}  // namespace

absl::string_view NameOf(Structured structured) {
  for (const auto& [name, value] : kStructured) {
    if (value == structured) return name;
  }
  return "";
}

absl::string_view AgentOf(absl::string_view purpose) {
  for (const auto& [name, agent] : kAgents) {
    if (name == purpose) return agent;
  }
  return purpose;
}

absl::StatusOr<Endpoint> ParseEndpoint(absl::string_view text, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(SettingsReader root, SettingsReader::Open(text, file));
  Endpoint endpoint;
  GALEN_RETURN_IF_ERROR(ReadConnection(root, endpoint));
  GALEN_RETURN_IF_ERROR(ReadModels(root, endpoint));
  GALEN_RETURN_IF_ERROR(ReadLimits(root, endpoint));
  GALEN_RETURN_IF_ERROR(root.NothingElse());
  return endpoint;
}

absl::StatusOr<Endpoint> LoadEndpoint(const std::string& file) {
  GALEN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(file, kMostFileBytes));
  return ParseEndpoint(text, file);
}

absl::StatusOr<http::Secret> ReadKey(const Endpoint& endpoint) {
  std::string source;
  std::string key;
  if (!endpoint.key_file.empty()) {
    source = absl::StrCat("key_file ", endpoint.key_file);
    absl::StatusOr<std::string> read = ReadSmallFile(endpoint.key_file, kMostKeyBytes);
    if (!read.ok()) {
      return absl::FailedPreconditionError(absl::StrCat("key_file ", read.status().message()));
    }
    key = *std::move(read);
  } else if (!endpoint.key_environment.empty()) {
    source = absl::StrCat("key_environment ", endpoint.key_environment);
    const char* const value = std::getenv(endpoint.key_environment.c_str());
    if (value == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat(source, ": the variable is not set"));
    }
    key = value;
  } else {
    return http::Secret();
  }
  key = std::string(absl::StripAsciiWhitespace(key));
  if (key.empty()) return absl::FailedPreconditionError(absl::StrCat(source, ": holds no key"));
  if (key.size() > kMostKeyBytes || !std::all_of(key.begin(), key.end(), [](char c) {
        return absl::ascii_isgraph(static_cast<unsigned char>(c));
      })) {
    return absl::FailedPreconditionError(
        absl::StrCat(source, ": holds more than a key; write the key alone, on one line"));
  }
  return http::Secret(std::move(key));
}

Settings SettingsFor(const Endpoint& endpoint, absl::string_view purpose) {
  Settings settings{endpoint.model,      endpoint.temperature, endpoint.seed,
                    endpoint.max_tokens, endpoint.tools,       endpoint.context};
  for (const absl::string_view name : {AgentOf(purpose), purpose}) {
    const auto found = endpoint.overrides.find(std::string(name));
    if (found == endpoint.overrides.end()) continue;
    const Override& one = found->second;
    if (!one.model.empty()) settings.model = one.model;
    if (one.temperature.has_value()) settings.temperature = one.temperature;
    if (one.seed.has_value()) settings.seed = one.seed;
    if (one.max_tokens > 0) settings.max_tokens = one.max_tokens;
  }
  return settings;
}

}  // namespace galen::llm
