#ifndef COMMON_LLM_SSE_H_
#define COMMON_LLM_SSE_H_

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace galen::llm {

// Reads a stream of server-sent events as it comes, in pieces of any size (WHATWG HTML, 9.2.6).
// Only the data is kept: names, ids and comments are of no use here.
class SseReader {
 public:
  // An event whose data is longer is refused.
  explicit SseReader(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // Calls `on_data` with the data of each event that `bytes` completes, and stops at its first
  // error, which it returns. DATA_LOSS when an event is too long. After an error it must not be
  // called again.
  absl::Status Take(absl::string_view bytes,
                    absl::FunctionRef<absl::Status(absl::string_view data)> on_data);

 private:
  absl::Status EndLine(absl::FunctionRef<absl::Status(absl::string_view data)> on_data);

  const std::size_t most_bytes_;
  std::string line_;
  std::string data_;
  bool has_data_ = false;
  bool after_cr_ = false;  // a line feed that follows belongs to the end of the line before
  bool first_line_ = true;
};

}  // namespace galen::llm

#endif  // COMMON_LLM_SSE_H_
