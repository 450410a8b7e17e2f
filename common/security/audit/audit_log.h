#ifndef COMMON_SECURITY_AUDIT_AUDIT_LOG_H_
#define COMMON_SECURITY_AUDIT_AUDIT_LOG_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace galen::security {

// One call: who asked for what, and how it ended.
struct AuditRecord {
  absl::Time time;
  std::string trace;     // the caller's trace id, "" when it sent none
  std::string peer;      // the caller's identity; "" on a connection without TLS
  std::string address;   // where it called from
  std::string method;    // "/galen.v1.DiagnosisService/CreateDiagnosis"
  std::string resource;  // what the request names: "tenants/t/diagnoses/d", or ""
  std::string outcome;   // "OK", "PERMISSION_DENIED", ...
  std::string reason;    // why it was refused or failed; "" when it was OK
  // For whom a gateway asks, as it says: "key/ID (ROLE)".
  std::string asker = {};
};

// Appends records to a file, one JSON object a line. Each field is cut to 256 bytes and its text is
// cleaned, since a stranger may have written it. Put() never waits for the disk: a thread collects
// the records of a tenth of a second and writes them together. When more than 16,384 records wait,
// further ones are only counted, and the count is written in their place: {"time":...,"lost":12}.
// The file is reopened after it was moved away (logrotate). Queued records are written when the log
// is destroyed; a kill loses them. Thread-safe.
class AuditLog {
 public:
  // Makes the file, readable by its owner alone, when there is none. The error names it.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string& path);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  void Put(const AuditRecord& record);

 private:
  AuditLog(std::string path, int file);
  void Loop();
  // Reopens the path when it names another file, or none.
  void Follow();
  void Write(absl::string_view lines);

  const std::string path_;
  int file_;  // of the writing thread alone, once it runs
  bool failing_ = false;
  Mutex mu_;
  std::condition_variable changed_;
  std::string queued_ ABSL_GUARDED_BY(mu_);
  std::size_t records_ ABSL_GUARDED_BY(mu_) = 0;
  std::int64_t lost_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace galen::security

#endif  // COMMON_SECURITY_AUDIT_AUDIT_LOG_H_
