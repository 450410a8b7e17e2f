#ifndef COMMON_LOG_ANALYSIS_SCAN_LINE_FACTS_H_
#define COMMON_LOG_ANALYSIS_SCAN_LINE_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace galen::log_scan {

// The rank that wrote `line`, if the line says so: "[rank3]:", "[Rank 3]", "rank: 3",
// "rank=3", "Rank 3:" at the start. The number in "host:1:2 [3] NCCL" is a GPU, not a rank. Pure.
std::optional<std::int32_t> FindRank(absl::string_view line);

// The host that wrote `line`, if its prefix says so: NCCL ("node-1:71:75 [0] NCCL ..."), syslog and
// journal ("May  1 12:00:00 node-1 kernel: ..."), pdsh ("node-1: ..."). A guess by form: the caller
// compares it with the names that it knows. "": none. Pure.
std::string FindHost(absl::string_view line);

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_LINE_FACTS_H_
