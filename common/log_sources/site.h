#ifndef COMMON_LOG_SOURCES_SITE_H_
#define COMMON_LOG_SOURCES_SITE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/http/credentials.h"
#include "common/log_sources/open_store.h"

namespace galen::log_sources {

// A source that the site configured, so that people name it instead of its address and keys.
struct SiteSource {
  std::string name;
  StoreAddress address;  // with the query to use if nobody gives one; "": there is none
  http::CredentialFiles files;
  std::string ca_file;
  std::vector<std::string> tenants;  // that may name it in a request to a mesh; "*": all
};

// Stands for the name of the job in a query.
inline constexpr absl::string_view kJobName = "<job>";

// Reads the site's file:
//
//   log_sources:
//     - name: site
//       address: loki+https://loki:3100     # as of ParseStoreAddress(), the query may be missing
//       key_file: loki.key                  # beside this file, or absolute
//       headers_file: loki.headers
//       ca_file: loki.pem
//       tenants: [acme]                     # who may name it in a mesh; "*": all; missing: nobody
//
// INVALID_ARGUMENT names the line.
absl::StatusOr<std::vector<SiteSource>> ParseSiteSources(absl::string_view text,
                                                         const std::string& file);

// The same of a file on disk.
absl::StatusOr<std::vector<SiteSource>> LoadSiteSources(const std::string& file);

// Whether `text` is the name of a source, with or without "?query=..." after it, and no address.
bool IsSourceName(absl::string_view text);

// The source that `text` names, with its query. NOT_FOUND: `sources` has no such name.
absl::StatusOr<SiteSource> FindSiteSource(const std::vector<SiteSource>& sources,
                                          absl::string_view text);

}  // namespace galen::log_sources

#endif  // COMMON_LOG_SOURCES_SITE_H_
