#include "common/log_analysis/scan/scanner.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <future>
#include <limits>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/log_analysis/scan/byte_scan.h"
#include "common/log_analysis/scan/filter_texts.h"
#include "common/log_analysis/scan/line_facts.h"
#include "common/log_analysis/scan/line_text.h"

namespace galen::log_scan {
namespace {

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
// The loose patterns for descriptions take four fifths of the time to compile. In parts they are
// compiled in parallel, and a pattern that a site adds costs one part.
constexpr std::size_t kSpokenParts = 16;

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

// Whether one is a prefix of the other: "2.18" and "2.18.6".
bool IsShorterOf(absl::string_view a, absl::string_view b) {
  return absl::StartsWith(a, b) || absl::StartsWith(b, a);
}

// Begin, at `from` or later, of the line with byte `at` of `block`.
std::size_t LineBegin(absl::string_view block, std::size_t from, std::size_t at) {
  const void* const newline = memrchr(block.data() + from, '\n', at - from);
  if (newline == nullptr) return from;
  return static_cast<std::size_t>(static_cast<const char*>(newline) - block.data()) + 1;
}

// End of the line with byte `at`: its newline, or the end of the block.
std::size_t LineEnd(absl::string_view block, std::size_t at) {
  const void* const newline = std::memchr(block.data() + at, '\n', block.size() - at);
  if (newline == nullptr) return block.size();
  return static_cast<std::size_t>(static_cast<const char*>(newline) - block.data());
}

// Runs the tasks on all processors; returns the error of the first that failed.
absl::Status RunAll(const std::vector<std::function<absl::Status()>>& tasks) {
  std::vector<absl::Status> results(tasks.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size(); i = next++) results[i] = tasks[i]();
  };
  std::vector<std::future<void>> others;
  for (unsigned i = 1; i < std::thread::hardware_concurrency() && i < tasks.size(); ++i) {
    // If no thread is available, this one does all.
    others.push_back(std::async(std::launch::async | std::launch::deferred, work));
  }
  work();
  for (std::future<void>& other : others) other.get();
  for (const absl::Status& result : results) GALEN_RETURN_IF_ERROR(result);
  return absl::OkStatus();
}

}  // namespace

Scanner::Scanner(Patterns patterns) : patterns_(std::move(patterns)) {}
Scanner::~Scanner() = default;

bool Scanner::from_cache() const {
  return common_->from_cache() &&
         std::all_of(spoken_.begin(), spoken_.end(),
                     [](const Group& part) { return part.members.empty() || part->from_cache(); });
}

absl::StatusOr<std::unique_ptr<const Scanner>> Scanner::Create(Patterns patterns,
                                                               const std::string& cache_directory) {
  std::unique_ptr<Scanner> scanner(new Scanner(std::move(patterns)));
  std::vector<Expression> common;
  std::vector<std::vector<Expression>> spoken(kSpokenParts);
  scanner->spoken_.resize(kSpokenParts);
  for (int i = 0; i < scanner->patterns_.size(); ++i) {
    const knowledge::v1::SignalPattern& pattern = scanner->patterns_[i];
    const std::size_t part = std::hash<std::string>()(pattern.pattern()) % kSpokenParts;
    const bool is_spoken = OnlyForDescriptions(pattern);
    (is_spoken ? spoken[part] : common).push_back({pattern.pattern(), NameOf(pattern)});
    (is_spoken ? scanner->spoken_[part] : scanner->common_)
        .members.push_back(static_cast<std::size_t>(i));
  }
  const auto compile = [&](const std::vector<Expression>& expressions, Group& group) {
    auto database = PatternDatabase::Create(expressions, cache_directory);
    if (database.ok()) group.database = *std::move(database);
    return database.status();
  };
  // The longest first.
  std::vector<std::function<absl::Status()>> tasks = {
      [&] { return compile(common, scanner->common_); },
      [&] {
        const FilterTexts texts = FindFilterTexts(common, LiteralFilter::kMinSize, cache_directory);
        scanner->filter_ = LiteralFilter(texts.texts);
        std::vector<Expression> always;
        for (const std::size_t i : texts.without) {
          always.push_back(common[i]);
          scanner->always_.members.push_back(scanner->common_.members[i]);
        }
        return compile(always, scanner->always_);
      }};
  for (std::size_t part = 0; part < kSpokenParts; ++part) {
    tasks.emplace_back([&, part] { return compile(spoken[part], scanner->spoken_[part]); });
  }
  GALEN_RETURN_IF_ERROR(RunAll(tasks));
  return scanner;
}

