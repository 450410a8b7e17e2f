#ifndef COMMON_LOG_SOURCES_LOKI_H_
#define COMMON_LOG_SOURCES_LOKI_H_

#include <memory>
#include <string>
#include <utility>

#include "common/log_sources/json_server.h"
#include "common/log_sources/labels.h"
#include "common/log_sources/log_store.h"

namespace galen::log_sources {

// Grafana Loki, by a query in LogQL for lines, page by page from the newest line back
// (https://grafana.com/docs/loki/latest/reference/loki-http-api/).
class Loki final : public LogStore {
 public:
  Loki(std::unique_ptr<JsonServer> server, std::string query, LabelNames names)
      : server_(std::move(server)), query_(std::move(query)), names_(std::move(names)) {}

  std::string name() const override { return server_->name(); }
  absl::StatusOr<Fetched> Fetch(const Window& window, const Limits& limits,
                                const Cancellation* cancellation) override;

 private:
  const std::unique_ptr<JsonServer> server_;
  const std::string query_;
  const LabelNames names_;
};

}  // namespace galen::log_sources

#endif  // COMMON_LOG_SOURCES_LOKI_H_
