#include "services/gateway/webhooks/sender.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "services/gateway/webhooks/yaml_reader.h"

namespace galen::gateway::webhooks {
namespace {

using knowledge::Fields;
using knowledge::FileContext;
using knowledge::YamlNode;

constexpr absl::string_view kSenderKeys[] = {
    "sender", "title",  "body",  "answer", "schemes",  "expect",  "events", "event", "incident",
    "time",   "author", "rules", "opens",  "overload", "retries", "poll",   "news"};
constexpr absl::string_view kSchemeKeys[] = {
    "scheme",   "kind",   "header", "query",     "prefix",           "separator",
    "encoding", "secret", "signs",  "id_header", "timestamp_header", "tolerance"};
constexpr absl::string_view kOpensKeys[] = {"title", "text",   "nodes", "job",
                                            "start", "labels", "links", "ticket"};
constexpr absl::string_view kSenderPollKeys[] = {"url",   "settings", "page_size", "first_page",
                                                 "items", "updated",  "since",     "put",
                                                 "set",   "headers"};

constexpr knowledge::Word<Scheme::Kind> kKinds[] = {{"hmac-sha256", Scheme::Kind::kHmacSha256},
                                                    {"ed25519", Scheme::Kind::kEd25519},
                                                    {"token", Scheme::Kind::kToken}};
constexpr knowledge::Word<Scheme::Encoding> kEncodings[] = {{"hex", Scheme::Encoding::kHex},
                                                            {"base64", Scheme::Encoding::kBase64}};
constexpr knowledge::Word<Scheme::SecretForm> kSecretForms[] = {
    {"text", Scheme::SecretForm::kText}, {"base64", Scheme::SecretForm::kBase64}};
constexpr knowledge::Word<Sender::Body> kBodies[] = {{"json", Sender::Body::kJson},
                                                     {"form", Sender::Body::kForm}};
constexpr knowledge::Word<Sender::Answer> kAnswers[] = {{"galen", Sender::Answer::kGalen},
                                                        {"slack", Sender::Answer::kSlack}};
constexpr knowledge::Word<Action> kActions[] = {{"open", Action::kOpen},
                                                {"update", Action::kUpdate},
                                                {"close", Action::kClose},
                                                {"ignore", Action::kIgnore},
                                                {"probe", Action::kProbe}};

Scheme ReadScheme(const YamlNode& node, const FileContext& context) {
  const Fields fields(context, node, "scheme", kSchemeKeys);
  const PartReader reader(fields, context);
  Scheme scheme;
  scheme.name = fields.RequiredText("scheme");
  fields.RequiredText("kind");
  scheme.kind = fields.OneOf<Scheme::Kind>("kind", kKinds).value_or(scheme.kind);
  scheme.header = fields.Text("header");
  scheme.query = fields.Text("query");
  scheme.prefix = fields.Text("prefix");
  if (const std::string text = fields.Text("separator"); !text.empty()) {
    if (text.size() == 1) scheme.separator = text[0];
    if (text.size() != 1) {
      context.Error(fields.Find("separator")->line, "\"separator\" is not one character",
                    "write one, in quotes");
    }
  }
  scheme.encoding =
      fields.OneOf<Scheme::Encoding>("encoding", kEncodings).value_or(scheme.encoding);
  scheme.secret = fields.OneOf<Scheme::SecretForm>("secret", kSecretForms).value_or(scheme.secret);
  if (fields.Has("signs")) scheme.signs = fields.Text("signs");
  scheme.id_header = fields.Text("id_header");
  scheme.timestamp_header = fields.Text("timestamp_header");
  scheme.tolerance =
      reader.DurationAt("tolerance", absl::Seconds(1), absl::Hours(1), scheme.tolerance);
  if (const absl::Status status = CheckScheme(scheme); !status.ok()) {
    context.Error(node.line, absl::StrCat("scheme \"", scheme.name, "\" ", status.message()),
                  "see docs/webhooks.md for the schemes");
  }
  return scheme;
}

Rule ReadRule(const YamlNode& node, const FileContext& context) {
  const Fields fields(context, node, "rule", {"when", "do", "time"});
  const PartReader reader(fields, context);
  Rule rule;
  rule.when = reader.Conditions("when");
  fields.RequiredText("do");
  rule.action = fields.OneOf<Action>("do", kActions).value_or(Action::kIgnore);
  rule.time = reader.SelectorAt("time");
  return rule;
}

IncidentForm ReadForm(const YamlNode& node, const FileContext& context) {
  const Fields fields(context, node, "form of an incident", kOpensKeys);
  const PartReader reader(fields, context);
  IncidentForm form;
  fields.RequiredText("title");
  form.title = reader.TemplateAt("title");
  for (const YamlNode* const part : fields.Entries("text")) {
    const Fields of_part(context, *part, "part of a text", {"each", "line"});
    const PartReader part_reader(of_part, context);
    of_part.RequiredText("line");
    form.text.push_back({part_reader.PointerAt("each"), part_reader.TemplateAt("line")});
  }
  form.nodes = reader.Selectors("nodes");
  form.job = reader.SelectorAt("job");
  form.start = reader.SelectorAt("start");
  form.labels = reader.Templates("labels");
  form.links = reader.Templates("links");
  form.ticket = reader.Templates("ticket");
  return form;
}

TicketUpdateForm ReadNews(const YamlNode& node, const FileContext& context) {
  const Fields fields(context, node, "news", {"ticket", "comment", "closed", "text"});
  const PartReader reader(fields, context);
  TicketUpdateForm news;
  news.ticket = reader.Selectors("ticket");
  if (news.ticket.empty()) {
    context.Error(node.line, "nothing identifies the ticket", "add `ticket: [/place/of/an/id]`");
  }
  news.comment = reader.Conditions("comment");
  news.closed = reader.Conditions("closed");
  news.text = reader.TemplateAt("text");
  return news;
}

Poll ReadPoll(const YamlNode& node, const FileContext& context) {
  const Fields fields(context, node, "poll", kSenderPollKeys);
  const PartReader reader(fields, context);
  Poll poll;
  poll.url = fields.RequiredText("url");
  if (!absl::StrContains(poll.url, "{since}")) {
    context.Error(node.line, "\"url\" of a poll asks for everything, each time", "use {since}");
  }
  poll.settings = reader.TextMap("settings");
  poll.page_size = reader.Integer("page_size", 1, 1000, poll.page_size);
  poll.first_page = reader.Integer("first_page", 0, 1, poll.first_page);
  poll.items = reader.PointerAt("items").value_or(Pointer());
  fields.RequiredText("updated");
  poll.updated = reader.SelectorAt("updated").value_or(Selector());
  poll.since = fields.RequiredText("since");
  poll.put = reader.PointerAt("put").value_or(Pointer());
  poll.set = reader.TextMap("set");
  for (const auto& [pointer, text] : poll.set) {
    reader.Take(Pointer::Parse(pointer), fields.Find("set")->line, "write /a/place: text");
  }
  poll.headers = reader.TextMap("headers");
  return poll;
}

void ReadSchemes(const Fields& fields, const FileContext& context, Sender& sender) {
  for (const YamlNode* const node : fields.Entries("schemes")) {
    Scheme scheme = ReadScheme(*node, context);
    const bool twice =
        std::any_of(sender.schemes.begin(), sender.schemes.end(),
                    [&](const Scheme& earlier) { return earlier.name == scheme.name; });
    if (twice) {
      context.Error(node->line, absl::StrCat("scheme \"", scheme.name, "\" is there twice"),
                    "rename one of them");
    }
    sender.schemes.push_back(std::move(scheme));
  }
  if (sender.schemes.empty()) {
    context.Error(fields.line(), "a sender without schemes could be anybody", "add `schemes`");
  }
}

bool Begins(const std::string& text, const std::string& begin) {
  return absl::StartsWithIgnoreCase(text, begin);
}

}  // namespace

bool Condition::Holds(const Event& event) const {
  const std::vector<std::string> texts = at.Texts(event);
  if (exists.has_value() && *exists == texts.empty()) return false;
  const auto any = [&](const std::vector<std::string>& wanted, const auto& same) {
    return wanted.empty() || std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
             return std::any_of(wanted.begin(), wanted.end(),
                                [&](const std::string& one) { return same(text, one); });
           });
  };
  return any(is, [](const std::string& text,
                    const std::string& one) { return absl::EqualsIgnoreCase(text, one); }) &&
         any(begins, Begins);
}

