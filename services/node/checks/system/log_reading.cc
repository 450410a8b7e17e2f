#include "services/node/checks/system/log_reading.h"

#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "common/knowledge/load.h"
#include "common/log_analysis/scan/byte_scan.h"
#include "common/log_analysis/scan/line_blocks.h"
#include "common/log_analysis/scan/reader.h"

namespace galen::node {
namespace {

// The most bytes that small logs may unpack to.
constexpr std::size_t kSmallText = std::size_t{1} << 20;

// Finds in a stream of text the lines that are wanted.
class Picker {
 public:
  Picker(const host::JobLog& log, const LogMatcher& matcher, LogMatcher::Sets dated,
         absl::FunctionRef<void(const LogLine&, LogMatcher::Sets)> on_line)
      : matcher_(matcher), scratch_(matcher.NewScratch()), dated_(dated), on_line_(on_line) {
    line_.log = &log;
  }

  void Feed(absl::string_view chunk) {
    blocks_.Feed(chunk,
                 [this](absl::string_view block, std::int64_t lines) { Pick(block, lines); });
  }

  std::int64_t Finish() {
    blocks_.Finish([this](absl::string_view block, std::int64_t lines) { Pick(block, lines); });
    return lines_;
  }

 private:
  void Pick(absl::string_view block, std::int64_t lines) {
    matcher_.Scan(block, scratch_, found_);
    if (matcher_.every_line() != 0) AddOtherLines(block);
    std::size_t counted = 0;
    line_.number = lines_ + 1;
    for (const LogMatcher::Line& found : found_) {
      line_.number += static_cast<std::int64_t>(
          log_scan::CountNewlines(block.substr(counted, found.begin - counted)));
      counted = found.begin;
      line_.text = block.substr(found.begin, std::min(found.end - found.begin, kMaxLogLine));
      line_.dated = (found.sets & dated_) != 0 ? log_scan::DatedLine(block, found.begin, found.end)
                                               : absl::string_view();
      on_line_(line_, found.sets);
    }
    lines_ += lines;
  }

  // Puts the lines between those found that only some wants want.
  void AddOtherLines(absl::string_view block) {
    std::vector<LogMatcher::Line> all;
    auto next = found_.begin();
    for (std::size_t begin = 0; begin < block.size();) {
      const std::size_t end = std::min(block.find('\n', begin), block.size());
      LogMatcher::Line line = {begin, end, matcher_.every_line()};
      if (next != found_.end() && next->begin == begin) line.sets |= (next++)->sets;
      all.push_back(line);
      begin = end + 1;
    }
    found_ = std::move(all);
  }

  const LogMatcher& matcher_;
  log_scan::PatternDatabase::Scratch scratch_;
  const LogMatcher::Sets dated_;
  absl::FunctionRef<void(const LogLine&, LogMatcher::Sets)> on_line_;
  log_scan::LineBlocks blocks_;
  std::vector<LogMatcher::Line> found_;
  LogLine line_;
  std::int64_t lines_ = 0;
};

// The compiled matcher of the wants. The last few are cached: compiling one takes a tenth of a
// second.
std::shared_ptr<const LogMatcher> MatcherOf(absl::Span<const LogWant* const> wants,
                                            const knowledge::Knowledge& knowledge) {
  constexpr std::size_t kMost = 16;
  struct Recent {
    Mutex mu;
    std::deque<std::pair<std::string, std::shared_ptr<const LogMatcher>>> matchers
        ABSL_GUARDED_BY(mu);
  };
  static auto* const recent = new Recent();
  std::vector<std::vector<std::string>> sets;
  std::string key;
  for (const LogWant* want : wants) {
    sets.push_back(want->expressions(knowledge));
    for (const std::string& each : sets.back()) absl::StrAppend(&key, each.size(), ":", each);
    absl::StrAppend(&key, "\n");
  }
  const MutexLock lock(recent->mu);
  for (const auto& [of, matcher] : recent->matchers) {
    if (of == key) return matcher;
  }
  if (recent->matchers.size() >= kMost) recent->matchers.pop_front();
  auto matcher = std::make_shared<const LogMatcher>(sets, knowledge::DefaultCacheDirectory());
  return recent->matchers.emplace_back(std::move(key), std::move(matcher)).second;
}

}  // namespace

absl::StatusOr<std::int64_t> ScanLog(
    const host::JobLog& log, const LogMatcher& matcher, LogMatcher::Sets dated,
    absl::FunctionRef<void(const LogLine&, LogMatcher::Sets)> on_line) {
  log_scan::LogReader::Options options;
  options.max_bytes = kMaxLogBytes;
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<log_scan::LogReader> reader,
                         log_scan::LogReader::Open(log.path, options));
  Picker picker(log, matcher, dated, on_line);
  while (true) {
    const auto chunk = reader->Next();
    // The text before the damage is valid.
    if (!chunk.ok() || chunk->empty()) break;
    picker.Feed(*chunk);
  }
  return picker.Finish();
}

LogReading::LogReading(std::vector<host::JobLog> logs, absl::Span<const LogWant* const> wants,
                       const FoldBasis& basis)
    : logs_(std::move(logs)), folds_(wants.size()) {
  for (const LogWant* want : wants) results_.push_back({want, {}, 0, true, nullptr});
  is_small_ = ReadTexts();
  if (!is_small_) Scan(basis);
}

