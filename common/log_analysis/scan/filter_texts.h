#ifndef COMMON_LOG_ANALYSIS_SCAN_FILTER_TEXTS_H_
#define COMMON_LOG_ANALYSIS_SCAN_FILTER_TEXTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/log_analysis/scan/pattern_database.h"

namespace galen::log_scan {

// Texts that find the lines which may match.
struct FilterTexts {
  std::vector<std::string> texts;    // lower case
  std::vector<std::size_t> without;  // expressions without texts, in order
};

// Computes the texts (required_literals.h), or reads the result of an earlier process from
// `cache_directory` ("": no cache; an unreadable or unwritable cache only costs time).
FilterTexts FindFilterTexts(absl::Span<const Expression> expressions, std::size_t min_size,
                            const std::string& cache_directory);

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_FILTER_TEXTS_H_
