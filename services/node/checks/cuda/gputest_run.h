#ifndef SERVICES_NODE_CHECKS_CUDA_GPUTEST_RUN_H_
#define SERVICES_NODE_CHECKS_CUDA_GPUTEST_RUN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"

namespace galen::node {

// A line of galen-gputest: "@kind<TAB>name=value<TAB>...".
struct GpuTestLine {
  std::string kind;  // without the "@"
  std::map<std::string, std::string, std::less<>> fields;

  const std::string& Text(absl::string_view name) const;
  // None when the field is missing or no finite number.
  std::optional<double> Number(absl::string_view name) const;
  std::optional<std::int64_t> Integer(absl::string_view name) const;
};

// None when `line` is not one of its lines. Safe on hostile input.
std::optional<GpuTestLine> ParseGpuTestLine(absl::string_view line);

// How a run of galen-gputest went.
struct GpuTestRun {
  enum class End {
    kDone,     // went through
    kFailed,   // a call of the driver failed: `call`, `code`, `text`
    kHung,     // a call, or the GPU, did not come back: `text` says in what
    kRefused,  // the test cannot be made here: `text`
    kDied,     // the program ended without reporting an error: `text`
    kLate,     // not done by the deadline
    kCancelled,
  };
  End end = End::kDied;
  std::string call;
  int code = 0;
  std::string text;
  // The output in order: all lines except those of progress and of the end.
  std::vector<GpuTestLine> lines;

  // The first line of that kind, nullptr when there is none.
  const GpuTestLine* Find(absl::string_view kind) const;
};

// The path of the program galen-gputest: beside this program, or in the folder bin beside its
// folder. NOT_FOUND when it is in neither.
absl::StatusOr<std::string> FindGpuTestProgram();

// Runs one test in a process of its own and waits for it. The process, and all it started, is
// killed when the run is cancelled (seen within 100 ms), at the deadline, when it is silent for
// longer than it announced, or when it prints too much. It sees all GPUs, ordered as nvidia-smi
// orders them. RESOURCE_EXHAUSTED and the like when no process can be created. Thread-safe.
absl::StatusOr<GpuTestRun> RunGpuTest(
    const std::string& program, const std::vector<std::string>& arguments, absl::Time deadline,
    const Cancellation& cancelled,
    const std::function<void(double done, absl::string_view what)>& progress);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_CUDA_GPUTEST_RUN_H_
