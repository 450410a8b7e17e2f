#include "services/node/checks/system/wanted_lines.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/logs/byte_scan.h"
#include "common/logs/line_text.h"
#include "common/logs/literal_filter.h"
#include "common/logs/reader.h"
#include "common/logs/required_literals.h"
#include "common/logs/timestamp.h"

namespace galen::node {
namespace {

// Lines back in which a line's time is looked for: a traceback is not longer as a rule.
constexpr int kLinesBack = 64;
// Of a line without an end, what is kept until it comes.
constexpr std::size_t kMostPending = std::size_t{1} << 20;

// A line that is wanted.
struct Kept {
  std::int64_t number = 0;
  std::string text;
  std::string dated;
};

// What one file gave for one filter.
struct Found {
  std::vector<Kept> kept;
  bool all_kept = true;  // they were few enough
  std::int64_t lines = 0;
};

// Cuts what is wanted out of a stream of text.
class Picker {
 public:
  Picker(const logs::LiteralFilter& filter, absl::FunctionRef<void(Kept)> on_line)
      : filter_(filter), on_line_(on_line) {}

  void Feed(absl::string_view chunk) {
    if (!pending_.empty()) {
      const std::size_t end = chunk.find('\n');
      const absl::string_view part =
          chunk.substr(0, end == absl::string_view::npos ? end : end + 1);
      Keep(part);
      chunk.remove_prefix(part.size());
      if (end == absl::string_view::npos) return;
      Pick(pending_);
      pending_.clear();
    }
    const std::size_t end = chunk.rfind('\n');
    if (end != absl::string_view::npos) {
      Pick(chunk.substr(0, end + 1));
      chunk.remove_prefix(end + 1);
    }
    Keep(chunk);
  }

  std::int64_t Finish() {
    if (!pending_.empty()) {
      Pick(pending_);
      if (pending_.back() != '\n') ++lines_;
    }
    return lines_;
  }

 private:
  // The beginning of a line is what is read of it, however long it is.
  void Keep(absl::string_view part) {
    if (pending_.size() >= kMostPending) {
      // A newline has to stay one.
      if (!part.empty() && part.back() == '\n') pending_.back() = '\n';
      return;
    }
    pending_.append(part.data(), part.size());
  }

  void Pick(absl::string_view block) {
    const logs::BlockBytes bytes = logs::LookAtBytes(block);
    if (bytes.needs_cleaning) {
      clean_.assign(block.data(), block.size());
      clean_.resize(logs::Normalize(clean_.data(), clean_.size(), true, false).size);
      block = clean_;
    }
    std::size_t counted = 0;
    std::int64_t number = lines_ + 1;
    for (std::size_t at = 0; at < block.size();) {
      const std::size_t found = filter_.Find(block, at);
      if (found == absl::string_view::npos) break;
      const std::size_t before = block.rfind('\n', found);
      const std::size_t begin = before == absl::string_view::npos ? 0 : before + 1;
      const std::size_t end = std::min(block.find('\n', found), block.size());
      number +=
          static_cast<std::int64_t>(logs::CountNewlines(block.substr(counted, begin - counted)));
      counted = begin;
      Kept kept;
      kept.number = number;
      kept.text = std::string(block.substr(begin, std::min(end - begin, kMaxLogLine)));
      kept.dated = std::string(Dated(block, begin, end));
      on_line_(std::move(kept));
      at = end + 1;
    }
    lines_ += static_cast<std::int64_t>(bytes.newlines);
  }

  // The line at `begin`, or the closest one before it, that carries a time.
  static absl::string_view Dated(absl::string_view block, std::size_t begin, std::size_t end) {
    constexpr std::size_t kHead = 256;
    for (int back = 0; back < kLinesBack; ++back) {
      const absl::string_view head = block.substr(begin, std::min(end - begin, kHead));
      if (logs::FindTimeStamp(head).has_value()) return head;
      if (begin == 0) break;
      end = begin - 1;
      const std::size_t before = end == 0 ? absl::string_view::npos : block.rfind('\n', end - 1);
      begin = before == absl::string_view::npos ? 0 : before + 1;
    }
    return "";
  }

  const logs::LiteralFilter& filter_;
  absl::FunctionRef<void(Kept)> on_line_;
  std::string pending_;
  std::string clean_;
  std::int64_t lines_ = 0;
};

// What was found lately, so that a check that runs for many nodes reads a log once. Thread-safe.
class Memory {
 public:
  struct Entry {
    explicit Entry(std::string name) : key(std::move(name)) {}
    const std::string key;
    Mutex mu;  // held while the file is read: who wants the same waits for it
    std::shared_ptr<const Found> found ABSL_GUARDED_BY(mu);
  };