// False when the logs are not small.
bool LogReading::ReadTexts() {
  std::int64_t size = 0;
  for (const host::JobLog& log : logs_) {
    struct stat info = {};
    if (stat(log.path.c_str(), &info) == 0) size += info.st_size;
    if (size >= kSmall) return false;
  }
  std::size_t unpacked = 0;
  for (const host::JobLog& log : logs_) {
    Text& text = texts_.emplace_back();
    bool too_much = false;
    lines_.push_back(ReadLogLines(log, [&](const LogLine& line) {
      too_much = too_much || unpacked + text.text.size() + line.text.size() > kSmallText;
      if (too_much) return;
      text.text.append(line.text.data(), line.text.size());
      text.ends.push_back(static_cast<std::uint32_t>(text.text.size()));
    }));
    unpacked += text.text.size();
    if (too_much) {
      texts_.clear();
      lines_.clear();
      return false;
    }
  }
  return true;
}

void LogReading::Scan(const FoldBasis& basis) {
  std::vector<const LogWant*> wants;
  LogMatcher::Sets dated = 0;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    Result& result = results_[i];
    wants.push_back(result.want);
    if (result.want->dated) dated |= LogMatcher::Sets{1} << i;
    if (result.want->fold != nullptr) result.fold = result.want->fold(basis);
  }
  const std::shared_ptr<const LogMatcher> matcher = MatcherOf(wants, basis.knowledge);
  for (std::size_t log = 0; log < logs_.size(); ++log) {
    lines_.push_back(
        ScanLog(logs_[log], *matcher, dated, [&](const LogLine& line, LogMatcher::Sets sets) {
          for (std::size_t i = 0; sets != 0; ++i, sets >>= 1) {
            if ((sets & 1) == 0) continue;
            Result& result = results_[i];
            if (result.fold != nullptr) {
              result.fold->Add(line);
            } else if (result.all_kept) {
              Keep(result, log, line);
            }
          }
        }));
  }
  const MutexLock lock(mu_);
  for (std::size_t i = 0; i < results_.size(); ++i) folds_[i] = std::move(results_[i].fold);
}

void LogReading::Keep(Result& result, std::size_t log, const LogLine& line) {
  const std::size_t bytes = sizeof(Kept) + line.text.size() + line.dated.size();
  if (result.bytes + bytes > kMostKeptBytes || kept_in_all_ + bytes > kMostKeptInAll) {
    result.all_kept = false;
    kept_in_all_ -= result.bytes;
    result.kept = {};
    return;
  }
  result.bytes += bytes;
  kept_in_all_ += bytes;
  result.kept.push_back({log, line.number, std::string(line.text), std::string(line.dated)});
}

std::size_t LogReading::IndexOf(const LogWant& want) const {
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_[i].want == &want) return i;
  }
  return results_.size();
}

std::shared_ptr<const LogFold> LogReading::Fold(const LogWant& want, const FoldBasis& basis) {
  const std::size_t index = IndexOf(want);
  const MutexLock lock(mu_);
  if (folds_[index] == nullptr) {
    std::unique_ptr<LogFold> fold = want.fold(basis);
    if (fold == nullptr) return nullptr;
    for (std::size_t log = 0; log < logs_.size(); ++log) {
      ForEachTextLine(log, [&](const LogLine& line) { fold->Add(line); });
    }
    folds_[index] = std::move(fold);
  }
  return folds_[index];
}

void LogReading::ForEachTextLine(std::size_t log,
                                 absl::FunctionRef<void(const LogLine&)> on_line) const {
  LogLine line;
  line.log = &logs_[log];
  const absl::string_view text = texts_[log].text;
  std::size_t begin = 0;
  for (const std::uint32_t end : texts_[log].ends) {
    ++line.number;
    line.text = text.substr(begin, end - begin);
    on_line(line);
    begin = end;
  }
}

void LogReading::ForEachLine(const LogWant& want, const knowledge::Knowledge& knowledge,
                             absl::FunctionRef<bool(std::size_t log)> take,
                             absl::FunctionRef<void(const LogLine&)> on_line) const {
  if (is_small_) {
    for (std::size_t log = 0; log < logs_.size(); ++log) {
      if (take(log)) ForEachTextLine(log, on_line);
    }
    return;
  }
  const Result& result = results_[IndexOf(want)];
  if (result.all_kept) {
    for (const Kept& kept : result.kept) {
      if (!take(kept.log)) continue;
      LogLine line;
      line.log = &logs_[kept.log];
      line.number = kept.number;
      line.text = kept.text;
      line.dated = kept.dated;
      on_line(line);
    }
    return;
  }
  const LogWant* const wants[] = {&want};
  const std::shared_ptr<const LogMatcher> matcher = MatcherOf(wants, knowledge);
  for (std::size_t log = 0; log < logs_.size(); ++log) {
    if (!take(log)) continue;
    // It could be read before, and what can no more be read has no lines.
    ScanLog(logs_[log], *matcher, want.dated ? 1 : 0, [&](const LogLine& line, LogMatcher::Sets) {
      on_line(line);
    }).IgnoreError();
  }
}

}  // namespace galen::node
