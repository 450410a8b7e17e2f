#ifndef SERVICES_NODE_CHECKS_RDMA_VERBS_TRAFFIC_H_
#define SERVICES_NODE_CHECKS_RDMA_VERBS_TRAFFIC_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/cancellation.h"
#include "services/node/checks/rdma/verbs/endpoint.h"

namespace galen::node {

// Until when a measurement goes on, and what ends it before.
struct TrafficLimits {
  absl::Duration duration;  // of the measurement itself
  absl::Time deadline;      // by when all writes must have been answered
  // When the time for the test is over: what is not answered then, before the deadline, may be yet.
  absl::Time end = absl::InfiniteFuture();
  const Cancellation& cancelled = Cancellation::Never();
};

// Writes for `limits.duration` over the first `qps` queue pairs of `endpoint` to `remote`. Gb/s
// (10^9 bits) of payload that was answered, after the first round of messages. ABORTED: a write
// failed, or was not answered by the deadline. DEADLINE_EXCEEDED: the time was over before that.
// CANCELLED.
absl::StatusOr<double> MeasureBandwidth(Endpoint& endpoint, const EndpointAddress& remote, int qps,
                                        const TrafficLimits& limits);

// Microseconds from posting a write of 8 bytes to its completion (there and back), over at most
// 1000 of them.
struct Latency {
  double median_us = 0;
  double p99_us = 0;
  int samples = 0;
};
absl::StatusOr<Latency> MeasureLatency(Endpoint& endpoint, const EndpointAddress& remote,
                                       const TrafficLimits& limits);

// Fills memory with what `seed` gives: no two words near each other are equal. Pure.
void FillPattern(std::uint64_t seed, absl::Span<std::uint8_t> memory);

// How many of the 8-byte words of the memory are not what FillPattern() put there. Pure.
std::uint64_t CountWrongWords(std::uint64_t seed, absl::Span<const std::uint8_t> memory);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_VERBS_TRAFFIC_H_
