#include "common/telemetry/open_source.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/telemetry/prometheus_client.h"
#include "common/telemetry/stored_tsdb.h"

namespace galen::telemetry {
namespace {

absl::Status ReadKey(const std::string& file, PrometheusOptions& options) {
  if (file.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> text = ReadSmallFile(file);
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat("--prometheus key file ", text.status().message()));
  }
  absl::string_view key = absl::StripAsciiWhitespace(*text);
  for (const absl::string_view scheme : {"Bearer ", "Basic "}) {
    if (absl::ConsumePrefix(&key, scheme)) {
      options.http.key_header = absl::StrCat("Authorization: ", scheme);
    }
  }
  if (key.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--prometheus key file ", file, ": is empty"));
  }
  options.key = http::Secret(std::string(key));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OpenedSource> OpenSource(const std::string& where, const std::string& key_file) {
  OpenedSource opened;
  if (absl::StartsWith(where, "http://") || absl::StartsWith(where, "https://")) {
    PrometheusOptions options;
    options.http.server = where;
    options.http.what = "Prometheus";
    GALEN_RETURN_IF_ERROR(ReadKey(key_file, options));
    GALEN_RETURN_IF_ERROR(Check(options));
    opened.source = std::make_shared<PrometheusClient>(std::move(options));
    return opened;
  }
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<StoredTsdb> stored,
                         StoredTsdb::Open(where, StoredOptions(), Call()));
  opened.first = stored->first();
  opened.last = stored->last();
  opened.source = std::move(stored);
  return opened;
}

}  // namespace galen::telemetry
