#include "services/gateway/webhooks/endpoints.h"

#include <fnmatch.h>

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
#include "services/gateway/webhooks/yaml_reader.h"

namespace galen::gateway::webhooks {
namespace {

using knowledge::Fields;
using knowledge::FileContext;
using knowledge::YamlNode;

constexpr absl::string_view kEndpointKeys[] = {
    "endpoint", "sender",        "tenant", "scheme",      "secrets",  "header", "timestamp_header",
    "nodes",    "default_nodes", "only",   "own_authors", "strategy", "poll",   "tickets"};
constexpr absl::string_view kPollKeys[] = {"settings", "token", "ca_file", "every"};
constexpr std::size_t kShortSecret = 16;

// Reads the fields of endpoints, one after the other.
class SiteReader {
 public:
  SiteReader(const FileContext& context, std::string folder, ReadSecret read, Site& site)
      : context_(context), folder_(std::move(folder)), read_(read), site_(site) {}

  void Read(const YamlNode& node) {
    const Fields fields(context_, node, "endpoint", kEndpointKeys);
    const PartReader reader(fields, context_);
    Endpoint endpoint;
    endpoint.name = fields.RequiredText("endpoint");
    CheckSegment(fields, "endpoint", endpoint.name);
    endpoint.tenant = fields.RequiredText("tenant");
    CheckSegment(fields, "tenant", endpoint.tenant);
    endpoint.nodes = reader.Texts("nodes");
    endpoint.default_nodes = reader.Texts("default_nodes");
    endpoint.only = reader.Conditions("only");
    endpoint.own_authors = reader.Texts("own_authors");
    endpoint.strategy = fields.Text("strategy");
    endpoint.sender = FindSender(fields);
    if (endpoint.sender == nullptr) return;
    endpoint.tickets = fields.Text("tickets");
    if (!endpoint.tickets.empty() && !endpoint.sender->news.has_value()) {
      context_.Error(fields.Find("tickets")->line,
                     absl::StrCat("sender \"", endpoint.sender->name, "\" has no ticket events"),
                     "leave `tickets` out, or add `news` to the sender");
    }
    ChooseScheme(fields, endpoint);
    for (const std::string& file : reader.Texts("secrets")) {
      AddKey(file, fields.Find("secrets")->line, endpoint);
    }
    if (endpoint.keys.empty()) {
      context_.Error(fields.line(),
                     absl::StrCat("endpoint \"", endpoint.name,
                                  "\" has no secret: anybody could "
                                  "send"),
                     "add `secrets: [FILE]`");
    }
    ReadPoll(fields, endpoint);
    if (!endpoint.sender->retries && !endpoint.poll.has_value()) {
      site_.warnings.push_back(absl::StrCat(
          "endpoint ", endpoint.name, ": ", endpoint.sender->title,
          " never sends a lost event again; ",
          endpoint.sender->poll.has_value() ? "`poll` would find it" : "nothing finds it"));
    }
    const std::string name = endpoint.name;
    if (!site_.endpoints.emplace(name, std::move(endpoint)).second) {
      context_.Error(node.line, absl::StrCat("endpoint \"", name, "\" is there twice"),
                     "rename one of them");
    }
  }

 private:
  void CheckSegment(const Fields& fields, absl::string_view key, const std::string& text) {
    if (text.empty() || IsSegment(text)) return;
    context_.Error(fields.Find(key)->line, absl::StrCat("\"", key, "\" is \"", text, "\""),
                   "write 1 to 63 of a-z, 0-9 and \"-\"");
  }

  const Sender* FindSender(const Fields& fields) {
    const std::string name = fields.RequiredText("sender");
    if (name.empty()) return nullptr;
    const auto it = site_.senders.find(name);
    if (it != site_.senders.end()) return &it->second;
    std::vector<absl::string_view> names;
    for (const auto& [known, sender] : site_.senders) names.push_back(known);
    context_.Error(fields.Find("sender")->line,
                   absl::StrCat("there is no sender \"", name, "\" in the knowledge"),
                   knowledge::Suggest(name, names));
    return nullptr;
  }

  void ChooseScheme(const Fields& fields, Endpoint& endpoint) {
    const std::vector<Scheme>& schemes = endpoint.sender->schemes;
    const std::string name = fields.Text("scheme");
    const auto it = name.empty()
                        ? schemes.begin()
                        : std::find_if(schemes.begin(), schemes.end(),
                                       [&](const Scheme& scheme) { return scheme.name == name; });
    if (it == schemes.end()) {
      std::vector<absl::string_view> names;
      for (const Scheme& scheme : schemes) names.push_back(scheme.name);
      context_.Error(
          fields.Find("scheme")->line,
          absl::StrCat("sender \"", endpoint.sender->name, "\" has no scheme \"", name, "\""),
          knowledge::Suggest(name, names));
      return;
    }
    endpoint.scheme = *it;
    if (fields.Has("header")) endpoint.scheme.header = fields.Text("header");
    if (fields.Has("timestamp_header")) {
      endpoint.scheme.timestamp_header = fields.Text("timestamp_header");
    }
    if (const absl::Status status = CheckScheme(endpoint.scheme); !status.ok()) {
      context_.Error(fields.line(),
                     absl::StrCat("scheme \"", endpoint.scheme.name, "\" ", status.message()),
                     "leave its headers as they are");
    }
  }