LogScan::LogScan(const Scanner& scanner, Options options)
    : scanner_(scanner),
      options_(options),
      common_scratch_(scanner.common_->NewScratch()),
      always_scratch_(options.kind == TextKind::kLog ? scanner.always_->NewScratch() : nullptr),
      ends_(static_cast<std::size_t>(scanner.patterns_.size()), kNowhere),
      hits_(static_cast<std::size_t>(scanner.patterns_.size())),
      last_line_(static_cast<std::size_t>(scanner.patterns_.size())) {
  if (options_.kind != TextKind::kDescription) return;
  for (const Scanner::Group& part : scanner.spoken_) spoken_scratch_.push_back(part->NewScratch());
}

void LogScan::Feed(absl::string_view chunk) {
  result_.bytes += static_cast<std::int64_t>(chunk.size());
  while (!chunk.empty()) {
    const absl::string_view part = chunk.substr(0, options_.block_bytes);
    chunk.remove_prefix(part.size());
    FeedPart(part);
  }
}

// `part` is at most a block, so a longer line never lies whole in one part: it is cut at the same
// places for any chunks of the text.
void LogScan::FeedPart(absl::string_view part) {
  // An unfinished line is completed first; whole lines of the part are read without a copy.
  while (!part.empty() && (!line_.empty() || continued_)) {
    const std::size_t end = LineEnd(part, 0);
    const bool line_ends = end < part.size();
    const std::size_t wanted = line_ends ? end + 1 : end;
    const std::size_t n = std::min(wanted, options_.block_bytes - line_.size());
    line_.append(part.data(), n);
    part.remove_prefix(n);
    if (line_ends && n == wanted) {
      ScanPiece(/*line_ends=*/true, /*text_ends=*/false);
    } else if (line_.size() == options_.block_bytes) {
      ScanPiece(/*line_ends=*/false, /*text_ends=*/false);
    }
  }
  const void* const newline = memrchr(part.data(), '\n', part.size());
  if (newline != nullptr) {
    const auto size = static_cast<std::size_t>(static_cast<const char*>(newline) - part.data());
    ScanWholeLines(part.substr(0, size + 1));
    part.remove_prefix(size + 1);
  }
  line_.append(part.data(), part.size());
  if (line_.size() == options_.block_bytes) ScanPiece(/*line_ends=*/false, /*text_ends=*/false);
}

// Scans line_: a line, its last piece, or a piece of it after which an overlap is kept.
void LogScan::ScanPiece(bool line_ends, bool text_ends) {
  const Normalized normalized =
      Normalize(line_.data(), line_.size(), line_ends || text_ends, in_binary_);
  result_.binary_lines += normalized.binary_lines;
  in_binary_ = normalized.ends_in_binary;
  if (!line_ends && !text_ends && !continued_) ++result_.long_lines;
  Line line;
  line.text = absl::string_view(line_.data(), normalized.size);
  if (line_ends) line.text.remove_suffix(1);
  line.around = line.text;
  line.number = lines_ + 1;
  line.from_start = !continued_;
  ScanLine(scanner_.common_, common_scratch_, std::move(line));
  if (line_ends || text_ends) {
    if (line_ends) ++lines_;
    continued_ = false;
    line_.clear();
    return;
  }
  continued_ = true;
  const std::size_t overlap = std::min({normalized.size, kOverlap, options_.block_bytes / 4});
  line_.erase(0, normalized.size - overlap);
  line_.resize(overlap);
}

