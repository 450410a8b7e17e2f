#ifndef COMMON_LOG_SOURCES_ELASTICSEARCH_H_
#define COMMON_LOG_SOURCES_ELASTICSEARCH_H_

#include <memory>
#include <string>
#include <utility>

#include "common/log_sources/json_server.h"
#include "common/log_sources/labels.h"
#include "common/log_sources/log_store.h"

namespace galen::log_sources {

// Elasticsearch or OpenSearch, by a query in Lucene's syntax over an index pattern, page by page
// from the newest document back.
//
// A page ends before the oldest time of its documents, and the next one begins with that time. So
// it needs neither a field that is unique, which search_after would need to lose nothing among
// documents of one time, nor a point in time, which the two products open in different ways.
class Elasticsearch final : public LogStore {
 public:
  // `index` is a pattern that IsIndex() accepts.
  Elasticsearch(std::unique_ptr<JsonServer> server, std::string index, std::string query,
                LabelNames names)
      : server_(std::move(server)),
        index_(std::move(index)),
        query_(std::move(query)),
        names_(std::move(names)) {}

  std::string name() const override { return server_->name(); }
  absl::StatusOr<Fetched> Fetch(const Window& window, const Limits& limits,
                                const Cancellation* cancellation) override;

  // Whether it is a pattern of indices ("logs-*,app"), and no other part of the API.
  static bool IsIndex(absl::string_view index);

 private:
  std::string BodyOf(std::int64_t start, std::int64_t end, int documents) const;

  const std::unique_ptr<JsonServer> server_;
  const std::string index_;
  const std::string query_;
  const LabelNames names_;
};

}  // namespace galen::log_sources

#endif  // COMMON_LOG_SOURCES_ELASTICSEARCH_H_
