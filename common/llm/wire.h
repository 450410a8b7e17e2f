#ifndef COMMON_LLM_WIRE_H_
#define COMMON_LLM_WIRE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/http/secret.h"
#include "common/llm/client.h"
#include "common/llm/endpoint.h"
#include "common/llm/sse.h"

// OpenAI's protocol as text, without a network. Everything that is read is hostile: any bytes give
// an answer or an error.
namespace galen::llm {

std::string ChatUrl(const Endpoint& endpoint, absl::string_view model);
std::string EmbeddingsUrl(const Endpoint& endpoint, absl::string_view model);
std::string ModelsUrl(const Endpoint& endpoint);

// The body of a chat request: the same bytes for the same request, messages last. INVALID_ARGUMENT
// when a message is not UTF-8, the schema is not a JSON object, or there is no message.
absl::StatusOr<std::string> ChatBody(const Endpoint& endpoint, const ChatRequest& request,
                                     bool stream);
absl::StatusOr<std::string> EmbedBody(const EmbedRequest& request, absl::string_view model);

// Reads an answer that is one JSON document. DATA_LOSS when it is not UTF-8, not JSON, without
// choices, or empty. With `json` set, text that some models put around the JSON of their answer,
// such as reasoning before it or a fence of Markdown, is removed.
absl::StatusOr<ChatAnswer> ParseChatAnswer(absl::string_view body, bool json);

// An answer that comes as events. Thread-compatible.
class StreamedAnswer {
 public:
  using OnText = std::function<bool(absl::string_view piece)>;

  // `on_text` may be empty. No answer is longer than `most_bytes`, and no error holds `key`.
  StreamedAnswer(std::size_t most_bytes, OnText on_text, http::Secret key = {});

  // DATA_LOSS when the stream is not one of a chat; UNAVAILABLE when the endpoint reports an error
  // in it; CANCELLED when on_text returns false. After an error it must not be called again.
  absl::Status Take(absl::string_view bytes);

  // The answer once the stream has ended. UNAVAILABLE when it broke off before its end.
  absl::StatusOr<ChatAnswer> Finish(bool json) &&;

  // Whether any text has come.
  bool started() const { return !answer_.text.empty(); }

 private:
  absl::Status TakeEvent(absl::string_view data);

  const std::size_t most_bytes_;
  const OnText on_text_;
  const http::Secret key_;
  SseReader reader_;
  ChatAnswer answer_;
  bool finished_ = false;  // told why it ends
  bool done_ = false;      // "[DONE]"
};

// Vectors for `texts` texts in their order. DATA_LOSS when their number differs, their lengths
// differ, or a component is not a finite number.
absl::StatusOr<Embeddings> ParseEmbeddings(absl::string_view body, std::size_t texts);

// At most 1000 names, each clean and short. DATA_LOSS when there is no list.
absl::StatusOr<std::vector<std::string>> ParseModels(absl::string_view body);

// The message in the body of an error, clean and at most 200 bytes; "" without one. Reads OpenAI's
// form, vLLM's and FastAPI's. `key` is removed from it.
std::string ErrorText(absl::string_view body, const http::Secret& key = {});

// `text` without a leading <think> block and without a fence of Markdown around the rest.
std::string UnwrapJson(absl::string_view text);

}  // namespace galen::llm

#endif  // COMMON_LLM_WIRE_H_