// `block` ends in a newline, and no line of it is unfinished.
void LogScan::ScanWholeLines(absl::string_view block) {
  const BlockBytes bytes = LookAtBytes(block);
  absl::string_view clean = block;
  if (bytes.needs_cleaning) {
    clean_.assign(block.data(), block.size());
    const Normalized normalized = Normalize(clean_.data(), clean_.size(), false, false);
    result_.binary_lines += normalized.binary_lines;
    clean = absl::string_view(clean_.data(), normalized.size);
  }
  ScanCleanLines(clean);
  lines_ += static_cast<std::int64_t>(bytes.newlines);
}

void LogScan::ScanCleanLines(absl::string_view block) {
  std::size_t counted = 0;  // up to here the newlines before the line are counted
  std::int64_t number = lines_ + 1;
  const auto scan = [&](const Scanner::Group& group, PatternDatabase::Scratch& scratch,
                        std::size_t begin, std::size_t end) {
    number += static_cast<std::int64_t>(CountNewlines(block.substr(counted, begin - counted)));
    counted = begin;
    Line line;
    line.text = block.substr(begin, end - begin);
    line.number = number;
    line.around = block;
    line.begin = begin;
    ScanLine(group, scratch, std::move(line));
  };
  const Scanner::Group& all = scanner_.common_;
  if (options_.kind == TextKind::kDescription) {
    for (std::size_t begin = 0; begin < block.size();) {
      const std::size_t end = LineEnd(block, begin);
      scan(all, common_scratch_, begin, end);
      begin = end + 1;
    }
    return;
  }
  // A line without any filter text can match only patterns without filter texts.
  FindAlways(block);
  auto always = always_lines_.begin();
  std::size_t at = 0;
  while (at < block.size()) {
    const std::size_t found = scanner_.filter_.Find(block, at);
    const bool is_found = found != absl::string_view::npos;
    const std::size_t begin = is_found ? LineBegin(block, at, found) : block.size();
    for (; always != always_lines_.end() && always->first < begin; ++always) {
      scan(scanner_.always_, always_scratch_, always->first, always->second);
    }
    if (!is_found) return;
    const std::size_t end = LineEnd(block, found);
    scan(all, common_scratch_, begin, end);
    if (always != always_lines_.end() && always->first == begin) ++always;
    at = end + 1;
  }
}

// Fills always_lines_ with the lines in which a match of always_ ends, in order.
void LogScan::FindAlways(absl::string_view block) {
  always_lines_.clear();
  std::size_t seen_begin = 0;
  std::size_t seen_end = 0;
  scanner_.always_->Scan(block, always_scratch_, [&](std::size_t, std::size_t end) {
    const std::size_t last = end - 1;
    if (last >= seen_begin && last < seen_end) return;
    seen_begin = LineBegin(block, 0, last);
    seen_end = LineEnd(block, last) + 1;
    always_lines_.emplace_back(seen_begin, seen_end - 1);
  });
  std::sort(always_lines_.begin(), always_lines_.end());
  always_lines_.erase(std::unique(always_lines_.begin(), always_lines_.end()), always_lines_.end());
}

// Matches `line` with `group`, and in a description also with the patterns for descriptions only.
void LogScan::ScanLine(const Scanner::Group& group, PatternDatabase::Scratch& scratch, Line line) {
  matched_.clear();
  Collect(group, scratch, line);
  for (std::size_t part = 0; part < spoken_scratch_.size(); ++part) {
    Collect(scanner_.spoken_[part], spoken_scratch_[part], line);
  }
  std::sort(matched_.begin(), matched_.end());
  for (const std::size_t pattern : matched_) {
    Record(line, pattern, ends_[pattern]);
    ends_[pattern] = kNowhere;
  }
}

// Adds the matching patterns to matched_, and the end of the first match of each to ends_.
void LogScan::Collect(const Scanner::Group& group, PatternDatabase::Scratch& scratch,
                      const Line& line) {
  group->Scan(line.text, scratch, [&](std::size_t member, std::size_t end) {
    const std::size_t pattern = group.members[member];
    if (scanner_.patterns_[static_cast<int>(pattern)].outcome() !=
            knowledge::v1::OUTCOME_UNSPECIFIED &&
        !TellsOutcome(line, pattern, end)) {
      return;
    }
    if (ends_[pattern] == kNowhere) matched_.push_back(pattern);
    ends_[pattern] = std::min(ends_[pattern], end);
  });
}

