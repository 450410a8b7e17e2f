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

// Opens the value of --prometheus: the address of a server ("https://prometheus:9090"), or the data
// folder of one, which a Prometheus of our own opens within a second or more. `key_file` ("": none)
// holds the value of the Authorization header: "Bearer x", "Basic x", or x alone, which is a
// bearer's. Errors name `where` and the remedy.
absl::StatusOr<OpenedSource> OpenSource(const std::string& where, const std::string& key_file);

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_OPEN_SOURCE_H_
