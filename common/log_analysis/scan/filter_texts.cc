#include "common/log_analysis/scan/filter_texts.h"

#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/log_analysis/scan/pattern_cache.h"
#include "common/log_analysis/scan/required_literals.h"

namespace galen::log_scan {
namespace {

// Raise it when the analysis changes: it is part of the cache's key.
constexpr absl::string_view kVersion = "filter texts 1\n";

std::string CacheKey(absl::Span<const Expression> expressions, std::size_t min_size) {
  std::string key = absl::StrCat(kVersion, min_size, "\n");
  for (const Expression& expression : expressions) {
    absl::StrAppend(&key, expression.pattern.size(), ":", expression.pattern, "\n");
  }
  return key;
}

// Texts hold no control characters, so each has a line; so has each number, before an empty line.
std::string Write(const FilterTexts& found) {
  std::string value;
  for (const std::size_t i : found.without) absl::StrAppend(&value, i, "\n");
  value += "\n";
  for (const std::string& text : found.texts) absl::StrAppend(&value, text, "\n");
  return value;
}

std::optional<FilterTexts> Read(absl::string_view value, std::size_t expressions,
                                std::size_t min_size) {
  FilterTexts found;
  bool numbers = true;
  for (const absl::string_view line : absl::StrSplit(value, '\n')) {
    std::size_t i = 0;
    if (numbers && !line.empty()) {
      if (!absl::SimpleAtoi(line, &i) || i >= expressions) return std::nullopt;
      found.without.push_back(i);
    } else if (line.empty()) {
      numbers = false;
    } else if (line.size() < min_size) {
      return std::nullopt;
    } else {
      found.texts.emplace_back(line);
    }
  }
  if (numbers) return std::nullopt;
  return found;
}

}  // namespace

FilterTexts FindFilterTexts(absl::Span<const Expression> expressions, std::size_t min_size,
                            const std::string& cache_directory) {
  const std::string key = CacheKey(expressions, min_size);
  if (!cache_directory.empty()) {
    const absl::StatusOr<std::string> cached = ReadCached(cache_directory, key);
    if (cached.ok()) {
      if (auto found = Read(*cached, expressions.size(), min_size); found.has_value()) {
        return *std::move(found);
      }
    }
  }
  FilterTexts found;
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    std::vector<std::string> texts = RequiredLiterals(expressions[i].pattern, min_size);
    if (texts.empty()) found.without.push_back(i);
    for (std::string& text : texts) found.texts.push_back(std::move(text));
  }
  if (!cache_directory.empty()) WriteCached(cache_directory, key, Write(found)).IgnoreError();
  return found;
}

}  // namespace galen::log_scan
