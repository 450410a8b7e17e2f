#ifndef SERVICES_NODE_CHECKS_GPU_GPU_QUERY_H_
#define SERVICES_NODE_CHECKS_GPU_GPU_QUERY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/host/host.h"
#include "services/node/checks/gpu/gpu_state.h"

namespace galen::node {

// One question to NVIDIA's driver and its answer. A live host is asked through NVML, the only
// source that reads a counter twice and notices a hang early. A bundle, and a live host whose NVML
// is missing or unusable, is read from `nvidia-smi -q -x`.
struct GpuReport {
  std::string asked;  // "NVML", "nvidia-smi -q -x"
  // The exit code of nvidia-smi, which is NVML's code.
  int exit_code = 0;
  // nvidia-smi's complaint in one line; "" without one.
  std::string complaint;
  absl::Duration duration;
  // At least one GPU. FAILED_PRECONDITION it finds none; ABORTED it refuses, with its words
  // ("Failed to initialize NVML: Driver/library version mismatch"); DATA_LOSS broken XML.
  absl::StatusOr<GpuState> state;
};

// The host's errors, NOT_FOUND "nvidia-smi is not installed: ..." among them; DEADLINE_EXCEEDED
// when a call into the driver hangs.
absl::StatusOr<GpuReport> AskNvidia(const host::Host& host);

// The state of all NVIDIA GPUs. Errors of AskNvidia and of its answer.
absl::StatusOr<GpuState> QueryNvidia(const host::Host& host);

// The state of all GPUs: NVIDIA's, or AMD's if there are none of NVIDIA. If NVIDIA's driver is
// present and does not answer although lspci shows an NVIDIA GPU, the result is that error.
absl::StatusOr<GpuState> QueryGpus(const host::Host& host);

// The counters once more, now, for comparison with an earlier state. UNAVAILABLE where they cannot
// be read again: in a bundle, and of nvidia-smi, whose answer a host keeps.
absl::StatusOr<GpuState> QueryGpusAgain(const host::Host& host);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_GPU_QUERY_H_
