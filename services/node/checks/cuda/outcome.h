#ifndef SERVICES_NODE_CHECKS_CUDA_OUTCOME_H_
#define SERVICES_NODE_CHECKS_CUDA_OUTCOME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/cuda/gpus.h"
#include "services/node/checks/cuda/gputest_run.h"

namespace galen::node {

// Puts together what a check of GPUs says: findings, one sentence a GPU, an excerpt.
class Outcome {
 public:
  explicit Outcome(const CheckContext& context) : node_(context.host.name()) {}

  // The finding stays valid until the next call. Without a value it is unknown.
  v1::Finding& Bool(absl::string_view name, absl::string_view device, std::optional<bool> value);
  v1::Finding& Int(absl::string_view name, absl::string_view device,
                   std::optional<std::int64_t> value);
  v1::Finding& Float(absl::string_view name, absl::string_view device, std::optional<double> value);
  v1::Finding& Text(absl::string_view name, absl::string_view device,
                    std::optional<std::string> value);

  // The outcome of the run, as the findings `cuda_error` and `hung` that every active test has: the
  // code of the driver call that failed (0: none did; unknown if it is not evidence about the GPU),
  // and whether a call or the GPU hung. True when the run finished.
  bool Ended(const TestGpu& gpu, const GpuTestRun& run);

  // Adds the remark `what` about the device; devices with the same remark are named together.
  void Say(absl::string_view device, absl::string_view what);
  void Show(absl::string_view line);  // a line of the excerpt

  // When no finding has a value, an error with the remarks: DEADLINE_EXCEEDED or INTERNAL if that
  // is the reason, else FAILED_PRECONDITION. `gpus` has those that were left out.
  absl::StatusOr<CheckOutput> Finish(const TestGpus& gpus) &&;

 private:
  v1::Finding& Add(v1::Finding finding, bool known);

  std::string node_;
  std::vector<v1::Finding> findings_;
  bool any_known_ = false;
  absl::StatusCode reason_ = absl::StatusCode::kFailedPrecondition;
  std::vector<std::pair<std::string, std::vector<std::string>>> said_;
  std::string excerpt_;
};

// Whether a code of the driver (CUresult) is evidence of a GPU fault. Being out of memory is not,
// nor that another process has exclusive use of the GPU.
bool TellsOfGpu(int code);

// How many percent `value` is below the median of `all`, 0 when it is not; none with fewer than
// two.
std::optional<double> BelowMedianPercent(std::optional<double> value,
                                         const std::vector<std::optional<double>>& all);

// A number as people read it: three digits that count.
std::string Rounded(double number);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_CUDA_OUTCOME_H_
