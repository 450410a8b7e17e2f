#include "common/logs/scanner.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/logs/line_facts.h"
#include "common/logs/line_text.h"

namespace galen::logs {
namespace {

constexpr std::size_t kNoLine = static_cast<std::size_t>(-1);

// More matches than this are sorted and made distinct before the block goes on, so that a hostile
// block cannot make the list grow with the number of its match ends.
constexpr std::size_t kMaxMatches = 1 << 18;

// A long line is read this far around a match.
constexpr std::size_t kWindow = 64 << 10;

// Whether a match of `pattern` could hold a newline, to be on the safe side: every negated or named
// class, and every escape but those that surely cannot.
bool CanMatchNewline(absl::string_view pattern) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    const char next = pattern[i + 1];
    if (pattern[i] == '\\') {
      const bool letter = absl::ascii_isalnum(static_cast<unsigned char>(next));
      if (letter && absl::string_view("bBdwS").find(next) == absl::string_view::npos) return true;
      ++i;
    } else if (pattern[i] == '[' && (next == '^' || next == ':')) {
      return true;
    } else if (absl::ascii_iscntrl(static_cast<unsigned char>(pattern[i]))) {
      return true;
    } else if (pattern.substr(i, 2) == "(?" && pattern.substr(i, 3) != "(?:" &&
               pattern.substr(i, 4) != "(?i)") {
      return true;
    }
  }
  return false;
}

std::string NameOf(const knowledge::v1::SignalPattern& pattern) {
  if (pattern.source().file().empty()) return absl::StrCat("signal ", pattern.id());
  return absl::StrCat(pattern.source().file(), ":", pattern.source().line(), ": signal ",
                      pattern.id());
}

bool OnlyForDescriptions(const knowledge::v1::SignalPattern& pattern) {
  return !pattern.where().empty() &&
         std::all_of(pattern.where().begin(), pattern.where().end(),
                     [](int where) { return where == v1::DESCRIPTION; });
}

// Widens [first, last] by `time`.
void Widen(absl::Time time, std::optional<absl::Time>& first, std::optional<absl::Time>& last) {
  if (!first.has_value() || time < *first) first = time;
  if (!last.has_value() || time > *last) last = time;
}

}  // namespace

Scanner::Scanner(Patterns patterns) : patterns_(std::move(patterns)) {}
Scanner::~Scanner() = default;

absl::StatusOr<std::unique_ptr<const Scanner>> Scanner::Create(Patterns patterns,
                                                               const std::string& cache_directory) {
  std::unique_ptr<Scanner> scanner(new Scanner(std::move(patterns)));
  std::vector<Expression> common;
  std::vector<Expression> spoken;
  // Hyperscan sees bytes, so RE2 does too.
  RE2::Options options(RE2::Latin1);
  options.set_log_errors(false);
  for (const knowledge::v1::SignalPattern& pattern : scanner->patterns_) {
    const bool is_spoken = OnlyForDescriptions(pattern);
    (is_spoken ? spoken : common).push_back({pattern.pattern(), NameOf(pattern)});
    (is_spoken ? scanner->spoken_ : scanner->common_)
        .members.push_back(scanner->within_line_.size());
    std::unique_ptr<const RE2>& within_line = scanner->within_line_.emplace_back();
    if (!CanMatchNewline(pattern.pattern())) continue;
    within_line = std::make_unique<const RE2>(pattern.pattern(), options);
    if (!within_line->ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(NameOf(pattern), ": pattern does not compile: ", within_line->error(),
                       "; use what RE2 and Hyperscan share"));
    }
  }
  // Without a cache each takes some tenths of a second, so side by side (or one after the other,
  // where there is no thread for it).
  auto spoken_database = std::async(std::launch::async | std::launch::deferred, [&] {
    return PatternDatabase::Create(spoken, cache_directory);
  });
  auto common_database = PatternDatabase::Create(common, cache_directory);
  GALEN_ASSIGN_OR_RETURN(scanner->spoken_.database, spoken_database.get());
  GALEN_ASSIGN_OR_RETURN(scanner->common_.database, std::move(common_database));
  return scanner;
}

