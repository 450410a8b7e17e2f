#include "services/orchestrator/retry.h"

#include <algorithm>
#include <cstdint>

#include "google/rpc/error_details.pb.h"

namespace galen::orchestrator {
namespace {

// From 0 up to 1, the same in every process: FNV-1a, its bits mixed as MurmurHash3 ends, for names
// that differ in the last letter only.
double ShareOf(absl::string_view diagnosis, int attempts) {
  std::uint64_t hash = 14695981039346656037u;
  const auto take = [&hash](unsigned char byte) { hash = (hash ^ byte) * 1099511628211u; };
  for (const char c : diagnosis) take(static_cast<unsigned char>(c));
  take(static_cast<unsigned char>(attempts));
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdu;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53u;
  hash ^= hash >> 33;
  return static_cast<double>(hash >> 11) / static_cast<double>(std::uint64_t{1} << 53);
}

}  // namespace

bool IsFinalFailure(absl::StatusCode code, int attempt, const RetryLimits& retry_limits) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
      return attempt >= retry_limits.unreachable;
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
      return attempt >= retry_limits.otherwise;
    default:
      return true;
  }
}

absl::Duration BackoffAfter(absl::string_view diagnosis, int attempts) {
  constexpr absl::Duration kFirst = absl::Milliseconds(200);
  constexpr absl::Duration kMost = absl::Seconds(5);
  const absl::Duration wait = std::min(kFirst * (1 << std::clamp(attempts - 1, 0, 10)), kMost);
  return wait * (0.5 + ShareOf(diagnosis, attempts));
}

absl::Duration BackoffAfter(absl::string_view diagnosis, int attempts,
                            const google::rpc::Status& error) {
  const absl::Duration kMostAskedFor = kLongestBackoff / 1.5;
  absl::Duration wait = BackoffAfter(diagnosis, attempts);
  for (const google::protobuf::Any& detail : error.details()) {
    google::rpc::RetryInfo info;
    if (!detail.UnpackTo(&info)) continue;
    // Never sooner than asked for, and not all of them then.
    const absl::Duration asked =
        std::min(absl::Seconds(info.retry_delay().seconds()), kMostAskedFor);
    wait = std::max(wait, asked * (1 + 0.5 * ShareOf(diagnosis, attempts)));
  }
  return wait;
}

}  // namespace galen::orchestrator
