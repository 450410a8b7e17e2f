#ifndef COMMON_TELEMETRY_OPEN_SOURCE_H_
#define COMMON_TELEMETRY_OPEN_SOURCE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/telemetry/source.h"

namespace galen::telemetry {

struct OpenedSource {
  std::shared_ptr<Source> source;
  // Between which it has anything, where it can tell: a server is asked about now.
  absl::Time first = absl::InfinitePast();
  absl::Time last = absl::InfiniteFuture();
};

// What --prometheus names: the address of a server ("https://prometheus:9090"), or the data folder
// of one, which is opened by a Prometheus of our own and takes a second or more. `key_file` ("":
// none) holds what goes into the Authorization header: "Bearer x", "Basic x", or x alone, which is
// a bearer's. Errors name `where` and what to do.
absl::StatusOr<OpenedSource> OpenSource(const std::string& where, const std::string& key_file);

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_OPEN_SOURCE_H_
