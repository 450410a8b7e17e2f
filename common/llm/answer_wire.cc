#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/llm/wire.h"

namespace galen::llm {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostName = 128;
constexpr std::size_t kMostErrorText = 200;
constexpr std::size_t kMostModels = 1000;
constexpr std::size_t kMostDimensions = 65536;
// Deeper than any answer of the protocol; what is deeper is cut off by the parser, unread.
constexpr int kMostDepth = 32;
constexpr std::size_t kMostValues = std::size_t{1} << 22;
constexpr std::size_t kMostToolUses = 16;

// Discarded when it is not JSON. Embeddings are many numbers.
Json Parse(absl::string_view text) {
  return ParseJson(text, {.depth = kMostDepth, .values = kMostValues});
}

const Json* Find(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

const std::string* FindText(const Json& object, const char* name) {
  const Json* const value = Find(object, name);
  return value != nullptr && value->is_string() ? value->get_ptr<const std::string*>() : nullptr;
}

// A count of tokens; 0 if it is invalid or absurd.
std::int64_t Count(const Json& object, const char* name) {
  const Json* const value = Find(object, name);
  if (value == nullptr || !value->is_number_unsigned()) return 0;
  constexpr std::uint64_t kMost = 1'000'000'000;
  return static_cast<std::int64_t>(std::min(value->get<std::uint64_t>(), kMost));
}

Usage UsageOf(const Json& body) {
  const Json* const usage = Find(body, "usage");
  if (usage == nullptr || Find(*usage, "prompt_tokens") == nullptr) return {};
  Usage counted{true, Count(*usage, "prompt_tokens"), 0, Count(*usage, "completion_tokens")};
  if (const Json* const details = Find(*usage, "prompt_tokens_details")) {
    counted.cached_tokens = std::min(Count(*details, "cached_tokens"), counted.prompt_tokens);
  }
  return counted;
}

Finish FinishOf(const std::string& reason) {
  if (reason == "stop" || reason == "tool_calls") return Finish::kStop;
  if (reason == "length") return Finish::kLength;
  if (reason == "content_filter") return Finish::kContentFilter;
  return Finish::kOther;
}

std::string ModelOf(const Json& body) {
  const std::string* const model = FindText(body, "model");
  return model == nullptr ? "" : CleanText(*model, kMostName);
}

// Adds a list of tool calls, or a piece of one: pieces with the same index belong together.
void AddToolUses(const Json& message, ChatAnswer& answer) {
  const Json* const uses = Find(message, "tool_calls");
  if (uses == nullptr || !uses->is_array()) return;
  std::size_t place = 0;
  for (const Json& one : *uses) {
    std::size_t at = place++;
    if (const Json* const index = Find(one, "index"); index != nullptr) {
      if (!index->is_number_unsigned()) continue;
      at = index->get<std::size_t>();
    }
    if (at >= kMostToolUses) return;
    if (answer.tool_uses.size() <= at) answer.tool_uses.resize(at + 1);
    ToolUse& use = answer.tool_uses[at];
    if (const std::string* const id = FindText(one, "id")) use.id = CleanText(*id, kMostName);
    const Json* const function = Find(one, "function");
    if (function == nullptr) continue;
    if (const std::string* const name = FindText(*function, "name")) {
      use.name = CleanText(*name, kMostName);
    }
    if (const std::string* const arguments = FindText(*function, "arguments")) {
      use.arguments += *arguments;
    }
  }
}

std::size_t SizeOf(const ChatAnswer& answer) {
  std::size_t size = answer.text.size();
  for (const ToolUse& use : answer.tool_uses) size += use.arguments.size();
  return size;
}

absl::StatusOr<ChatAnswer> Checked(ChatAnswer answer, bool json) {
  if (json) answer.text = UnwrapJson(answer.text);
  if (absl::StripAsciiWhitespace(answer.text).empty() && answer.tool_uses.empty()) {
    return absl::DataLossError(answer.finish == Finish::kContentFilter
                                   ? "the answer was withheld by the endpoint's content filter"
                                   : "the answer is empty");
  }
  return answer;
}

absl::StatusOr<Json> ParseBody(absl::string_view body) {
  if (!IsUtf8(body)) return absl::DataLossError("the answer is not UTF-8");
  Json parsed = Parse(body);
  if (parsed.is_discarded()) return absl::DataLossError("the answer is not JSON");
  return parsed;
}

}  // namespace

std::string UnwrapJson(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (absl::StartsWith(text, "<think>")) {
    const std::size_t end = text.find("</think>");
    if (end != absl::string_view::npos) {
      text.remove_prefix(end + absl::string_view("</think>").size());
      text = absl::StripLeadingAsciiWhitespace(text);
    }
  }
  if (absl::StartsWith(text, "```") && absl::EndsWith(text, "```") && text.size() >= 6) {
    const std::size_t line = text.find('\n');
    if (line != absl::string_view::npos && line + 4 <= text.size()) {
      text = text.substr(line + 1, text.size() - line - 4);
    }
  }
  return std::string(absl::StripAsciiWhitespace(text));
}

absl::StatusOr<ChatAnswer> ParseChatAnswer(absl::string_view body, bool json) {
  GALEN_ASSIGN_OR_RETURN(const Json parsed, ParseBody(body));
  const Json* const choices = Find(parsed, "choices");
  if (choices == nullptr || !choices->is_array() || choices->empty()) {
    return absl::DataLossError("the answer has no choices");
  }
  const Json& choice = choices->front();
  const Json* const message = Find(choice, "message");
  if (message == nullptr) return absl::DataLossError("the answer's choice has no message");
  ChatAnswer answer;
  if (const std::string* const text = FindText(*message, "content")) answer.text = *text;
  AddToolUses(*message, answer);
  const std::string* const reason = FindText(choice, "finish_reason");
  answer.finish = reason == nullptr ? Finish::kOther : FinishOf(*reason);
  answer.usage = UsageOf(parsed);
  answer.model = ModelOf(parsed);
  return Checked(std::move(answer), json);
}

StreamedAnswer::StreamedAnswer(std::size_t most_bytes, OnText on_text, http::Secret key)
    : most_bytes_(most_bytes),
      on_text_(std::move(on_text)),
      key_(std::move(key)),
      reader_(most_bytes) {}

absl::Status StreamedAnswer::Take(absl::string_view bytes) {
  return reader_.Take(bytes, [this](absl::string_view data) { return TakeEvent(data); });
}

absl::Status StreamedAnswer::TakeEvent(absl::string_view data) {
  if (done_) return absl::OkStatus();
  if (data == "[DONE]") {
    done_ = true;
    return absl::OkStatus();
  }
  GALEN_ASSIGN_OR_RETURN(const Json parsed, ParseBody(data));
  if (Find(parsed, "error") != nullptr) {
    return absl::UnavailableError(
        absl::StrCat("the endpoint broke its answer off: ", ErrorText(data, key_)));
  }
  if (const Usage usage = UsageOf(parsed); usage.reported) answer_.usage = usage;
  if (answer_.model.empty()) answer_.model = ModelOf(parsed);
  const Json* const choices = Find(parsed, "choices");
  if (choices == nullptr || !choices->is_array()) {
    return absl::DataLossError("an event of the stream has no choices");
  }
  if (choices->empty()) return absl::OkStatus();  // the last event, with the usage
  const Json& choice = choices->front();
  if (const std::string* const reason = FindText(choice, "finish_reason")) {
    answer_.finish = FinishOf(*reason);
    finished_ = true;
  }
  const Json* const delta = Find(choice, "delta");
  if (delta != nullptr) AddToolUses(*delta, answer_);
  if (SizeOf(answer_) > most_bytes_) {
    return absl::DataLossError(
        absl::StrCat("the answer is longer than the ", most_bytes_, " bytes of most_bytes"));
  }
  const std::string* const piece = delta == nullptr ? nullptr : FindText(*delta, "content");
  if (piece == nullptr || piece->empty()) return absl::OkStatus();
  if (answer_.text.size() + piece->size() > most_bytes_) {
    return absl::DataLossError(
        absl::StrCat("the answer is longer than the ", most_bytes_, " bytes of most_bytes"));
  }
  answer_.text += *piece;
  if (on_text_ && !on_text_(*piece)) return absl::CancelledError("stopped by the caller");
  return absl::OkStatus();
}

absl::StatusOr<ChatAnswer> StreamedAnswer::Finish(bool json) && {
  if (!finished_ && !done_) {
    return absl::UnavailableError("the answer broke off before its end");
  }
  return Checked(std::move(answer_), json);
}

absl::StatusOr<Embeddings> ParseEmbeddings(absl::string_view body, std::size_t texts) {
  GALEN_ASSIGN_OR_RETURN(const Json parsed, ParseBody(body));
  const Json* const data = Find(parsed, "data");
  if (data == nullptr || !data->is_array() || data->size() != texts) {
    return absl::DataLossError(absl::StrCat("the answer does not hold ", texts, " vectors"));
  }
  Embeddings embeddings;
  embeddings.vectors.resize(texts);
  std::size_t place = 0;
  for (const Json& one : *data) {
    const Json* const index = Find(one, "index");
    std::size_t at = place++;
    if (index != nullptr) {
      if (!index->is_number_unsigned() || index->get<std::uint64_t>() >= texts) {
        return absl::DataLossError("a vector has an index of no text");
      }
      at = index->get<std::size_t>();
    }
    const Json* const components = Find(one, "embedding");
    if (components == nullptr || !components->is_array() || components->empty() ||
        components->size() > kMostDimensions) {
      return absl::DataLossError("a vector has no components, or more than any model");
    }
    std::vector<float>& vector = embeddings.vectors[at];
    if (!vector.empty()) return absl::DataLossError("two vectors have the same index");
    vector.reserve(components->size());
    for (const Json& component : *components) {
      const double number = component.is_number() ? component.get<double>() : NAN;
      // As a float it has to be finite too.
      if (!(std::fabs(number) <= 1e30)) {
        return absl::DataLossError("a component of a vector is not a finite number");
      }
      vector.push_back(static_cast<float>(number));
    }
    if (vector.size() != embeddings.vectors.front().size() && !embeddings.vectors.front().empty()) {
      return absl::DataLossError("the vectors differ in length");
    }
  }
  for (const std::vector<float>& vector : embeddings.vectors) {
    if (vector.size() != embeddings.vectors.front().size()) {
      return absl::DataLossError("the vectors differ in length");
    }
  }
  embeddings.model = ModelOf(parsed);
  embeddings.usage = UsageOf(parsed);
  return embeddings;
}

absl::StatusOr<std::vector<std::string>> ParseModels(absl::string_view body) {
  GALEN_ASSIGN_OR_RETURN(const Json parsed, ParseBody(body));
  const Json* const data = Find(parsed, "data");
  if (data == nullptr || !data->is_array()) {
    return absl::DataLossError("the answer holds no list of models");
  }
  std::vector<std::string> names;
  for (const Json& one : *data) {
    if (names.size() == kMostModels) break;
    if (const std::string* const id = FindText(one, "id")) {
      names.push_back(CleanText(*id, kMostName));
    }
  }
  return names;
}

std::string ErrorText(absl::string_view body, const http::Secret& key) {
  const Json parsed = Parse(body);
  const Json* const error = Find(parsed, "error");
  const std::string* text = nullptr;
  if (error != nullptr && error->is_string()) text = error->get_ptr<const std::string*>();
  if (text == nullptr && error != nullptr) text = FindText(*error, "message");
  if (text == nullptr) text = FindText(parsed, "message");
  if (text == nullptr) text = FindText(parsed, "detail");
  if (text == nullptr) return "";
  // Cleaned first, since a character that is removed could have split the key; cut last, since half
  // a key helps to guess it.
  std::string clean = CleanText(key.TakenOutOf(CleanText(*text, body.size())), kMostErrorText);
  std::replace(clean.begin(), clean.end(), '\n', ' ');
  return clean;
}

}  // namespace galen::llm