  std::shared_ptr<Entry> Get(const std::string& key) {
    const MutexLock lock(mu_);
    for (const std::shared_ptr<Entry>& entry : entries_) {
      if (entry->key == key) return entry;
    }
    if (entries_.size() >= kMostEntries) entries_.pop_front();
    return entries_.emplace_back(std::make_shared<Entry>(key));
  }

  static constexpr std::size_t kMostEntries = 32;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // of one entry

 private:
  Mutex mu_;
  std::deque<std::shared_ptr<Entry>> entries_ ABSL_GUARDED_BY(mu_);
};

Memory& Recent() {
  static auto* const memory = new Memory();
  return *memory;
}

// A name for the file as it is now; nothing when it cannot be told.
std::optional<std::string> IdentityOf(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return absl::StrCat(info.st_dev, ":", info.st_ino, ":", info.st_size, ":", info.st_mtim.tv_sec,
                      ".", info.st_mtim.tv_nsec);
}

void Give(const host::JobLog& log, const Kept& kept,
          absl::FunctionRef<void(const LogLine&)> on_line) {
  LogLine line;
  line.log = &log;
  line.number = kept.number;
  line.text = kept.text;
  line.dated = kept.dated;
  on_line(line);
}

// Reads the log; gives its lines as they come, and keeps them when they are few.
absl::StatusOr<std::shared_ptr<const Found>> Read(const host::JobLog& log,
                                                  const logs::LiteralFilter& filter,
                                                  absl::FunctionRef<void(const LogLine&)> on_line) {
  logs::LogReader::Options options;
  options.max_bytes = kMaxLogBytes;
  auto reader = logs::LogReader::Open(log.path, options);
  if (!reader.ok()) return reader.status();
  auto found = std::make_shared<Found>();
  std::size_t bytes = 0;
  const auto take = [&](Kept kept) {
    Give(log, kept, on_line);
    bytes += sizeof(Kept) + kept.text.size() + kept.dated.size();
    found->all_kept = bytes <= Memory::kMostBytes;
    if (found->all_kept) found->kept.push_back(std::move(kept));
  };
  Picker picker(filter, take);
  while (true) {
    const auto chunk = (*reader)->Next();
    // What came before the damage is good.
    if (!chunk.ok() || chunk->empty()) break;
    picker.Feed(*chunk);
  }
  found->lines = picker.Finish();
  return found;
}

// The texts that every line has one of that matches one of `expressions`; empty when one of them
// needs none.
std::vector<std::string> TextsOf(absl::Span<const std::string> expressions) {
  std::vector<std::string> texts;
  for (const std::string& expression : expressions) {
    std::vector<std::string> needed =
        logs::RequiredLiterals(expression, logs::LiteralFilter::kMinSize, /*common_too=*/true);
    if (needed.empty()) return {};
    std::move(needed.begin(), needed.end(), std::back_inserter(texts));
  }
  return texts;
}

absl::StatusOr<std::int64_t> ReadOnce(const host::JobLog& log, const std::string& filter_key,
                                      const logs::LiteralFilter& filter,
                                      absl::FunctionRef<void(const LogLine&)> on_line) {
  const std::optional<std::string> identity = IdentityOf(log.path);
  if (!identity.has_value()) {
    GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const Found> found, Read(log, filter, on_line));
    return found->lines;
  }
  const std::shared_ptr<Memory::Entry> entry =
      Recent().Get(absl::StrCat(*identity, "\n", filter_key));
  std::shared_ptr<const Found> found;
  {
    const MutexLock lock(entry->mu);
    if (entry->found == nullptr) {
      GALEN_ASSIGN_OR_RETURN(entry->found, Read(log, filter, on_line));
      return entry->found->lines;
    }
    found = entry->found;
  }
  if (!found->all_kept) {
    GALEN_ASSIGN_OR_RETURN(found, Read(log, filter, on_line));
    return found->lines;
  }
  for (const Kept& kept : found->kept) Give(log, kept, on_line);
  return found->lines;
}

}  // namespace

absl::StatusOr<std::int64_t> ForEachWantedLine(const host::Host& host, LogsOf which,
                                               absl::Span<const std::string> expressions,
                                               absl::FunctionRef<void(const LogLine&)> on_line) {
  // Working out the texts takes longer than to read a small log.
  constexpr off_t kSmall = 256 << 10;
  std::optional<logs::LiteralFilter> filter;
  bool has_texts = true;
  const std::string key = absl::StrJoin(expressions, "\n");
  return ForEachLog(host, which, [&](const host::JobLog& log) -> absl::StatusOr<std::int64_t> {
    struct stat info = {};
    const bool small = stat(log.path.c_str(), &info) == 0 && info.st_size < kSmall;
    if (!small && !filter.has_value()) {
      const std::vector<std::string> texts = TextsOf(expressions);
      has_texts = !texts.empty();
      filter.emplace(texts);
    }
    if (small || !has_texts) return ReadLogLines(log, on_line);
    return ReadOnce(log, key, *filter, on_line);
  });
}

}  // namespace galen::node
