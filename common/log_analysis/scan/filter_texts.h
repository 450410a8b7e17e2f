#ifndef COMMON_LOG_ANALYSIS_SCAN_FILTER_TEXTS_H_
#define COMMON_LOG_ANALYSIS_SCAN_FILTER_TEXTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/log_analysis/scan/pattern_database.h"

namespace galen::log_scan {

// The texts by which lines that may match are found.
struct FilterTexts {
  std::vector<std::string> texts;    // lower case
  std::vector<std::size_t> without;  // expressions that have none, in order
};

// Works the texts out (required_literals.h), or reads from `cache_directory` what an earlier
// process did ("" for no cache; a cache that cannot be read or written costs time, nothing else).
FilterTexts FindFilterTexts(absl::Span<const Expression> expressions, std::size_t min_size,
                            const std::string& cache_directory);

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_FILTER_TEXTS_H_
