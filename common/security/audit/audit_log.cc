#include "common/security/audit/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace galen::security {
namespace {

constexpr std::size_t kMaxField = 256;
constexpr std::size_t kMaxQueued = 16'384;

int OpenForAppend(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone());
}

// Bytes that are not UTF-8 are replaced, and controls are escaped: a line stays a line.
std::string Line(const nlohmann::ordered_json& object) {
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
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
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
  if (file_ >= 0) close(file_);
}

void AuditLog::Put(const AuditRecord& record) {
  nlohmann::ordered_json object = {{"time", TimeText(record.time)}};
  for (const auto& [name, value] :
       {std::pair<const char*, const std::string&>{"trace", record.trace},
        {"peer", record.peer},
        {"address", record.address},
        {"method", record.method},
        {"resource", record.resource},
        {"outcome", record.outcome},
        {"reason", record.reason}}) {
    if (!value.empty()) object[name] = value.substr(0, kMaxField);
  }
  const std::string line = Line(object);
  MutexLock lock(mu_);
  if (records_ >= kMaxQueued) {
    ++lost_;
    return;
  }
  queued_ += line;
  if (records_++ == 0) changed_.notify_all();
}

void AuditLog::Loop() {
  for (;;) {
    std::string lines;
    std::int64_t lost = 0;
    bool stopping = false;
    {
      MutexLock lock(mu_);
      while (queued_.empty() && !stopping_) mu_.Wait(changed_);
      lines = std::exchange(queued_, "");
      lost = std::exchange(lost_, 0);
      records_ = 0;
      stopping = stopping_;
    }
    if (lost > 0) lines += Line({{"time", TimeText(absl::Now())}, {"lost", lost}});
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
        std::cerr << absl::StrCat("audit log ", path_,
                                  ": cannot be written: ", std::strerror(errno),
                                  "; records are lost until it can\n");
      }
      return;
    }
    lines.remove_prefix(static_cast<std::size_t>(put));
  }
  failing_ = false;
}

}  // namespace galen::security