// Whether the words around the match state the outcome that the pattern wants. DIFFERS is decided
// at the end of the text.
bool LogScan::TellsOutcome(const Line& line, std::size_t pattern, std::size_t end) {
  constexpr std::size_t kMostNames = 64;
  if (!options_.mention) return false;
  // A hostile text may name one thing a hundred thousand times.
  constexpr int kMostMentions = 200;
  if (++mentions_[pattern] > kMostMentions) return false;
  const knowledge::v1::Outcome wanted = scanner_.patterns_[static_cast<int>(pattern)].outcome();
  const Mention mention = options_.mention(line.around, line.begin + end);
  if (wanted != knowledge::v1::DIFFERS) return mention.outcome == wanted;
  std::map<std::string, Told>& names = told_[pattern];
  if (names.size() >= kMostNames && !names.contains(mention.name)) return false;
  Told& told = names[mention.name];
  if (told.line == 0) {
    told.line = line.number;
    told.excerpt = Excerpt(line.text, end, kExcerptBytes);
  }
  told.works = told.works || mention.outcome == knowledge::v1::WORKS;
  told.fails = told.fails || mention.outcome == knowledge::v1::FAILS;
  return false;
}

// One name works, and another does not: the fault depends on it. A name with both statements
// decides nothing.
void LogScan::RecordDifferences() {
  for (const auto& [pattern, names] : told_) {
    const auto works = std::find_if(names.begin(), names.end(), [](const auto& each) {
      return each.second.works && !each.second.fails;
    });
    if (works == names.end()) continue;
    const bool other = std::any_of(names.begin(), names.end(), [&](const auto& each) {
      return !each.second.works && !IsShorterOf(each.first, works->first);
    });
    if (!other) continue;
    Hit& hit = hits_[pattern];
    hit.pattern = pattern;
    hit.count = 1;
    hit.first_line = works->second.line;
    hit.last_line = hit.first_line;
    hit.excerpt = works->second.excerpt;
  }
}

void LogScan::Record(Line& line, std::size_t pattern, std::size_t end) {
  if (last_line_[pattern] == line.number) return;  // in an earlier piece of the same line
  last_line_[pattern] = line.number;
  if (IsBinary(line.text)) {
    ++result_.binary_matches;
    return;
  }
  Hit& hit = hits_[pattern];
  if (++hit.count == 1) {
    hit.pattern = pattern;
    hit.first_line = line.number;
    hit.excerpt = Excerpt(line.text, end, kExcerptBytes);
    hit.rank = FindRank(line.text);
  }
  hit.last_line = line.number;
  NoteTime(line, hit);
}

void LogScan::NoteTime(Line& line, Hit& hit) {
  if (!line.from_start) return;  // its beginning, with the time, is gone
  const bool first_look = !line.timed;
  if (first_look) {
    line.timed = true;
    line.stamp = FindTimeStamp(line.text);
  }
  if (!line.stamp.has_value()) return;
  const std::optional<absl::Time> time = Resolve(*line.stamp, options_.time);
  if (time.has_value()) {
    Widen(*time, hit.first_time, hit.last_time);
  } else if (first_look) {
    ++result_.undated_lines;
  }
}

ScanResult LogScan::Finish() {
  const bool unfinished = !line_.empty() || continued_;
  if (unfinished) ScanPiece(/*line_ends=*/false, /*text_ends=*/true);
  result_.lines = lines_ + (unfinished ? 1 : 0);
  if (in_binary_) ++result_.binary_lines;
  RecordDifferences();
  for (Hit& hit : hits_) {
    if (hit.count > 0) result_.hits.push_back(std::move(hit));
  }
  std::sort(result_.hits.begin(), result_.hits.end(), [](const Hit& a, const Hit& b) {
    return std::tie(a.first_line, a.pattern) < std::tie(b.first_line, b.pattern);
  });
  return std::move(result_);
}

}  // namespace galen::log_scan
