#ifndef COMMON_LLM_PROBE_H_
#define COMMON_LLM_PROBE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/llm/client.h"
#include "common/llm/endpoint.h"

namespace galen::llm {

// One ability of an endpoint, as it was seen.
struct Probed {
  enum class State {
    kYes,       // it was seen to work
    kNo,        // the endpoint answered, and it does not
    kFailed,    // no answer that tells
    kNotAsked,  // and why not is in `detail`
  };
  std::string ability;  // "chat", "structured: json_schema", "embeddings"
  State state = State::kNotAsked;
  std::string detail;  // one line
  absl::Duration latency;
  Usage usage;
};

struct ProbeReport {
  std::vector<Probed> abilities;
  absl::Status chat;  // of the first question; when it failed nothing else was asked
  // The way to hold answers to their schema that works, and holds most; none when none does.
  std::optional<Structured> best;
  // Whether questions as the configuration asks them are answered as they have to be.
  bool usable = false;
};

// Asks an endpoint a dozen short questions, without retries and without customers' data, and
// reports its abilities. FAILED_PRECONDITION: a key or a file of the configuration is missing; then
// nothing was sent.
absl::StatusOr<ProbeReport> Probe(const Endpoint& endpoint);

}  // namespace galen::llm

#endif  // COMMON_LLM_PROBE_H_
