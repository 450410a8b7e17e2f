#include "services/node/checks/system/wanted_lines.h"

#include <sys/stat.h>

#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "services/node/checks/system/log_reading.h"

namespace galen::node {
namespace {

// A cache of recent readings. Thread-safe.
class Memory {
 public:
  struct Entry {
    explicit Entry(std::string name) : key(std::move(name)) {}
    const std::string key;
    Mutex mu;  // held while the logs are read: who wants the same waits for it
    std::shared_ptr<LogReading> reading ABSL_GUARDED_BY(mu);
  };

  std::shared_ptr<Entry> Get(const std::string& key) {
    const MutexLock lock(mu_);
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if ((*it)->key != key) continue;
      std::shared_ptr<Entry> entry = std::move(*it);
      entries_.erase(it);
      return entries_.emplace_back(std::move(entry));
    }
    if (entries_.size() >= kMostEntries) entries_.pop_front();
    return entries_.emplace_back(std::make_shared<Entry>(key));
  }

 private:
  static constexpr std::size_t kMostEntries = 8;

  Mutex mu_;
  // The most recently used entry is last.
  std::deque<std::shared_ptr<Entry>> entries_ ABSL_GUARDED_BY(mu_);
};

Memory& Recent() {
  static auto* const memory = new Memory();
  return *memory;
}

// A key for the present content of the log.
std::string IdentityOf(const host::JobLog& log) {
  struct stat info = {};
  if (stat(log.path.c_str(), &info) != 0) info = {};
  return absl::StrCat(log.name, "\n", log.path, "\n", log.node, "\n", log.kind, "\n",
                      log.rank.value_or(-1), " ", info.st_dev, ":", info.st_ino, ":", info.st_size,
                      ":", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, "\n");
}

// A key for the lines that the wants search for.
std::string IdentityOf(absl::Span<const LogWant* const> wants, const FoldBasis& basis) {
  std::string identity = absl::StrCat(absl::FormatTime(basis.window_end), "\n");
  const bool known = !basis.knowledge.digest().empty();
  if (known) absl::StrAppend(&identity, basis.knowledge.digest(), "\n");
  for (const LogWant* want : wants) {
    absl::StrAppend(&identity, want->name, "\n");
    if (!known) absl::StrAppend(&identity, absl::StrJoin(want->expressions(basis.knowledge), "\n"));
  }
  return identity;
}

// The reading that serves `want`.
absl::StatusOr<std::shared_ptr<LogReading>> ReadingFor(const CheckContext& context,
                                                       const LogWant& want) {
  GALEN_ASSIGN_OR_RETURN(std::vector<host::JobLog> logs, context.host.JobLogs());
  const LogWant* const own[] = {&want};
  absl::Span<const LogWant* const> wants = own;
  if (!context.host.live() && context.log_wants.size() <= LogMatcher::kMaxSets) {
    for (const LogWant* each : context.log_wants) {
      if (each == &want) wants = context.log_wants;
    }
  }
  const FoldBasis basis = {context.knowledge, context.window_end};
  std::string key = IdentityOf(wants, basis);
  for (const host::JobLog& log : logs) key += IdentityOf(log);
  const std::shared_ptr<Memory::Entry> entry = Recent().Get(key);
  const MutexLock lock(entry->mu);
  if (entry->reading == nullptr) {
    entry->reading = std::make_shared<LogReading>(std::move(logs), wants, basis);
  }
  return entry->reading;
}

// The lines of the logs that `take` names; why none can be read.
absl::StatusOr<std::int64_t> LinesOf(const LogReading& reading, const std::string& node,
                                     absl::FunctionRef<bool(std::size_t log)> take) {
  std::int64_t lines = 0;
  bool any = false;
  absl::Status why = absl::UnavailableError(
      absl::StrCat("no log of ", node, " is known, only such of other nodes"));
  for (std::size_t i = 0; i < reading.logs().size(); ++i) {
    if (!take(i)) continue;
    const absl::StatusOr<std::int64_t>& of_log = reading.lines(i);
    if (of_log.ok()) {
      any = true;
      lines += *of_log;
    } else {
      why = absl::UnavailableError(of_log.status().message());
    }
  }
  if (!any) return why;
  return lines;
}

}  // namespace

absl::StatusOr<std::int64_t> ForEachWantedLine(
    const CheckContext& context, LogsOf which, const LogWant& want,
    absl::FunctionRef<void(const LogLine&)> on_line,
    absl::FunctionRef<void(const host::JobLog&, std::int64_t)> on_log) {
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<LogReading> reading, ReadingFor(context, want));
  const auto take = [&](std::size_t log) {
    return which == LogsOf::kAllNodes || IsLogOf(reading->logs()[log], context.host.name());
  };
  GALEN_ASSIGN_OR_RETURN(const std::int64_t lines, LinesOf(*reading, context.host.name(), take));
  for (std::size_t i = 0; i < reading->logs().size(); ++i) {
    if (take(i) && reading->lines(i).ok()) on_log(reading->logs()[i], *reading->lines(i));
  }
  reading->ForEachLine(want, context.knowledge, take, on_line);
  return lines;
}

void ReadLogsAhead(const CheckContext& context) {
  if (context.host.live() || context.log_wants.empty()) return;
  ReadingFor(context, *context.log_wants.front()).status().IgnoreError();
}

absl::StatusOr<FoldedLogs> FoldLogs(const CheckContext& context, const LogWant& want) {
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<LogReading> reading, ReadingFor(context, want));
  FoldedLogs folded;
  GALEN_ASSIGN_OR_RETURN(folded.lines,
                         LinesOf(*reading, context.host.name(), [](std::size_t) { return true; }));
  folded.fold = reading->Fold(want, {context.knowledge, context.window_end});
  return folded;
}

}  // namespace galen::node
