#ifndef COMMON_LOG_ANALYSIS_SCAN_ENTITIES_H_
#define COMMON_LOG_ANALYSIS_SCAN_ENTITIES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "galen/v1/evidence.pb.h"

namespace galen::log_scan {

// Collects what texts name: nodes (of those offered), addresses, ports, NICs, PCI addresses, GPUs,
// ranks and Xids. Not thread-safe.
class EntityCollector {
 public:
  // `nodes`: the host names to look for, in full or without their domain.
  explicit EntityCollector(absl::Span<const std::string> nodes);

  // Looks at a text of `source` whose first line has number `line` (1 and up).
  void Add(absl::string_view text, absl::string_view source, std::int64_t line);

  // Each entity once, where it was seen first and how often; by kind, then by value, numbers by
  // size. At most kMaxEntities: what comes first stays.
  std::vector<v1::Entity> Take() &&;

  static constexpr std::size_t kMaxEntities = 2000;

 private:
  void AddLine(absl::string_view text, absl::string_view source, std::int64_t line);
  void Count(v1::Entity::Kind kind, std::string value, absl::string_view source, std::int64_t line);

  absl::flat_hash_set<std::string> nodes_;
  // By kind, then length for numbers, then value.
  std::map<std::pair<int, std::pair<std::size_t, std::string>>, v1::Entity> found_;
};

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_ENTITIES_H_
