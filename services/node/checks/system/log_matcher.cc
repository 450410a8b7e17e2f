#include "services/node/checks/system/log_matcher.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/statusor.h"

namespace galen::node {
namespace {

using Database = std::unique_ptr<const log_scan::PatternDatabase>;

std::size_t BeginOf(absl::string_view block, std::size_t at) {
  const void* const newline = memrchr(block.data(), '\n', at);
  if (newline == nullptr) return 0;
  return static_cast<std::size_t>(static_cast<const char*>(newline) - block.data()) + 1;
}

std::size_t EndOf(absl::string_view block, std::size_t at) {
  const void* const newline = std::memchr(block.data() + at, '\n', block.size() - at);
  if (newline == nullptr) return block.size();
  return static_cast<std::size_t>(static_cast<const char*>(newline) - block.data());
}

}  // namespace

LogMatcher::LogMatcher(absl::Span<const std::vector<std::string>> sets,
                       const std::string& cache_directory) {
  std::vector<log_scan::Expression> expressions;
  for (std::size_t i = 0; i < std::min(sets.size(), kMaxSets); ++i) {
    for (const std::string& expression : sets[i]) {
      expressions.push_back({expression, ""});
      sets_.push_back(Sets{1} << i);
    }
  }
  absl::StatusOr<Database> all = log_scan::PatternDatabase::Create(expressions, cache_directory);
  if (!all.ok()) {
    // One of them is at fault, or some are: they are tried one by one.
    std::vector<log_scan::Expression> good;
    std::vector<Sets> sets_of_good;
    for (std::size_t i = 0; i < expressions.size(); ++i) {
      if (log_scan::PatternDatabase::Create({&expressions[i], 1}, "").ok()) {
        good.push_back(std::move(expressions[i]));
        sets_of_good.push_back(sets_[i]);
      } else {
        every_line_ |= sets_[i];
      }
    }
    sets_ = std::move(sets_of_good);
    all = log_scan::PatternDatabase::Create(good, cache_directory);
    if (!all.ok()) {
      for (const Sets set : sets_) every_line_ |= set;
      all = log_scan::PatternDatabase::Create({}, "");
    }
  }
  database_ = *std::move(all);
}

void LogMatcher::Scan(absl::string_view block, log_scan::PatternDatabase::Scratch& scratch,
                      std::vector<Line>& lines) const {
  lines.clear();
  bool sorted = true;
  database_->Scan(block, scratch, [&](std::size_t expression, std::size_t end) {
    // The last byte of a match says which line it is in: an expression may begin in the one before.
    const std::size_t last = end - 1;
    if (lines.empty() || last < lines.back().begin || last > lines.back().end) {
      const std::size_t begin = BeginOf(block, last);
      sorted = sorted && (lines.empty() || lines.back().begin < begin);
      lines.push_back({begin, EndOf(block, last), 0});
    }
    lines.back().sets |= sets_[expression];
  });
  if (sorted) return;
  std::sort(lines.begin(), lines.end(),
            [](const Line& a, const Line& b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].begin == lines[kept].begin) {
      lines[kept].sets |= lines[i].sets;
    } else {
      lines[++kept] = lines[i];
    }
  }
  lines.resize(kept + 1);
}

}  // namespace galen::node
