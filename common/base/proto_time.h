#ifndef COMMON_BASE_PROTO_TIME_H_
#define COMMON_BASE_PROTO_TIME_H_

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace galen {

// Times and durations between Protobuf and Abseil, to the nanosecond. Header only, so that
// common/base does not link Protobuf.

inline absl::Time ToTime(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

// A Timestamp holds the years 1 to 9999 only; a time outside becomes the nearest one that it holds.
inline google::protobuf::Timestamp ToTimestamp(absl::Time time) {
  constexpr std::int64_t kFirst = -62'135'596'800;
  constexpr std::int64_t kLast = 253'402'300'799;
  time = std::clamp(time, absl::FromUnixSeconds(kFirst), absl::FromUnixSeconds(kLast));
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(absl::ToUnixSeconds(time));
  timestamp.set_nanos(static_cast<std::int32_t>(
      absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(timestamp.seconds()))));
  return timestamp;
}

inline absl::Duration ToDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

// Seconds and nanoseconds have the same sign, as Protobuf demands.
inline google::protobuf::Duration ToProtoDuration(absl::Duration duration) {
  google::protobuf::Duration proto;
  proto.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &duration));
  proto.set_nanos(static_cast<std::int32_t>(absl::ToInt64Nanoseconds(duration)));
  return proto;
}

}  // namespace galen

#endif  // COMMON_BASE_PROTO_TIME_H_
