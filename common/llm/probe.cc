#include "common/llm/probe.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/llm/http_client.h"

namespace galen::llm {
namespace {

using Json = nlohmann::json;
using State = Probed::State;

constexpr char kSchema[] =
    R"({"type":"object","properties":{"verdict":{"type":"string","enum":["alpha-17","beta-29"]}},)"
    R"("required":["verdict"],"additionalProperties":false})";
constexpr char kBounded[] =
    R"({"type":"object","properties":{"why":{"type":"array","items":{"type":"string","maxLength":40},)"
    R"("maxItems":2}},"required":["why"],"additionalProperties":false})";
// Room for models that think before they answer.
constexpr int kMostTokens = 512;

// In the order of how much they hold.
constexpr Structured kWays[] = {Structured::kJsonSchema, Structured::kStructuredOutputs,
                                Structured::kGuidedJson, Structured::kJsonObject,
                                Structured::kWords};

bool KeepsToSchema(const std::string& text) {
  const Json answer = ParseJson(text);
  if (!answer.is_object() || answer.size() != 1) return false;
  const auto verdict = answer.find("verdict");
  return verdict != answer.end() && (*verdict == "alpha-17" || *verdict == "beta-29");
}

// Whether the endpoint answered at all: then what it does not do, it cannot do.
bool Answered(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsDataLoss(status);
}

State StateOf(const absl::Status& status) { return Answered(status) ? State::kNo : State::kFailed; }

class Prober {
 public:
  // A copy of the configuration, as the probe wants it: each question once, and each for itself.
  explicit Prober(const Endpoint& endpoint) : endpoint_(endpoint) {
    endpoint_.retry.most = 0;
    endpoint_.hedge_after = absl::ZeroDuration();
    endpoint_.stream = false;
    endpoint_.circuit.consecutive = std::numeric_limits<int>::max();
    endpoint_.circuit.least = std::numeric_limits<int>::max();
  }

  absl::StatusOr<ProbeReport> Run() {
    GALEN_ASSIGN_OR_RETURN(client_, HttpClient::Make(endpoint_));
    Models();
    report_.chat = Chat();
    if (report_.chat.ok()) {
      for (const Structured way : kWays) Structure(way);
      Bounds();
      Tools();
      Room();
      Stream();
      PrefixCache();
    }
    Embeddings();
    return std::move(report_);
  }

 private:
  ChatRequest Question(const std::string& text) const {
    return {.messages = {{Message::Role::kUser, text}}, .max_tokens = kMostTokens};
  }

  // Without the name of the endpoint, which the whole report is about.
  std::string Said(const absl::Status& status) const {
    absl::string_view text = status.message();
    absl::ConsumePrefix(&text, absl::StrCat("llm ", endpoint_.url, ": "));
    return CleanText(text, 240);
  }

  void Add(Probed probed) { report_.abilities.push_back(std::move(probed)); }

  void Models() {
    const absl::Time begin = absl::Now();
    auto models = client_->Models({});
    Probed probed{.ability = "models", .latency = absl::Now() - begin};
    if (!models.ok()) {
      probed.state = StateOf(models.status());
      probed.detail = Said(models.status());
    } else if (std::find(models->begin(), models->end(), endpoint_.model) != models->end()) {
      probed.state = State::kYes;
      probed.detail = absl::StrCat(models->size(), " offered, ", endpoint_.model, " among them");
    } else if (endpoint_.api == Api::kAzure) {
      probed.state = State::kYes;
      probed.detail = absl::StrCat(models->size(), " offered; deployments are not listed");
    } else {
      probed.state = State::kNo;
      models->resize(std::min<std::size_t>(models->size(), 5));
      probed.detail = absl::StrCat(endpoint_.model,
                                   " is not among those offered: ", absl::StrJoin(*models, ", "));
    }
    Add(std::move(probed));
  }

