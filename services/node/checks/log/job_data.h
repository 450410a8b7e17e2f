#ifndef SERVICES_NODE_CHECKS_LOG_JOB_DATA_H_
#define SERVICES_NODE_CHECKS_LOG_JOB_DATA_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// PyTorch's message that a GPU is out of memory; GiB.
struct CudaOom {
  std::optional<int> gpu;
  std::optional<double> wanted;     // tried to allocate
  std::optional<double> capacity;   // of the GPU
  std::optional<double> free;       // of the GPU
  std::optional<double> allocated;  // by this process's tensors
  std::optional<double> reserved;   // by PyTorch, and not allocated
  std::optional<double> others;     // of the GPU, by other processes
};

// Nothing when the line is not such a message. Reads both forms: since 2.1 and before. Pure.
std::optional<CudaOom> FindCudaOom(absl::string_view line);

// job.gpu_memory, job.data.
extern const LogWant kGpuMemoryWant;
absl::StatusOr<CheckOutput> CheckJobGpuMemory(const CheckContext& context);
extern const LogWant kJobDataWant;
absl::StatusOr<CheckOutput> CheckJobData(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_JOB_DATA_H_
