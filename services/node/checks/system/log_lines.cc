#include "services/node/checks/system/log_lines.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/log_analysis/scan/line_text.h"
#include "common/log_analysis/scan/reader.h"

namespace galen::node {
namespace {

// Cuts a stream into lines, keeping no more of one than kMaxLogLine.
class LineCutter {
 public:
  LineCutter(const host::JobLog& log, absl::FunctionRef<void(const LogLine&)> on_line)
      : on_line_(on_line) {
    line_.log = &log;
  }

  void Feed(absl::string_view chunk) {
    while (!chunk.empty()) {
      const std::size_t end = chunk.find('\n');
      const absl::string_view part = chunk.substr(0, end);
      const std::size_t room = kMaxLogLine - std::min(kMaxLogLine, pending_.size());
      absl::StrAppend(&pending_, part.substr(0, room));
      started_ = true;
      if (end == absl::string_view::npos) return;
      Emit();
      chunk.remove_prefix(end + 1);
    }
  }

  std::int64_t Finish() {
    if (started_) Emit();
    return line_.number;
  }

 private:
  void Emit() {
    ++line_.number;
    pending_.resize(log_scan::Normalize(pending_.data(), pending_.size(), true, false).size);
    line_.text = absl::StripSuffix(pending_, "\r");
    on_line_(line_);
    pending_.clear();
    started_ = false;
  }

  absl::FunctionRef<void(const LogLine&)> on_line_;
  LogLine line_;
  std::string pending_;
  bool started_ = false;
};

}  // namespace

bool IsNodeOf(absl::string_view writer, absl::string_view node) {
  const auto shorter = [](absl::string_view name) { return name.substr(0, name.find('.')); };
  return writer.empty() || writer == node || shorter(writer) == shorter(node);
}

bool IsLogOf(const host::JobLog& log, absl::string_view node) { return IsNodeOf(log.node, node); }

absl::StatusOr<std::int64_t> ForEachLog(
    const host::Host& host, LogsOf which,
    absl::FunctionRef<absl::StatusOr<std::int64_t>(const host::JobLog&)> read) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<host::JobLog> logs, host.JobLogs());
  std::int64_t lines = 0;
  bool any = false;
  absl::Status why = absl::UnavailableError(
      absl::StrCat("no log of ", host.name(), " is known, only such of other nodes"));
  for (const host::JobLog& log : logs) {
    if (which == LogsOf::kThisNode && !IsLogOf(log, host.name())) continue;
    const absl::StatusOr<std::int64_t> of_log = read(log);
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

absl::StatusOr<std::int64_t> ReadLogLines(const host::JobLog& log,
                                          absl::FunctionRef<void(const LogLine&)> on_line) {
  log_scan::LogReader::Options options;
  options.max_bytes = kMaxLogBytes;
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<log_scan::LogReader> reader,
                         log_scan::LogReader::Open(log.path, options));
  LineCutter cutter(log, on_line);
  while (true) {
    const auto chunk = reader->Next();
    // The text before the damage is valid.
    if (!chunk.ok() || chunk->empty()) break;
    cutter.Feed(*chunk);
  }
  return cutter.Finish();
}

absl::StatusOr<std::int64_t> ForEachLogLine(const host::Host& host, LogsOf which,
                                            absl::FunctionRef<void(const LogLine&)> on_line) {
  return ForEachLog(host, which,
                    [&](const host::JobLog& log) { return ReadLogLines(log, on_line); });
}

}  // namespace galen::node
