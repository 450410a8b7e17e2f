#ifndef COMMON_PROFILE_READ_TRACE_H_
#define COMMON_PROFILE_READ_TRACE_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "common/profile/families.h"
#include "common/profile/json_stream.h"
#include "common/profile/trace.h"

namespace galen::profile {

// Limits of the kept parts of a trace; the rest is counted and reported.
struct ReadLimits {
  std::size_t spans = 6'000'000;  // of all GPUs, 24 bytes each
  std::size_t names = 100'000;    // of at most 512 bytes
  std::size_t devices = 64;
  std::size_t streams = 1024;  // of a device
  std::size_t steps = 10'000;
  std::size_t collectives = 500'000;
  std::size_t host = 4'000'000;  // intervals that do not overlap, 16 bytes each
};

// Reads a trace in Chrome's format as PyTorch's profiler (Kineto, with CUDA or ROCm) and JAX's
// profiler write it, in one pass. A trace that is cut off is read up to the cut, with a remark.
// DATA_LOSS: it is not such a trace.
absl::StatusOr<Trace> ReadTrace(JsonStream::Source source, const Families& families,
                                const ReadLimits& limits = {});

}  // namespace galen::profile

#endif  // COMMON_PROFILE_READ_TRACE_H_