  absl::Status Chat() {
    const auto answer = client_->Chat(Question("Answer with the one word: ready"), {});
    Probed probed{.ability = "chat"};
    if (answer.ok()) {
      probed.state = State::kYes;
      probed.detail = absl::StrCat("model ", answer->model,
                                   answer->usage.reported ? "" : "; it does not count tokens");
      probed.latency = answer->latency;
      probed.usage = answer->usage;
    } else {
      probed.state = StateOf(answer.status());
      probed.detail = Said(answer.status());
    }
    Add(std::move(probed));
    return answer.status();
  }

  // A model that merely follows instructions breaks this schema, because it is asked to.
  void Structure(Structured way) {
    Endpoint endpoint = endpoint_;
    endpoint.structured = way;
    const bool enforcing = way != Structured::kJsonObject && way != Structured::kWords;
    ChatRequest request =
        Question(enforcing ? "Write a short sentence about the sea. Do not write JSON."
                           : "Choose a verdict, whichever you like, and answer in JSON.");
    request.schema = JsonSchema{"galen_probe", kSchema};
    Probed probed{.ability = absl::StrCat("structured: ", NameOf(way))};
    const auto client = HttpClient::Make(endpoint);
    const auto answer =
        client.ok() ? (*client)->Chat(request, {}) : absl::StatusOr<ChatAnswer>(client.status());
    if (!answer.ok()) {
      probed.state = StateOf(answer.status());
      probed.detail = Said(answer.status());
    } else {
      const bool kept = KeepsToSchema(answer->text);
      probed.state = kept ? State::kYes : State::kNo;
      probed.detail = kept ? (enforcing ? "enforced" : "kept, not enforced")
                           : "accepted, but the answer does not keep to the schema";
      probed.latency = answer->latency;
      probed.usage = answer->usage;
      if (kept && !report_.best.has_value()) report_.best = way;
      if (kept && way == endpoint_.structured) report_.usable = true;
    }
    Add(std::move(probed));
  }

  // Some servers refuse a schema with bounds of texts and lists.
  void Bounds() {
    Probed probed{.ability = "schema bounds"};
    if (!report_.best.has_value() || *report_.best == Structured::kJsonObject ||
        *report_.best == Structured::kWords) {
      probed.detail = "no way of structured answers is enforced";
      Add(std::move(probed));
      return;
    }
    Endpoint endpoint = endpoint_;
    endpoint.structured = *report_.best;
    endpoint.schema_bounds = true;
    ChatRequest request = Question("Choose a verdict, whichever you like, and say why.");
    request.schema = JsonSchema{"galen_probe", kBounded};
    const auto client = HttpClient::Make(endpoint);
    const auto answer =
        client.ok() ? (*client)->Chat(request, {}) : absl::StatusOr<ChatAnswer>(client.status());
    if (answer.ok()) {
      probed.state = State::kYes;
      probed.detail = "accepted";
      probed.latency = answer->latency;
      probed.usage = answer->usage;
    } else {
      probed.state = StateOf(answer.status());
      probed.detail = absl::StrCat("set schema_bounds: false; ", Said(answer.status()));
    }
    Add(std::move(probed));
  }

  void Tools() {
    ChatRequest request = Question("Look up what the check gpu.ecc said.");
    request.tools.push_back(
        {"show_check", "The result of a check",
         R"({"type":"object","properties":{"check":{"type":"string"}},"required":["check"]})"});
    const auto answer = client_->Chat(request, {});
    Probed probed{.ability = "tool calls"};
    if (!answer.ok()) {
      probed.state = StateOf(answer.status());
      probed.detail = Said(answer.status());
    } else {
      const bool used = answer->tool_uses.size() == 1 &&
                        answer->tool_uses[0].name == "show_check" &&
                        ParseJson(answer->tool_uses[0].arguments).is_object();
      probed.state = used ? State::kYes : State::kNo;
      probed.detail = used ? (endpoint_.tools ? "used" : "tools: openai would work, too")
                           : "not used; investigations take JSON turns (tools: json)";
      probed.latency = answer->latency;
      probed.usage = answer->usage;
    }
    Add(std::move(probed));
  }

