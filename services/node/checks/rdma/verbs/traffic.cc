#include "services/node/checks/rdma/verbs/traffic.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"

namespace galen::node {
namespace {

constexpr int kMostSamples = 1000;
constexpr std::size_t kSmallWrite = 8;
// Empty polls in a row before another thread is let run: Soft-RoCE works on the same processors.
constexpr int kEmptyPolls = 64;

// splitmix64 (Steele, Lea and Flood, OOPSLA 2014): any place of the sequence by itself.
std::uint64_t Word(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t z = seed + (place + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

absl::Status CheckTime(const TrafficLimits& limits, absl::Time now) {
  if (limits.cancelled.cancelled()) return absl::CancelledError("cancelled");
  if (now <= std::min(limits.deadline, limits.end)) return absl::OkStatus();
  if (limits.deadline <= limits.end) {
    return absl::AbortedError("writes were posted and not answered in time");
  }
  return absl::DeadlineExceededError("the time for the test was over before all was answered");
}

// Waits until something completed.
absl::Status WaitForSome(Endpoint& endpoint, const TrafficLimits& limits,
                         std::vector<int>* completed) {
  for (int empty = 1;; ++empty) {
    GALEN_RETURN_IF_ERROR(endpoint.Poll(completed));
    if (!completed->empty()) return absl::OkStatus();
    if (empty % kEmptyPolls != 0) continue;
    GALEN_RETURN_IF_ERROR(CheckTime(limits, SteadyNow()));
    sched_yield();
  }
}

}  // namespace

void FillPattern(std::uint64_t seed, absl::Span<std::uint8_t> memory) {
  for (std::size_t i = 0; i + sizeof(std::uint64_t) <= memory.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word = Word(seed, i / sizeof(std::uint64_t));
    std::memcpy(memory.data() + i, &word, sizeof(word));
  }
}

std::uint64_t CountWrongWords(std::uint64_t seed, absl::Span<const std::uint8_t> memory) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i + sizeof(std::uint64_t) <= memory.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, memory.data() + i, sizeof(word));
    wrong += word != Word(seed, i / sizeof(std::uint64_t));
  }
  return wrong;
}

absl::StatusOr<double> MeasureBandwidth(Endpoint& endpoint, const EndpointAddress& remote, int qps,
                                        const TrafficLimits& limits) {
  qps = std::clamp(qps, 1, endpoint.qps());
  const int slots = endpoint.slots();
  std::vector<int> next(static_cast<std::size_t>(qps), 0);
  const auto post = [&](int qp) {
    int& slot = next[static_cast<std::size_t>(qp)];
    GALEN_RETURN_IF_ERROR(endpoint.PostWrite(qp, remote, slot, endpoint.slot_bytes()));
    slot = (slot + 1) % slots;
    return absl::OkStatus();
  };
  const std::int64_t first_round = static_cast<std::int64_t>(qps) * slots;
  for (int slot = 0; slot < slots; ++slot) {
    for (int qp = 0; qp < qps; ++qp) GALEN_RETURN_IF_ERROR(post(qp));
  }
  std::int64_t outstanding = first_round;
  std::int64_t answered = 0;
  std::int64_t at_start = 0;
  std::int64_t at_end = 0;
  absl::Time start = absl::InfiniteFuture();
  absl::Time end = absl::InfinitePast();
  bool more = true;
  std::vector<int> completed;
  while (outstanding > 0) {
    GALEN_RETURN_IF_ERROR(WaitForSome(endpoint, limits, &completed));
    outstanding -= static_cast<std::int64_t>(completed.size());
    answered += static_cast<std::int64_t>(completed.size());
    const absl::Time now = SteadyNow();
    if (start == absl::InfiniteFuture()) {
      if (answered >= first_round) {
        start = now;
        at_start = answered;
      }
    } else if (more) {
      end = now;
      at_end = answered;
    }
    // One more round than the first at least, however slow.
    more = more && (at_end <= at_start || now - start < limits.duration);
    if (limits.cancelled.cancelled()) return absl::CancelledError("cancelled");
    if (!more) continue;
    for (const int qp : completed) {
      GALEN_RETURN_IF_ERROR(post(qp));
      ++outstanding;
    }
  }
  const double seconds = absl::ToDoubleSeconds(end - start);
  if (at_end <= at_start || seconds <= 0) return absl::AbortedError("no write was answered");
  const double bits =
      8.0 * static_cast<double>(at_end - at_start) * static_cast<double>(endpoint.slot_bytes());
  return bits / seconds / 1e9;
}

absl::StatusOr<Latency> MeasureLatency(Endpoint& endpoint, const EndpointAddress& remote,
                                       const TrafficLimits& limits) {
  std::vector<double> times;
  std::vector<int> completed;
  const absl::Time start = SteadyNow();
  while (times.size() < kMostSamples && (times.empty() || SteadyNow() - start < limits.duration)) {
    const absl::Time posted = SteadyNow();
    GALEN_RETURN_IF_ERROR(endpoint.PostWrite(0, remote, 0, kSmallWrite));
    GALEN_RETURN_IF_ERROR(WaitForSome(endpoint, limits, &completed));
    times.push_back(absl::ToDoubleMicroseconds(SteadyNow() - posted));
    if (limits.cancelled.cancelled()) return absl::CancelledError("cancelled");
  }
  std::sort(times.begin(), times.end());
  Latency latency;
  latency.median_us = times[times.size() / 2];
  latency.p99_us = times[std::min(times.size() - 1, times.size() * 99 / 100)];
  latency.samples = static_cast<int>(times.size());
  return latency;
}

}  // namespace galen::node
