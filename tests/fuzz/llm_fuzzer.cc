// Fuzzes the answers of a language model's endpoint, and the file that names it.
#include <cmath>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/text.h"
#include "common/http/retry.h"
#include "common/llm/endpoint.h"
#include "common/llm/sse.h"
#include "common/llm/wire.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

constexpr size_t kMostBytes = 256;

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

void Chat(absl::string_view text) {
  for (const bool json : {false, true}) {
    const auto answer = llm::ParseChatAnswer(text, json);
    if (!answer.ok()) continue;
    Require(!answer->text.empty() && IsUtf8(answer->text) && IsUtf8(answer->model));
    Require(answer->usage.cached_tokens >= 0 &&
            answer->usage.cached_tokens <= answer->usage.prompt_tokens);
  }
}

void Embeddings(absl::string_view text) {
  for (const size_t texts : {1, 2}) {
    const auto embeddings = llm::ParseEmbeddings(text, texts);
    if (!embeddings.ok()) continue;
    Require(embeddings->vectors.size() == texts);
    for (const std::vector<float>& vector : embeddings->vectors) {
      Require(!vector.empty() && vector.size() == embeddings->vectors.front().size());
      for (const float component : vector) Require(std::isfinite(component));
    }
  }
}

void Models(absl::string_view text) { Use(llm::ParseModels(text)); }

// An error must not contain even half a key.
void Error(absl::string_view text) {
  const http::Secret key("sk-key");
  Require(llm::ErrorText(text, key).find("sk-key") == std::string::npos);
  Require(llm::ErrorText(text, key).size() <= 200);
}

void Unwrap(absl::string_view text) { Require(llm::UnwrapJson(text).size() <= text.size()); }

// The same events, however they are cut into pieces.
std::vector<std::string> Events(absl::string_view text, size_t piece, bool& ok) {
  llm::SseReader reader(kMostBytes);
  std::vector<std::string> events;
  ok = true;
  while (ok && !text.empty()) {
    ok = reader
             .Take(text.substr(0, piece),
                   [&](absl::string_view data) {
                     Require(data.size() <= kMostBytes);
                     events.emplace_back(data);
                     return absl::OkStatus();
                   })
             .ok();
    text.remove_prefix(std::min(piece, text.size()));
  }
  return events;
}

void Sse(absl::string_view text) {
  bool whole_ok = false;
  bool pieces_ok = false;
  const std::vector<std::string> whole = Events(text, text.size(), whole_ok);
  const std::vector<std::string> pieces = Events(text, 3, pieces_ok);
  Require(whole_ok == pieces_ok && whole == pieces);
}

void Stream(absl::string_view text) {
  std::string handed_on;
  llm::StreamedAnswer stream(kMostBytes, [&](absl::string_view piece) {
    handed_on += std::string(piece);
    return true;
  });
  for (; !text.empty(); text.remove_prefix(std::min<size_t>(7, text.size()))) {
    if (!stream.Take(text.substr(0, 7)).ok()) break;
  }
  Require(handed_on.size() <= kMostBytes && IsUtf8(handed_on));
  if (!text.empty()) return;
  const auto answer = std::move(stream).Finish(false);
  if (answer.ok()) Require(answer->text == handed_on);
}

void RetryAfter(absl::string_view text) {
  const auto pause = http::ParseRetryAfter(text, absl::FromUnixSeconds(1'700'000'000));
  if (pause.has_value()) Require(*pause >= absl::ZeroDuration());
}

void EndpointFile(absl::string_view text) {
  const auto endpoint = llm::ParseEndpoint(text, "llm.yaml");
  if (!endpoint.ok()) return;
  // No user name and password before the host.
  const std::string& url = endpoint->url;
  const size_t host = url.find("://") + 3;
  Require(!endpoint->model.empty() &&
          url.substr(host, url.find('/', host) - host).find('@') == std::string::npos);
  Require(endpoint->concurrency > 0 && endpoint->total > absl::ZeroDuration());
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> parsers = {
      {"chat", Chat},     {"embeddings", Embeddings},  {"models", Models},
      {"error", Error},   {"unwrap", Unwrap},          {"sse", Sse},
      {"stream", Stream}, {"retry_after", RetryAfter}, {"endpoint_file", EndpointFile},
  };
  return parsers;
}

}  // namespace galen::fuzz
