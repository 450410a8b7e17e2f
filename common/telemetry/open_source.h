#ifndef COMMON_TELEMETRY_OPEN_SOURCE_H_
#define COMMON_TELEMETRY_OPEN_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/telemetry/source.h"

namespace galen::telemetry {

struct OpenedSource {
  std::shared_ptr<Source> source;
  // Between which it has anything, where it can tell: a server is asked about now.
  absl::Time first = absl::InfinitePast();
  absl::Time last = absl::InfiniteFuture();
};

// A value of --prometheus, and what its server knows us by.
struct SourceAddress {
  // The address of a server ("https://prometheus:9090"), or the data folder of one, which a
  // Prometheus of our own opens within a second or more.
  std::string where;
  // Files as of http::ReadCredentials(); "": none.
  std::string key_file;
  std::string headers_file;
};

// Opens one of them, or several as one (MergedSource). None: INVALID_ARGUMENT. Errors name the
// source and the remedy.
absl::StatusOr<OpenedSource> OpenSources(const std::vector<SourceAddress>& addresses);

// Sources as options name them: the first file is of the first source, and so on. "none", or "",
// stands for no file. INVALID_ARGUMENT: there are files, and not one for each source, so that a key
// might go to another server; or there are more than 16 sources. `option` names --prometheus as the
// program writes it, with its separator: "--prometheus-".
absl::StatusOr<std::vector<SourceAddress>> PairSources(
    const std::vector<std::string>& where, const std::vector<std::string>& key_files,
    const std::vector<std::string>& headers_files, absl::string_view option);

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_OPEN_SOURCE_H_