LogScan::LogScan(const Scanner& scanner, Options options)
    : scanner_(scanner),
      options_(options),
      common_scratch_(scanner.common_->NewScratch()),
      spoken_scratch_(options.kind == TextKind::kDescription ? scanner.spoken_->NewScratch()
                                                             : nullptr),
      seen_(scanner.within_line_.size()),
      hits_(scanner.within_line_.size()),
      last_line_(scanner.within_line_.size()) {
  buffer_.reserve(options_.block_bytes);
}

bool LogScan::Match::operator<(const Match& other) const {
  return std::tie(line, pattern, end) < std::tie(other.line, other.pattern, other.end);
}

void LogScan::Feed(absl::string_view chunk) {
  result_.bytes += static_cast<std::int64_t>(chunk.size());
  while (!chunk.empty()) {
    // Blocks are cut by offset alone: so the result does not depend on the chunks.
    const std::size_t n = std::min(chunk.size(), options_.block_bytes - buffer_.size());
    buffer_.append(chunk.data(), n);
    chunk.remove_prefix(n);
    if (buffer_.size() == options_.block_bytes) ScanBuffer(/*last=*/false);
  }
}

// Scans the finished lines of the buffer and keeps the rest. Where a single line fills the buffer,
// scans what is there of it and keeps an overlap.
void LogScan::ScanBuffer(bool last) {
  std::size_t size = buffer_.size();
  bool line_goes_on = false;
  if (!last) {
    // Several times faster than std::string::rfind.
    const void* const newline = memrchr(buffer_.data(), '\n', size);
    line_goes_on = newline == nullptr;
    if (!line_goes_on) {
      size = static_cast<std::size_t>(static_cast<const char*>(newline) - buffer_.data()) + 1;
    }
  }
  const Normalized normalized = Normalize(buffer_.data(), size, last, in_binary_);
  result_.binary_lines += normalized.binary_lines;
  in_binary_ = normalized.ends_in_binary;

  const absl::string_view block(buffer_.data(), normalized.size);
  FindLines(block);
  CollectMatches(block);
  for (const Match& match : matches_) Record(block, match);

  if (line_goes_on) {
    if (!continued_) ++result_.long_lines;
    continued_ = true;
    const std::size_t overlap = std::min({normalized.size, kOverlap, options_.block_bytes / 4});
    buffer_.erase(0, normalized.size - overlap);
    buffer_.resize(overlap);
    return;
  }
  const bool ends_in_newline = !block.empty() && block.back() == '\n';
  line_ += static_cast<std::int64_t>(line_starts_.size()) - (ends_in_newline ? 0 : 1);
  continued_ = false;
  buffer_.erase(0, size);
}

void LogScan::FindLines(absl::string_view block) {
  line_starts_.assign(1, 0);
  const char* const begin = block.data();
  const char* const end = begin + block.size();
  const char* at = begin;
  while (at != end) {
    const void* newline = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
    if (newline == nullptr) break;
    at = static_cast<const char*>(newline) + 1;
    if (at != end) line_starts_.push_back(static_cast<std::uint32_t>(at - begin));
  }
}

absl::string_view LogScan::LineAt(absl::string_view block, std::size_t line) const {
  const std::size_t begin = line_starts_[line];
  const std::size_t end = line + 1 < line_starts_.size() ? line_starts_[line + 1] : block.size();
  absl::string_view text = block.substr(begin, end - begin);
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return text;
}

// Fills matches_: each pattern at most once a line, in order.
void LogScan::CollectMatches(absl::string_view block) {
  matches_.clear();
  std::fill(seen_.begin(), seen_.end(), std::make_pair(0, 0));
  CollectMatchesOf(scanner_.common_, common_scratch_, block);
  if (options_.kind == TextKind::kDescription) {
    CollectMatchesOf(scanner_.spoken_, spoken_scratch_, block);
  }
  MakeMatchesDistinct();
  timed_line_ = kNoLine;
}

