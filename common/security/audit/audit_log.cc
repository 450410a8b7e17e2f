#include "common/security/audit/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "common/base/time_text.h"
#include "common/observability/log/log.h"

namespace galen::security {
namespace {

constexpr std::size_t kMaxField = 256;
constexpr std::size_t kMaxQueued = 16'384;
constexpr std::size_t kMaxGathered = 1'024;
constexpr absl::Duration kGather = absl::Milliseconds(100);

int OpenForAppend(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

// Appends `,"name":"value"`; nothing when there is no value.
void AppendField(absl::string_view name, const std::string& value, std::string& line) {
  if (value.empty()) return;
  absl::StrAppend(&line, ",\"", name, "\":\"");
  const bool plain =
      value.size() <= kMaxField && std::all_of(value.begin(), value.end(), [](char c) {
        return c >= ' ' && c <= '~' && c != '"' && c != '\\';
      });
  if (plain) {
    line += value;
  } else {
    // Leaves no controls but these two, and no bytes that are not UTF-8.
    for (const char c : CleanText(value, kMaxField)) {
      if (c == '\n') {
        line += "\\n";
      } else if (c == '\t') {
        line += "\\t";
      } else {
        if (c == '"' || c == '\\') line += '\\';
        line += c;
      }
    }
  }
  line += '"';
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path) {
  const int file = OpenForAppend(path);
  if (file < 0) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("--audit-log ", path, ": cannot be opened to append to"));
  }
  return std::unique_ptr<AuditLog>(new AuditLog(path, file));
}

AuditLog::AuditLog(std::string path, int file)
    : path_(std::move(path)), file_(file), thread_([this] { Loop(); }) {}

AuditLog::~AuditLog() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (file_ >= 0) close(file_);
}

void AuditLog::Put(const AuditRecord& record) {
  std::string line = absl::StrCat("{\"time\":\"", TimeText(record.time, 6), "\"");
  AppendField("trace", record.trace, line);
  AppendField("peer", record.peer, line);
  AppendField("asker", record.asker, line);
  AppendField("address", record.address, line);
  AppendField("method", record.method, line);
  AppendField("resource", record.resource, line);
  AppendField("outcome", record.outcome, line);
  AppendField("reason", record.reason, line);
  line += "}\n";
  bool wake = false;
  {
    const MutexLock lock(mu_);
    if (records_ >= kMaxQueued) {
      ++lost_;
      return;
    }
    queued_ += line;
    ++records_;
    wake = records_ == 1 || records_ == kMaxGathered;
  }
  if (wake) changed_.notify_all();
}

void AuditLog::Loop() {
  for (;;) {
    std::string lines;
    std::int64_t lost = 0;
    bool stopping = false;
    {
      const MutexLock lock(mu_);
      while (!stopping_ && records_ == 0) mu_.Wait(changed_);
      // A write for each record would cost a hop as much as the hop itself.
      const absl::Time until = SteadyNow() + kGather;
      while (!stopping_ && records_ < kMaxGathered && SteadyNow() < until) {
        mu_.WaitFor(changed_, until - SteadyNow());
      }
      lines = std::exchange(queued_, "");
      lost = std::exchange(lost_, 0);
      records_ = 0;
      stopping = stopping_;
    }
    if (lost > 0) {
      absl::StrAppend(&lines, "{\"time\":\"", TimeText(absl::Now()), "\",\"lost\":", lost, "}\n");
    }
    if (!lines.empty()) {
      Follow();
      Write(lines);
    }
    if (stopping) return;
  }
}

void AuditLog::Follow() {
  struct stat here {};
  struct stat there {};
  if (file_ >= 0 && fstat(file_, &here) == 0 && stat(path_.c_str(), &there) == 0 &&
      here.st_ino == there.st_ino && here.st_dev == there.st_dev) {
    return;
  }
  const int fresh = OpenForAppend(path_);
  if (fresh < 0) return;  // the old one is better than none
  if (file_ >= 0) close(file_);
  file_ = fresh;
}

void AuditLog::Write(absl::string_view lines) {
  while (!lines.empty()) {
    const ssize_t put = write(file_, lines.data(), lines.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      // Once, not for every record while the disk is full.
      if (!std::exchange(failing_, true)) {
        log::Error(absl::StrCat("audit log ", path_, ": cannot be written: ", std::strerror(errno),
                                "; records are lost until it can"));
      }
      return;
    }
    lines.remove_prefix(static_cast<std::size_t>(put));
  }
  failing_ = false;
}

}  // namespace galen::security