  // The content of a file without its final line break; nothing, and a problem, if it cannot be
  // read.
  std::optional<std::string> Secret(const std::string& file, int line) {
    const std::filesystem::path path(file);
    const std::string whole =
        path.is_absolute() || folder_.empty() ? file : (folder_ / path).string();
    absl::StatusOr<std::string> content = read_(whole);
    if (!content.ok()) {
      context_.Error(line, std::string(content.status().message()),
                     "name a file that holds nothing but the secret");
      return std::nullopt;
    }
    return std::string(absl::StripTrailingAsciiWhitespace(*content));
  }

  void AddKey(const std::string& file, int line, Endpoint& endpoint) {
    const std::optional<std::string> text = Secret(file, line);
    if (!text.has_value()) return;
    absl::StatusOr<Key> key = Key::Make(endpoint.scheme, *text);
    if (!key.ok()) {
      context_.Error(line, absl::StrCat(file, ": ", key.status().message()),
                     "put the secret of the sender into it");
      return;
    }
    if (endpoint.scheme.kind != Scheme::Kind::kEd25519 && key->bytes().size() < kShortSecret) {
      site_.warnings.push_back(absl::StrCat("endpoint ", endpoint.name, ": the secret in ", file,
                                            " is short: ", kShortSecret,
                                            " bytes or more cannot be guessed"));
    }
    endpoint.keys.push_back(*std::move(key));
  }

  void ReadPoll(const Fields& fields, Endpoint& endpoint) {
    const YamlNode* const node = fields.Find("poll");
    if (node == nullptr) return;
    if (!endpoint.sender->poll.has_value()) {
      context_.Error(node->line,
                     absl::StrCat("sender \"", endpoint.sender->name, "\" cannot be polled"),
                     "remove `poll`, or add one to the sender");
      return;
    }
    const Fields of_poll(context_, *node, "poll", kPollKeys);
    const PartReader reader(of_poll, context_);
    EndpointPoll poll;
    poll.settings = endpoint.sender->poll->settings;
    for (const auto& [name, value] : reader.TextMap("settings")) {
      if (poll.settings.count(name) == 0) {
        context_.Error(
            of_poll.Find("settings")->line,
            absl::StrCat("a poll of \"", endpoint.sender->name, "\" has no setting \"", name, "\""),
            "remove it");
      }
      poll.settings[name] = value;
    }
    for (const auto& [name, value] : poll.settings) {
      if (!value.empty()) continue;
      context_.Error(node->line, absl::StrCat("the setting \"", name, "\" is missing"),
                     absl::StrCat("add `settings: {", name, ": ...}`"));
    }
    poll.every = reader.DurationAt("every", absl::Seconds(1), absl::Hours(24), poll.every);
    poll.ca_file = of_poll.Text("ca_file");
    if (of_poll.Has("token")) {
      poll.token = Secret(of_poll.Text("token"), of_poll.Find("token")->line).value_or("");
    }
    endpoint.poll = std::move(poll);
  }

  const FileContext& context_;
  const std::filesystem::path folder_;
  const ReadSecret read_;
  Site& site_;
};

}  // namespace

bool Endpoint::MayName(const std::string& node) const {
  return nodes.empty() || std::any_of(nodes.begin(), nodes.end(), [&](const std::string& pattern) {
           return fnmatch(pattern.c_str(), node.c_str(), 0) == 0;
         });
}

absl::StatusOr<Site> ParseSite(absl::string_view text, const std::string& file,
                               std::map<std::string, Sender> senders, ReadSecret read) {
  Site site;
  site.senders = std::move(senders);
  std::vector<knowledge::Problem> problems;
  const std::optional<YamlNode> root = knowledge::ReadYaml(text, file, problems);
  if (root.has_value()) {
    const FileContext context{file, problems};
    const Fields fields(context, *root, "file of endpoints", {"endpoints"});
    SiteReader reader(context, std::filesystem::path(file).parent_path().string(), read, site);
    for (const YamlNode* const node : fields.Entries("endpoints")) reader.Read(*node);
    if (problems.empty() && site.endpoints.empty()) {
      context.Error(0, "there is no endpoint", "add `endpoints`, see docs/webhooks.md");
    }
  }
  GALEN_RETURN_IF_ERROR(ToStatus(problems));
  return site;
}

absl::StatusOr<Site> LoadSite(const std::string& path,
                              absl::Span<const std::string> knowledge_directories) {
  GALEN_ASSIGN_OR_RETURN(auto senders, LoadSenders(knowledge_directories));
  GALEN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path));
  return ParseSite(text, path, std::move(senders),
                   [](const std::string& secret) { return ReadSmallFile(secret); });
}

}  // namespace galen::gateway::webhooks
