#ifndef COMMON_LLM_CLIENT_H_
#define COMMON_LLM_CLIENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"

// Language models behind an HTTP endpoint that speaks OpenAI's protocol, without any prompts.
namespace galen::llm {

// A tool that the model wants to be used.
struct ToolUse {
  std::string id;         // as the model calls it; the answer names it again
  std::string name;       // of the tool
  std::string arguments;  // JSON text, or whatever the model takes for it
};

struct Message {
  enum class Role { kSystem, kUser, kAssistant, kTool };
  Role role = Role::kUser;
  std::string content;             // UTF-8
  std::vector<ToolUse> tool_uses;  // of the assistant
  std::string tool_use_id;         // kTool: whose answer this is
};

// A tool that the model may use.
struct Tool {
  std::string name;  // as that of a schema
  std::string description;
  std::string parameters;  // a JSON Schema of an object, as JSON text
};

// The required form of the answer's text.
struct JsonSchema {
  std::string name;    // letters, digits, "_" and "-", at most 64
  std::string schema;  // a JSON Schema, as JSON text
};

// One question. The bytes of the request body depend on it and on the endpoint's configuration
// alone, and its messages follow the schema in their order: two requests of the same schema whose
// first messages are the same begin with the same bytes, and with the same tokens.
struct ChatRequest {
  // Which question it is ("rank"): says which model and temperature the configuration gives it.
  std::string purpose;
  std::vector<Message> messages;
  // Unset, the answer is free text. For an endpoint that cannot enforce it, the prompt describes
  // it.
  std::optional<JsonSchema> schema;
  // With some the answer has to use one of them, and the schema says nothing.
  std::vector<Tool> tools;
  int max_tokens = 0;                 // of the answer; 0: what the configuration says
  std::optional<double> temperature;  // instead of the configuration's
  // Instead of the configuration's; not sent where that says that the model refuses it.
  std::optional<std::int64_t> seed;
  std::string model;  // instead of the configuration's
};

struct Usage {
  bool reported = false;  // false: the endpoint did not count, and all is 0
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  // of those, found in the endpoint's prefix cache
  std::int64_t completion_tokens = 0;
};

enum class Finish { kStop, kLength, kContentFilter, kOther };

struct ChatAnswer {
  std::string text;  // UTF-8, bounded by the configuration, not empty unless tools are used; else
                     // nothing is promised: whether it keeps to the schema is for the caller to see
  std::vector<ToolUse> tool_uses;  // at most 16
  Finish finish = Finish::kStop;
  Usage usage;
  std::string model;       // that answered, by its own word
  absl::Duration latency;  // of the attempt that succeeded
  int attempts = 1;        // requests sent for this answer, retries and hedges included
};

// How a call is made.
struct CallOptions {
  absl::Time deadline = absl::InfiniteFuture();  // the configuration's limit holds too
  const Cancellation* cancellation = nullptr;    // outlives the call
  // When set, the answer is streamed: called on the caller's thread with each piece of text (whole
  // characters, UTF-8) as it comes. False ends the call with CANCELLED. Pieces cannot be withdrawn:
  // after the first one nothing is retried.
  std::function<bool(absl::string_view piece)> on_text;
};

struct EmbedRequest {
  std::vector<std::string> texts;  // UTF-8, none empty
  std::string model;               // instead of the configuration's
};

struct Embeddings {
  std::vector<std::vector<float>> vectors;  // one for each text, all of one length, finite numbers
  std::string model;
  Usage usage;
  int attempts = 1;
};

// An endpoint with less context than this gets the short form of prompts.
inline constexpr int kRoomForLongForm = 16'000;

// The configuration's settings for a question.
struct Settings {
  std::string model;
  std::optional<double> temperature;
  std::optional<std::int64_t> seed;
  int max_tokens = 0;
  bool tools = false;   // it is asked with tools, in place of a schema
  int context = 32768;  // tokens that a prompt and its answer may have together
};

// How long requests took that were answered.
struct Latencies {
  // Upper bounds in seconds; what took longer counts in the last place.
  static constexpr std::array<double, 8> kBounds = {0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
  std::array<std::int64_t, kBounds.size() + 1> counts{};
  double seconds = 0;  // of all together

  void Add(absl::Duration latency) {
    const double took = absl::ToDoubleSeconds(latency);
    std::size_t place = 0;
    while (place < kBounds.size() && took > kBounds[place]) ++place;
    ++counts[place];
    seconds += took;
  }
};

// Counters of an endpoint since the start, and its present state.
struct Health {
  enum class Circuit { kClosed, kOpen, kHalfOpen };
  Circuit circuit = Circuit::kClosed;
  std::int64_t calls = 0;     // of callers
  std::int64_t answers = 0;   // of these, with an answer
  std::int64_t attempts = 0;  // requests sent
  std::int64_t retries = 0;
  std::int64_t hedges = 0;
  std::int64_t refused = 0;      // calls that an open circuit refused without a request
  std::int64_t opened = 0;       // times that the circuit opened
  std::int64_t unavailable = 0;  // attempts: not reached, reset, or an error of the server (5xx)
  std::int64_t throttled = 0;    // attempts: 429
  std::int64_t late = 0;         // attempts that met a time limit
  std::int64_t bad_answers = 0;  // attempts whose answer was invalid
  std::int64_t denied = 0;       // attempts: the key was refused, or the certificate is not trusted
  std::int64_t rejected = 0;     // attempts: the model or the request was refused
  Usage usage;
  Latencies latencies;
};

// Thread-safe. Errors name the endpoint and the remedy, and never hold a key, a prompt or more than
// a clean, short excerpt of the endpoint's text:
// - DEADLINE_EXCEEDED: the caller's deadline or one of the configuration's limits passed
// - UNAVAILABLE: not reached, connection reset, error of the server, or the circuit is open
// - RESOURCE_EXHAUSTED: the endpoint's rate limit (429), or no free connection, until the
//   deadline
// - DATA_LOSS: the answer is invalid: not JSON, not UTF-8, too large, empty, or without choices
// - PERMISSION_DENIED: the key is refused (401, 403), or the peer's certificate is not trusted
// - INVALID_ARGUMENT: the endpoint does not support this request (400, 404, 413, 422): a model, a
//   schema, or a prompt that is too long
// - CANCELLED: by the cancellation, or by on_text
class LlmClient {
 public:
  virtual ~LlmClient() = default;

  virtual absl::StatusOr<ChatAnswer> Chat(const ChatRequest& request,
                                          const CallOptions& options) = 0;
  virtual absl::StatusOr<Embeddings> Embed(const EmbedRequest& request,
                                           const CallOptions& options) = 0;
  // Names of the models that the endpoint offers.
  virtual absl::StatusOr<std::vector<std::string>> Models(const CallOptions& options) = 0;

  // The settings of a question of this purpose, unless its request overrides them.
  virtual Settings SettingsOf(absl::string_view purpose) const = 0;
  // For people: "http://10.0.0.5:8000/v1", without key or user.
  virtual std::string name() const = 0;
  virtual Health health() const = 0;
};

}  // namespace galen::llm

#endif  // COMMON_LLM_CLIENT_H_
