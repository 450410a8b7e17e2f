#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/secrets.h"
#include "common/llm/wire.h"

namespace galen::llm {
namespace {

// Keeps the order of the fields, on which prefix caches depend.
using OrderedJson = nlohmann::ordered_json;

absl::string_view NameOf(Message::Role role) {
  switch (role) {
    case Message::Role::kSystem:
      return "system";
    case Message::Role::kUser:
      return "user";
    case Message::Role::kAssistant:
      return "assistant";
    case Message::Role::kTool:
      return "tool";
  }
  return "user";
}

std::string EscapePath(absl::string_view segment) {
  std::string escaped;
  for (const char c : segment) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || c == '-' || c == '_' || c == '.' || c == '~') {
      escaped.push_back(c);
    } else {
      char hex[4];
      std::snprintf(hex, sizeof(hex), "%%%02X", byte);
      escaped += hex;
    }
  }
  return escaped;
}

std::string UrlOf(const Endpoint& endpoint, absl::string_view model, absl::string_view path) {
  if (endpoint.api == Api::kOpenAi) return absl::StrCat(endpoint.url, "/", path);
  if (model.empty()) {
    return absl::StrCat(endpoint.url, "/openai/", path, "?api-version=", endpoint.api_version);
  }
  return absl::StrCat(endpoint.url, "/openai/deployments/", EscapePath(model), "/", path,
                      "?api-version=", endpoint.api_version);
}

// A key of the vLLM releases that differ in it, with the schema.
void Constrain(Structured structured, const JsonSchema& schema, OrderedJson parsed,
               OrderedJson& body) {
  switch (structured) {
    case Structured::kJsonSchema:
      body["response_format"] = {
          {"type", "json_schema"},
          {"json_schema",
           {{"name", schema.name}, {"strict", true}, {"schema", std::move(parsed)}}}};
      break;
    case Structured::kStructuredOutputs:
      body["structured_outputs"] = {{"json", std::move(parsed)}};
      break;
    case Structured::kGuidedJson:
      body["guided_json"] = std::move(parsed);
      break;
    case Structured::kJsonObject:
      body["response_format"] = {{"type", "json_object"}};
      break;
    case Structured::kWords:
      break;
  }
}

// Without the bounds of texts and lists, for endpoints that refuse them.
void TakeBoundsOut(OrderedJson& schema) {
  if (schema.is_object()) {
    for (const char* bound : {"maxLength", "maxItems"}) {
      if (const auto at = schema.find(bound); at != schema.end() && at->is_number()) {
        schema.erase(at);
      }
    }
  }
  if (!schema.is_structured()) return;
  for (OrderedJson& part : schema) TakeBoundsOut(part);
}

absl::StatusOr<OrderedJson> SchemaOf(const Endpoint& endpoint, const std::string& text,
                                     absl::string_view name) {
  OrderedJson schema = ParseJson<OrderedJson>(text);
  if (!schema.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat("schema ", name, ": is not a JSON object"));
  }
  if (!endpoint.schema_bounds) TakeBoundsOut(schema);
  return schema;
}

absl::Status AddTools(const Endpoint& endpoint, const std::vector<Tool>& tools, OrderedJson& body) {
  OrderedJson list = OrderedJson::array();
  for (const Tool& tool : tools) {
    GALEN_ASSIGN_OR_RETURN(OrderedJson parameters, SchemaOf(endpoint, tool.parameters, tool.name));
    list.push_back({{"type", "function"},
                    {"function",
                     {{"name", tool.name},
                      {"description", tool.description},
                      {"parameters", std::move(parameters)}}}});
  }
  body["tools"] = std::move(list);
  body["tool_choice"] = "required";
  return absl::OkStatus();
}

OrderedJson MessageJson(const Message& message, const std::string& content) {
  OrderedJson json = {{"role", std::string(NameOf(message.role))}, {"content", content}};
  if (!message.tool_use_id.empty()) json["tool_call_id"] = message.tool_use_id;
  if (message.tool_uses.empty()) return json;
  if (content.empty()) json["content"] = nullptr;
  OrderedJson uses = OrderedJson::array();
  for (const ToolUse& use : message.tool_uses) {
    uses.push_back({{"id", use.id},
                    {"type", "function"},
                    {"function", {{"name", use.name}, {"arguments", use.arguments}}}});
  }
  json["tool_calls"] = std::move(uses);
  return json;
}

