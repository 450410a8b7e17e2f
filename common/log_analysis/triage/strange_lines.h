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

// Lines that no entry of the catalogue matches, grouped by template, and a selection of them for
// people: leads, never a failure. Memory is bounded like that of log_templates::Miner. Not
// thread-safe.
class StrangeLines {
 public:
  // The last kEnd bytes of a log are searched for leads. In the rest, kSampled bytes in every kEnd
  // bytes are sampled; templates in the samples are ordinary.
  static constexpr std::size_t kEnd = std::size_t{64} << 10;
  static constexpr std::size_t kSampled = std::size_t{1} << 10;
  // Whether a line at `place`, in bytes of the log, is a sample.
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

  // Adds a line of the current log, in the order of the log and at most once.
  void Add(const Line& line);
  // Ends a log of `bytes` bytes.
  void EndLog(std::uint64_t bytes);

  // The likeliest templates that are near the end of their log or near `failure` and not ordinary;
  // at most JobReport::kMostLeads.
  std::vector<Lead> Leads(const std::vector<LogRead>& logs, const Source* failure) const;

 private:
  struct Seen {
    std::int64_t count = 0;
    std::int64_t last = 0;  // its last line, in the log of the first line
    std::size_t log = 0;
    Source first;
    std::set<std::string> writers;         // at most kMostWriters
    std::optional<std::uint64_t> sampled;  // place of a sample in the current log
    bool ordinary = false;
  };

  log_templates::Miner miner_;
  absl::flat_hash_map<std::uint64_t, Seen> seen_;
  std::vector<std::uint64_t> sampled_;  // templates of samples in the current log
  std::set<std::string> writers_;       // of all lines, at most kMostWriters
};

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_STRANGE_LINES_H_
