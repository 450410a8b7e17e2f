#ifndef SERVICES_NODE_CHECKS_GPU_GPU_QUERY_H_
#define SERVICES_NODE_CHECKS_GPU_GPU_QUERY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/host/host.h"
#include "services/node/checks/gpu/gpu_state.h"

namespace galen::node {

// One question to NVIDIA's driver and its answer. A live host is asked through NVML, as nothing
// else tells a counter twice or notices a hang early; a bundle, and a live host on which NVML is
// not to be found or not fit for use, through `nvidia-smi -q -x`.
struct GpuReport {
  std::string asked;  // "NVML", "nvidia-smi -q -x"
  // What nvidia-smi exits with, which are NVML's codes.
  int exit_code = 0;
  // What it complained of, in one line; "" when it did not.
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

// The state of all GPUs: NVIDIA's, or AMD's where there are none of those. Where NVIDIA's driver is
// there and answers nothing although lspci shows a GPU of NVIDIA, that is the answer.
absl::StatusOr<GpuState> QueryGpus(const host::Host& host);

// The counters once more, now, for comparison with an earlier state. UNAVAILABLE where they cannot
// be read again: in a bundle, and of nvidia-smi, whose answer a host keeps.
absl::StatusOr<GpuState> QueryGpusAgain(const host::Host& host);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_GPU_QUERY_H_
