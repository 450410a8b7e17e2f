#ifndef COMMON_LOG_SOURCES_JSON_SERVER_H_
#define COMMON_LOG_SOURCES_JSON_SERVER_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/http/credentials.h"
#include "common/http/curl_transport.h"

namespace galen::log_sources {

// A server that is asked over HTTP and answers in JSON. Redirects are not followed; answers are
// bounded in size, depth and number of values. Thread-safe.
class JsonServer {
 public:
  struct Options {
    std::string what;  // "Loki"
    std::string url;   // "https://loki:3100/prefix"
    std::string ca_file;
    http::Credentials credentials;
    std::size_t most_bytes = std::size_t{64} << 20;  // of one answer
  };

  // INVALID_ARGUMENT: see http::CheckServer().
  static absl::StatusOr<std::unique_ptr<JsonServer>> Make(Options options);

  std::string name() const;
  // The JSON object of a success. RESOURCE_EXHAUSTED: the answer is too large, here or for the
  // server; INVALID_ARGUMENT 400, 422; PERMISSION_DENIED 401, 403; NOT_FOUND 404, 405;
  // DEADLINE_EXCEEDED 408, 504; UNAVAILABLE 429 and other codes from 500 on; else DATA_LOSS.
  absl::StatusOr<nlohmann::json> Ask(http::Request request);

 private:
  explicit JsonServer(Options options);

  const Options options_;
  const std::unique_ptr<http::Transport> transport_;
};

}  // namespace galen::log_sources

#endif  // COMMON_LOG_SOURCES_JSON_SERVER_H_
