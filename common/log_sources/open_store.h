#ifndef COMMON_LOG_SOURCES_OPEN_STORE_H_
#define COMMON_LOG_SOURCES_OPEN_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/http/credentials.h"
#include "common/log_sources/labels.h"
#include "common/log_sources/log_store.h"

namespace galen::log_sources {

// A value of --logs-from. The text after "?query=" is the query as it is, without escapes.
//
//   loki+https://HOST:PORT?query=LOGQL
//   elasticsearch+https://HOST:PORT/INDEX?query=LUCENE     also opensearch+...
//   kubernetes+https://HOST:PORT/NAMESPACE?query=LABELS    or .../NAMESPACE/POD
//   kubernetes:NAMESPACE?query=LABELS                      the API server of the pod that this is
struct StoreAddress {
  enum class Kind { kLoki, kElasticsearch, kPods };
  Kind kind = Kind::kLoki;
  std::string what;   // "Loki"
  std::string url;    // "https://HOST:PORT/prefix"; "": that of the pod that this is
  std::string index;  // of Elasticsearch; the namespace
  std::string pod;
  std::string query;
};

// INVALID_ARGUMENT: it is not one of these forms, or CheckQuery() refuses its query.
absl::StatusOr<StoreAddress> ParseStoreAddress(absl::string_view text, bool needs_query = true);

// INVALID_ARGUMENT: the store needs a query and there is none; it is too long; or it selects pods
// beside the name of one.
absl::Status CheckQuery(const StoreAddress& address);

// Opens a store; nothing is asked yet. `ca_file` ("": the system's authorities) has the server's.
absl::StatusOr<std::unique_ptr<LogStore>> OpenStore(const StoreAddress& address,
                                                    const http::CredentialFiles& files,
                                                    const std::string& ca_file,
                                                    const LabelNames& names);

}  // namespace galen::log_sources

#endif  // COMMON_LOG_SOURCES_OPEN_STORE_H_
