#ifndef SERVICES_EXECUTION_TIMES_H_
#define SERVICES_EXECUTION_TIMES_H_

#include <google/protobuf/timestamp.pb.h>

#include "absl/time/time.h"

namespace galen::execution {

inline absl::Time TimeOf(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_TIMES_H_
