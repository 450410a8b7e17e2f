#ifndef COMMON_LOG_SOURCES_LOG_STORE_H_
#define COMMON_LOG_SOURCES_LOG_STORE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"

namespace galen::log_sources {

struct Window {
  absl::Time start;
  absl::Time end;
};

// Limits of one fetch. The newest lines are kept, and Fetched::cuts says what is missing.
struct Limits {
  std::size_t bytes = std::size_t{64} << 20;
  std::size_t lines = 1'000'000;
  std::size_t logs = 500;
  absl::Duration time = absl::Seconds(60);
};

// The lines of one stream, file or container, in order of time.
struct FetchedLog {
  std::string name;  // "trainer-0.log", "trainer-0.worker.log"; not unique
  std::string node;  // the machine that wrote it; "": not known
  std::string text;
};

struct Fetched {
  std::vector<FetchedLog> logs;
  // Parts that a limit or the store left out, with the remedy; for people.
  std::vector<std::string> cuts;
};

// A server that keeps logs. Thread-safe; a call blocks its thread for the time of the limits at
// most.
//
// Errors: INVALID_ARGUMENT the query is wrong; NOT_FOUND no line of the window matches it, or the
// store has no such API; UNAVAILABLE, DEADLINE_EXCEEDED it does not answer; PERMISSION_DENIED;
// DATA_LOSS the answer is corrupt; CANCELLED. If it answers only for a part of the window, that is
// a cut.
class LogStore {
 public:
  virtual ~LogStore() = default;
  // For messages: "Loki http://127.0.0.1:3100".
  virtual std::string name() const = 0;
  virtual absl::StatusOr<Fetched> Fetch(const Window& window, const Limits& limits,
                                        const Cancellation* cancellation) = 0;
};

}  // namespace galen::log_sources

#endif  // COMMON_LOG_SOURCES_LOG_STORE_H_
