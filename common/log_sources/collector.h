#ifndef COMMON_LOG_SOURCES_COLLECTOR_H_
#define COMMON_LOG_SOURCES_COLLECTOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/log_sources/labels.h"
#include "common/log_sources/log_store.h"

namespace galen::log_sources {

// Makes logs of lines that a store gives, the newest first, within the limits. Times are
// nanoseconds since 1970.
class Collector {
 public:
  // `names` must outlive it.
  Collector(const LabelNames& names, const Limits& limits) : names_(names), limits_(limits) {}

  // The log of lines with these labels. Nothing: there would be more logs than allowed.
  std::optional<std::size_t> LogOf(const LabelOf& label);
  // Adds a line. False: a limit is reached, and older lines have no place.
  bool Add(std::size_t log, std::int64_t at, absl::string_view line);
  // Says that the store could not give all within the time; older lines are missing.
  void OutOfTime();
  // Something else that is missing. The same is said once.
  void Miss(const std::string& what);

  std::size_t lines() const { return lines_; }
  // All of it. NOT_FOUND: there is no line. `store` and `window` are for the message.
  absl::StatusOr<Fetched> Take(absl::string_view store, const Window& window);

 private:
  struct Log {
    std::string name;
    std::string node;
    std::vector<std::pair<std::int64_t, std::string>> lines;
  };

  void CutAt(absl::string_view limit);

  const LabelNames& names_;
  const Limits limits_;
  std::map<std::vector<std::string>, std::size_t> known_;
  std::vector<Log> logs_;
  std::size_t lines_ = 0;
  std::size_t bytes_ = 0;
  std::optional<std::int64_t> oldest_;
  bool cut_ = false;
  std::vector<std::string> cuts_;
};

// "64 MiB".
std::string SizeText(std::size_t bytes);

// The name of a log of these parts.
std::string LogNameOf(absl::string_view name, absl::string_view part);

}  // namespace galen::log_sources

#endif  // COMMON_LOG_SOURCES_COLLECTOR_H_
