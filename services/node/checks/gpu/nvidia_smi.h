#ifndef SERVICES_NODE_CHECKS_GPU_NVIDIA_SMI_H_
#define SERVICES_NODE_CHECKS_GPU_NVIDIA_SMI_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host/host.h"
#include "services/node/checks/gpu/gpu_state.h"

namespace galen::node {

// Runs `nvidia-smi <arguments>` on the host. NOT_FOUND "nvidia-smi is not installed: ..." and the
// host's other errors; what it answered, whatever its exit code, otherwise.
absl::StatusOr<host::CommandResult> RunNvidiaSmi(const host::Host& host,
                                                 absl::string_view arguments);

// The same, but an answer that is just a refusal is an error: FAILED_PRECONDITION where it finds no
// GPU, ABORTED with its words otherwise ("Failed to initialize NVML: Driver/library version
// mismatch").
absl::StatusOr<std::string> NvidiaSmiOutput(const host::Host& host, absl::string_view arguments);

// The state of all NVIDIA GPUs, at least one, from what `nvidia-smi -q -x` answered.
// FAILED_PRECONDITION it finds none; ABORTED it refused; DATA_LOSS the XML is broken.
absl::StatusOr<GpuState> StateOf(const host::CommandResult& result);

// nvidia-smi's complaint in one line: the text before and after the XML, or the whole output when
// there is no XML; "" without one.
std::string Complaint(const host::CommandResult& result);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_NVIDIA_SMI_H_
