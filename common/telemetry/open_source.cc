#include "common/telemetry/open_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/http/credentials.h"
#include "common/telemetry/merged_source.h"
#include "common/telemetry/prometheus_client.h"
#include "common/telemetry/stored_tsdb.h"

namespace galen::telemetry {
namespace {

constexpr std::size_t kMostSources = 16;

absl::StatusOr<OpenedSource> OpenSource(const SourceAddress& address) {
  OpenedSource opened;
  if (absl::StartsWith(address.where, "http://") || absl::StartsWith(address.where, "https://")) {
    PrometheusOptions options;
    options.http.server = address.where;
    options.http.what = "Prometheus";
    GALEN_ASSIGN_OR_RETURN(
        http::Credentials credentials,
        http::ReadCredentials("--prometheus", address.key_file, address.headers_file));
    options.http.key_header = std::move(credentials.key_header);
    options.key = std::move(credentials.key);
    options.headers = std::move(credentials.headers);
    GALEN_RETURN_IF_ERROR(Check(options));
    opened.source = std::make_shared<PrometheusClient>(std::move(options));
    return opened;
  }
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<StoredTsdb> stored,
                         StoredTsdb::Open(address.where, StoredOptions(), Call()));
  opened.first = stored->first();
  opened.last = stored->last();
  opened.source = std::move(stored);
  return opened;
}

}  // namespace

absl::StatusOr<OpenedSource> OpenSources(const std::vector<SourceAddress>& addresses) {
  if (addresses.empty()) return absl::InvalidArgumentError("--prometheus: names no source");
  if (addresses.size() == 1) return OpenSource(addresses.front());
  OpenedSource all;
  all.first = absl::InfiniteFuture();
  all.last = absl::InfinitePast();
  std::vector<std::shared_ptr<Source>> sources;
  for (const SourceAddress& address : addresses) {
    GALEN_ASSIGN_OR_RETURN(OpenedSource one, OpenSource(address));
    all.first = std::min(all.first, one.first);
    all.last = std::max(all.last, one.last);
    sources.push_back(std::move(one.source));
  }
  all.source = std::make_shared<MergedSource>(std::move(sources));
  return all;
}

absl::StatusOr<std::vector<SourceAddress>> PairSources(
    const std::vector<std::string>& where, const std::vector<std::string>& key_files,
    const std::vector<std::string>& headers_files, absl::string_view option) {
  if (where.size() > kMostSources) {
    return absl::InvalidArgumentError(absl::StrCat("--prometheus: there are ", where.size(),
                                                   " sources; name at most ", kMostSources));
  }
  const absl::string_view separator = option.substr(option.size() - 1);
  GALEN_ASSIGN_OR_RETURN(const std::vector<http::CredentialFiles> files,
                         http::PairFiles(where.size(), key_files, headers_files,
                                         absl::StrCat(option, "key", separator, "file"),
                                         absl::StrCat(option, "headers", separator, "file")));
  std::vector<SourceAddress> addresses;
  for (std::size_t i = 0; i < where.size(); ++i) {
    addresses.push_back({where[i], files[i].key, files[i].headers});
  }
  return addresses;
}

}  // namespace galen::telemetry