  void Room() {
    Probed probed{.ability = "prompts", .state = State::kYes};
    probed.detail =
        absl::StrCat(endpoint_.context < kRoomForLongForm ? "the short form" : "the long form",
                     ", by context: ", endpoint_.context);
    Add(std::move(probed));
  }

  void Stream() {
    int pieces = 0;
    absl::Time first;
    CallOptions options;
    options.on_text = [&](absl::string_view) {
      if (pieces++ == 0) first = absl::Now();
      return true;
    };
    const absl::Time begin = absl::Now();
    const auto answer = client_->Chat(Question("Count from one to ten in words."), options);
    Probed probed{.ability = "streaming"};
    if (!answer.ok()) {
      probed.state = StateOf(answer.status());
      probed.detail = Said(answer.status());
    } else {
      // A server that ignores the wish sends all in one piece.
      probed.state = pieces > 1 ? State::kYes : State::kNo;
      probed.detail =
          absl::StrCat(pieces, pieces == 1 ? " piece" : " pieces", ", the first after ",
                       absl::FormatDuration(absl::Trunc(first - begin, absl::Milliseconds(1))));
      probed.latency = answer->latency;
      probed.usage = answer->usage;
    }
    Add(std::move(probed));
  }

  // The same long beginning twice: the second time a server that keeps it says so.
  void PrefixCache() {
    // Servers keep whole blocks, hosted ones only prompts of 1024 tokens and more.
    std::string beginning = "These are numbers without meaning:";
    for (int i = 0; i < 700; ++i) absl::StrAppend(&beginning, " ", i);
    Probed probed{.ability = "prefix cache"};
    for (const char* end : {" Answer: one", " Answer: two"}) {
      const auto answer = client_->Chat(Question(absl::StrCat(beginning, end)), {});
      if (!answer.ok()) {
        probed.state = StateOf(answer.status());
        probed.detail = Said(answer.status());
        Add(std::move(probed));
        return;
      }
      probed.latency = answer->latency;
      probed.usage = answer->usage;
    }
    if (!probed.usage.reported) {
      probed.state = State::kFailed;
      probed.detail = "unknown: the endpoint does not count tokens";
    } else if (probed.usage.cached_tokens > 0) {
      probed.state = State::kYes;
      probed.detail = absl::StrCat(probed.usage.cached_tokens, " of ", probed.usage.prompt_tokens,
                                   " tokens found again");
    } else {
      probed.state = State::kNo;
      probed.detail = "none reported; some servers tell it only when started so, see docs/llm.md";
    }
    Add(std::move(probed));
  }

  void Embeddings() {
    Probed probed{.ability = "embeddings"};
    if (endpoint_.embedding_model.empty()) {
      probed.detail = "no model is set for them";
      Add(std::move(probed));
      return;
    }
    const absl::Time begin = absl::Now();
    const auto embeddings = client_->Embed({.texts = {"a link went down", "out of memory"}}, {});
    probed.latency = absl::Now() - begin;
    if (!embeddings.ok()) {
      probed.state = StateOf(embeddings.status());
      probed.detail = Said(embeddings.status());
    } else {
      const int dimensions = static_cast<int>(embeddings->vectors.front().size());
      probed.state = dimensions == endpoint_.embedding_dimensions ? State::kYes : State::kNo;
      probed.detail = absl::StrCat(dimensions, " dimensions");
      if (probed.state == State::kNo) {
        absl::StrAppend(&probed.detail, "; the configuration says ",
                        endpoint_.embedding_dimensions);
      }
      probed.usage = embeddings->usage;
    }
    Add(std::move(probed));
  }

  Endpoint endpoint_;
  std::unique_ptr<HttpClient> client_;
  ProbeReport report_;
};

}  // namespace

absl::StatusOr<ProbeReport> Probe(const Endpoint& endpoint) { return Prober(endpoint).Run(); }

}  // namespace galen::llm
