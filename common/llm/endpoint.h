#ifndef COMMON_LLM_ENDPOINT_H_
#define COMMON_LLM_ENDPOINT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/http/retry.h"
#include "common/http/secret.h"
#include "common/llm/circuit.h"
#include "common/llm/client.h"

namespace galen::llm {

// How an answer is held to its schema. docs/llm.md says which server takes which.
enum class Structured {
  kJsonSchema,         // response_format {"type": "json_schema"}
  kStructuredOutputs,  // structured_outputs {"json": ...}: vLLM 0.10.2 and up
  kGuidedJson,         // guided_json: vLLM before 0.12
  kJsonObject,         // response_format {"type": "json_object"}, and the schema in words
  kWords,              // the schema in words only
};
// "json_schema", as in the file.
absl::string_view NameOf(Structured structured);

enum class Api {
  kOpenAi,  // URL/chat/completions
  kAzure,   // URL/openai/deployments/MODEL/chat/completions?api-version=...
};

enum class Authorization { kBearer, kApiKey };

// Settings of a question or of an agent, over those of the endpoint.
struct Override {
  std::string model;
  std::optional<double> temperature;
  std::optional<std::int64_t> seed;
  int max_tokens = 0;
};

// The address of a model and its protocol. The defaults apply to settings that the file leaves out.
struct Endpoint {
  std::string url;  // http or https, without user, query, fragment or a slash at the end
  Api api = Api::kOpenAi;
  std::string api_version;  // kAzure
  Authorization authorization = Authorization::kBearer;
  std::string key_file;         // read at the start, and again when the key is refused
  std::string key_environment;  // name of a variable, read at the start
  bool plain_http = false;      // a key may go over http to another machine

  std::string model;
  std::optional<double> temperature = 0;  // none: the server's own
  std::optional<std::int64_t> seed;
  bool sends_seed = true;  // false: not even that of a request, for models that refuse the field
  int max_tokens = 1024;
  bool completion_tokens_field = false;  // max_completion_tokens instead of max_tokens
  // By question ("rank") or by agent ("planning"); a question goes first.
  std::map<std::string, Override> overrides;
  Structured structured = Structured::kJsonSchema;
  bool tools = false;         // investigations use the protocol's tools, in place of a schema
  bool schema_bounds = true;  // schemas bound texts and lists (maxLength, maxItems)
  int context = 32768;        // tokens that a prompt and its answer may have together
  bool stream = false;  // answers are streamed although nobody watches, so that first_byte holds

  std::string embedding_model;   // "": the endpoint embeds nothing
  int embedding_dimensions = 0;  // of its vectors
  absl::Duration embedding_limit = absl::Seconds(2);

  absl::Duration connect = absl::Seconds(3);      // TLS included
  absl::Duration first_byte = absl::Seconds(15);  // of a streamed answer, since it was asked for
  absl::Duration total = absl::Seconds(30);       // a call with all its retries
  http::RetryPolicy retry;
  CircuitPolicy circuit;
  int concurrency = 4;                                // requests at the same time
  absl::Duration hedge_after = absl::ZeroDuration();  // a second request then; 0: never
  std::size_t most_bytes = 1 << 20;                   // of an answer with all around it

  std::string proxy = "environment";  // "none", a URL without user, or by http_proxy, https_proxy,
                                      // no_proxy of the environment
  std::string ca_file;                // instead of the system's certificate authorities
  std::string certificate_file;       // of this client, PEM
  std::string certificate_key_file;
};

// Agents that ask models, and questions of each: what `overrides` may name.
absl::string_view AgentOf(absl::string_view purpose);

// Reads a file of docs/llm.md's format. INVALID_ARGUMENT "file:line: what; remedy". It reads no
// key.
absl::StatusOr<Endpoint> ParseEndpoint(absl::string_view text, absl::string_view file);
// The same of a file on the disk. NOT_FOUND or PERMISSION_DENIED when it cannot be read.
absl::StatusOr<Endpoint> LoadEndpoint(const std::string& file);

// The key; empty when the endpoint names none. FAILED_PRECONDITION when the file or the variable
// does not exist, is empty, or holds characters that a header cannot have; the message never
// contains any of the key.
absl::StatusOr<http::Secret> ReadKey(const Endpoint& endpoint);

// The settings of a question of `purpose`.
Settings SettingsFor(const Endpoint& endpoint, absl::string_view purpose);

}  // namespace galen::llm

#endif  // COMMON_LLM_ENDPOINT_H_