bool AllHold(const std::vector<Condition>& conditions, const Event& event) {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const Condition& condition) { return condition.Holds(event); });
}

std::optional<Sender> ParseSender(absl::string_view text, const std::string& file,
                                  std::vector<knowledge::Problem>& problems) {
  const std::size_t before = problems.size();
  const std::optional<YamlNode> root = knowledge::ReadYaml(text, file, problems);
  if (!root.has_value()) return std::nullopt;
  const FileContext context{file, problems};
  const Fields fields(context, *root, "sender", kSenderKeys);
  const PartReader reader(fields, context);
  Sender sender;
  sender.name = fields.RequiredText("sender");
  sender.title = fields.RequiredText("title");
  sender.body = fields.OneOf<Sender::Body>("body", kBodies).value_or(sender.body);
  sender.answer = fields.OneOf<Sender::Answer>("answer", kAnswers).value_or(sender.answer);
  if (root->kind == YamlNode::Kind::kMap) ReadSchemes(fields, context, sender);
  sender.expect = reader.Conditions("expect");
  sender.events = reader.PointerAt("events");
  sender.event = reader.Selectors("event");
  sender.incident = reader.Selectors("incident");
  if (sender.incident.empty()) {
    context.Error(fields.line(), "nothing identifies the incident of an event",
                  "add `incident: [/place/of/an/id]`");
  }
  sender.time = reader.SelectorAt("time");
  sender.author = reader.Selectors("author");
  for (const YamlNode* const node : fields.Entries("rules")) {
    sender.rules.push_back(ReadRule(*node, context));
  }
  if (sender.rules.empty()) {
    context.Error(fields.line(), "a sender without rules never opens anything", "add `rules`");
  }
  if (const YamlNode* const node = fields.Find("opens"); node != nullptr) {
    sender.form = ReadForm(*node, context);
  } else {
    context.Error(fields.line(), "the text of an incident is missing", "add `opens`");
  }
  if (const YamlNode* const node = fields.Find("news"); node != nullptr) {
    sender.news = ReadNews(*node, context);
  }
  sender.overload = reader.Integer("overload", 429, 504, sender.overload);
  if (sender.overload != 429 && sender.overload < 503) {
    context.Error(fields.Find("overload")->line, "\"overload\" does not ask senders to retry",
                  "write 429, 503 or 504");
  }
  sender.retries = reader.BoolAt("retries", true);
  if (const YamlNode* const node = fields.Find("poll"); node != nullptr) {
    sender.poll = ReadPoll(*node, context);
  }
  if (problems.size() > before) return std::nullopt;
  return sender;
}

absl::StatusOr<std::map<std::string, Sender>> LoadSenders(
    absl::Span<const std::string> directories) {
  std::map<std::string, Sender> senders;
  std::vector<knowledge::Problem> problems;
  for (const std::string& directory : directories) {
    const std::filesystem::path folder =
        std::filesystem::path(directory) / std::string(knowledge::kWebhooksFolder);
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error)) continue;
    std::vector<std::string> files;
    for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
         it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (absl::EndsWith(name, ".yaml") && !absl::StartsWith(name, ".")) {
        files.push_back(it->path().string());
      }
    }
    if (error) {
      return absl::NotFoundError(absl::StrCat(folder.string(), ": ", error.message()));
    }
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) {
      GALEN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(file));
      std::optional<Sender> sender = ParseSender(text, file, problems);
      if (!sender.has_value()) continue;
      const std::string name = sender->name;
      senders.insert_or_assign(name, *std::move(sender));
    }
  }
  GALEN_RETURN_IF_ERROR(ToStatus(problems));
  return senders;
}

}  // namespace galen::gateway::webhooks