bool SaidInWords(Structured structured) {
  return structured == Structured::kJsonObject || structured == Structured::kWords;
}

std::string InWords(const JsonSchema& schema) {
  return absl::StrCat(
      "Answer with one JSON object that keeps to this JSON Schema, and with nothing else, no "
      "explanation and no Markdown:\n",
      schema.schema);
}

std::string Dump(const OrderedJson& body) {
  return body.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace

std::string ChatUrl(const Endpoint& endpoint, absl::string_view model) {
  return UrlOf(endpoint, model, "chat/completions");
}
std::string EmbeddingsUrl(const Endpoint& endpoint, absl::string_view model) {
  return UrlOf(endpoint, model, "embeddings");
}
std::string ModelsUrl(const Endpoint& endpoint) { return UrlOf(endpoint, "", "models"); }

absl::StatusOr<std::string> ChatBody(const Endpoint& endpoint, const ChatRequest& request,
                                     bool stream) {
  if (request.messages.empty()) return absl::InvalidArgumentError("a question without messages");
  const Settings settings = SettingsFor(endpoint, request.purpose);
  OrderedJson body;
  body["model"] = request.model.empty() ? settings.model : request.model;
  const int max_tokens = request.max_tokens > 0 ? request.max_tokens : settings.max_tokens;
  body[endpoint.completion_tokens_field ? "max_completion_tokens" : "max_tokens"] = max_tokens;
  const auto temperature =
      request.temperature.has_value() ? request.temperature : settings.temperature;
  if (temperature.has_value()) body["temperature"] = *temperature;
  const auto seed = request.seed.has_value() ? request.seed : settings.seed;
  if (seed.has_value() && endpoint.sends_seed) body["seed"] = *seed;
  if (stream) {
    body["stream"] = true;
    body["stream_options"] = {{"include_usage", true}};
  }
  // The words about the schema go to the instructions at the beginning, before all foreign text.
  std::string words;
  if (!request.tools.empty()) {
    GALEN_RETURN_IF_ERROR(AddTools(endpoint, request.tools, body));
  } else if (request.schema.has_value()) {
    GALEN_ASSIGN_OR_RETURN(OrderedJson schema,
                           SchemaOf(endpoint, request.schema->schema, request.schema->name));
    if (SaidInWords(endpoint.structured)) words = InWords(*request.schema);
    Constrain(endpoint.structured, *request.schema, std::move(schema), body);
  }
  OrderedJson messages = OrderedJson::array();
  const bool has_system = request.messages.front().role == Message::Role::kSystem;
  if (!words.empty() && !has_system) {
    messages.push_back({{"role", "system"}, {"content", words}});
  }
  for (const Message& message : request.messages) {
    if (!IsUtf8(message.content)) {
      return absl::InvalidArgumentError("a message is not UTF-8; clean foreign text first");
    }
    const bool add = !words.empty() && has_system && &message == &request.messages.front();
    // The last check: text sent to a model goes to another party, wherever it is from.
    const std::string content = host::WithoutSecrets(message.content);
    messages.push_back(MessageJson(message, add ? absl::StrCat(content, "\n\n", words) : content));
  }
  body["messages"] = std::move(messages);
  return Dump(body);
}

absl::StatusOr<std::string> EmbedBody(const EmbedRequest& request, absl::string_view model) {
  if (request.texts.empty()) return absl::InvalidArgumentError("nothing to embed");
  OrderedJson body;
  body["model"] = std::string(model);
  body["encoding_format"] = "float";
  OrderedJson input = OrderedJson::array();
  for (const std::string& text : request.texts) {
    if (text.empty() || !IsUtf8(text)) {
      return absl::InvalidArgumentError("a text to embed is empty or not UTF-8");
    }
    input.push_back(host::WithoutSecrets(text));
  }
  body["input"] = std::move(input);
  return Dump(body);
}

}  // namespace galen::llm
