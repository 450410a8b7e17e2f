#ifndef SERVICES_NODE_EXEC_JSON_LINES_H_
#define SERVICES_NODE_EXEC_JSON_LINES_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/exec/output_parsers.h"

namespace galen::node {

// Reads the result of a site's own program: one JSON object a line, as docs/exec.md says. Strict: a
// line that is not exactly of the contract is DATA_LOSS with the number of the line.
absl::StatusOr<CheckOutput> ParseJsonLines(const ProgramOutput& output);

// Extracts only the progress from such output as it arrives. Lines that violate the contract are
// ignored, because ParseJsonLines reports them. Not thread-safe.
class JsonLinesProgress {
 public:
  using Sink = std::function<void(double done, absl::string_view what)>;
  explicit JsonLinesProgress(Sink sink) : sink_(std::move(sink)) {}
  void Take(absl::string_view piece);

 private:
  const Sink sink_;
  std::string line_;
  bool too_long_ = false;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_EXEC_JSON_LINES_H_
