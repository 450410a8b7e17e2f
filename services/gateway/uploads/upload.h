#ifndef SERVICES_GATEWAY_UPLOADS_UPLOAD_H_
#define SERVICES_GATEWAY_UPLOADS_UPLOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace galen::gateway {

enum class UploadKind { kLog, kBundle };

// A log or a bundle that a customer sent, as stored on disk.
struct Upload {
  std::string name;  // tenants/{tenant}/uploads/{upload}
  UploadKind kind = UploadKind::kLog;
  std::string file_name;   // as the customer calls it, made fit for a file name
  std::int64_t bytes = 0;  // that were sent
  std::int64_t disk_bytes = 0;
  absl::Time created;
  absl::Time expires;
  // For a bundle: its root below the upload, the beginning of its description, its nodes.
  std::string root;
  std::string description;
  std::vector<std::string> nodes;
};

absl::string_view NameOf(UploadKind kind);
// Whether this text names an upload rather than a path: it begins with "tenants/".
bool NamesUpload(absl::string_view text);
// The last part of a customer's file name, in harmless letters.
std::string SafeFileName(absl::string_view given);

// The record of an upload that is kept beside its files. DATA_LOSS: it cannot be read.
std::string RecordOf(const Upload& upload);
absl::StatusOr<Upload> ParseRecord(const std::string& text);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_UPLOADS_UPLOAD_H_