void LogScan::CollectMatchesOf(const Scanner::Group& group, PatternDatabase::Scratch& scratch,
                               absl::string_view block) {
  std::size_t limit = matches_.size() + kMaxMatches;
  group->Scan(block, scratch, [&](std::size_t member, std::size_t end) {
    // A pattern that ends in ".*" reports every byte to the end of the line: the common case is two
    // comparisons.
    const std::size_t pattern = group.members[member];
    auto& [seen_begin, seen_end] = seen_[pattern];
    if (end > seen_begin && end <= seen_end) return;
    const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), end - 1);
    seen_begin = *std::prev(next);
    seen_end = next == line_starts_.end() ? block.size() : *next;
    matches_.push_back({static_cast<std::size_t>(next - line_starts_.begin()) - 1, pattern, end});
    if (matches_.size() >= limit) {
      MakeMatchesDistinct();
      limit = matches_.size() + kMaxMatches;
    }
  });
}

void LogScan::MakeMatchesDistinct() {
  std::sort(matches_.begin(), matches_.end());
  const auto same = [](const Match& a, const Match& b) {
    return a.line == b.line && a.pattern == b.pattern;
  };
  matches_.erase(std::unique(matches_.begin(), matches_.end(), same), matches_.end());
}

void LogScan::Record(absl::string_view block, const Match& match) {
  const std::int64_t number = line_ + static_cast<std::int64_t>(match.line);
  if (last_line_[match.pattern] == number) return;  // in an earlier piece of the same line
  const absl::string_view line = LineAt(block, match.line);
  const std::size_t end = std::min(match.end - line_starts_[match.line], line.size());
  if (!HoldsWithinLine(line, end, match.pattern)) return;
  last_line_[match.pattern] = number;
  if (IsBinary(line)) {
    ++result_.binary_matches;
    return;
  }
  Hit& hit = hits_[match.pattern];
  if (++hit.count == 1) {
    hit.pattern = match.pattern;
    hit.first_line = number;
    hit.excerpt = Excerpt(line, end, kExcerptBytes);
    hit.rank = FindRank(line);
  }
  NoteTime(match.line, line, hit);
}

void LogScan::NoteTime(std::size_t line, absl::string_view text, Hit& hit) {
  if (continued_ && line == 0) return;  // its beginning, where the time stands, is gone
  const bool first_look = timed_line_ != line;
  if (first_look) {
    timed_line_ = line;
    stamp_ = FindTimeStamp(text);
  }
  if (!stamp_.has_value()) return;
  const std::optional<absl::Time> time = Resolve(*stamp_, options_.time);
  if (time.has_value()) {
    Widen(*time, hit.first_time, hit.last_time);
  } else if (first_look) {
    ++result_.undated_lines;
  }
}

bool LogScan::HoldsWithinLine(absl::string_view line, std::size_t end, std::size_t pattern) const {
  const RE2* expression = scanner_.within_line_[pattern].get();
  if (expression == nullptr) return true;
  if (line.size() > kWindow) {
    const std::size_t begin = end > kWindow / 2 ? end - kWindow / 2 : 0;
    line = line.substr(begin, kWindow);
  }
  return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *expression);
}

ScanResult LogScan::Finish() {
  const bool unfinished = buffer_.empty() ? continued_ : buffer_.back() != '\n';
  ScanBuffer(/*last=*/true);
  result_.lines = line_ - 1 + (unfinished ? 1 : 0);
  if (in_binary_) ++result_.binary_lines;
  for (Hit& hit : hits_) {
    if (hit.count > 0) result_.hits.push_back(std::move(hit));
  }
  std::sort(result_.hits.begin(), result_.hits.end(), [](const Hit& a, const Hit& b) {
    return std::tie(a.first_line, a.pattern) < std::tie(b.first_line, b.pattern);
  });
  return std::move(result_);
}

}  // namespace galen::logs
