#ifndef COMMON_LOG_ANALYSIS_TRIAGE_STRANGE_LINES_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_STRANGE_LINES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/log_analysis/templates/miner.h"
#include "common/log_analysis/triage/report.h"

namespace galen::triage {

// Lines that nothing of the catalogue knows, grouped by template, and which of them a person may
// want to see: leads, never a failure. Memory is bounded as that of log_templates::Miner is. Not
// thread-safe.
class StrangeLines {
 public:
  // Of a log, its end: what is looked for leads in. Of the rest one KiB of so many bytes is looked
  // at, and what shows there is ordinary.
  static constexpr std::size_t kEnd = std::size_t{64} << 10;
  static constexpr std::size_t kSampled = std::size_t{1} << 10;
  // Places are bytes of the log. True for those of which lines are samples.
  static constexpr bool IsSample(std::uint64_t place) {
    return place >= kEnd && place % kEnd < kSampled;
  }

  struct Line {
    absl::string_view text;
    std::uint64_t place = 0;
    std::size_t log = 0;
    std::int64_t number = 0;
    std::string writer;
    std::optional<absl::Time> time;
  };

  StrangeLines();

  // Those of a log as they come, no line twice.
  void Add(const Line& line);
  // The log had so many bytes.
  void EndLog(std::uint64_t bytes);

  // The likeliest ones of those that are near the end of their log or `failure`, and that are not
  // ordinary, at most kMostLeads.
  std::vector<Lead> Leads(const std::vector<LogRead>& logs, const Source* failure) const;

 private:
  struct Seen {
    std::int64_t count = 0;
    std::int64_t last = 0;  // its last line, in the log of the first
    std::size_t log = 0;
    Source first;
    std::set<std::string> writers;         // at most kMostWriters
    std::optional<std::uint64_t> sampled;  // where in the log that is being read
    bool ordinary = false;
  };

  log_templates::Miner miner_;
  absl::flat_hash_map<std::uint64_t, Seen> seen_;
  std::vector<std::uint64_t> sampled_;  // templates of samples of this log
  std::set<std::string> writers_;       // of all, at most kMostWriters
};

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_STRANGE_LINES_H_
