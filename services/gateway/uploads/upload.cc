#include "services/gateway/uploads/upload.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/base/json_access.h"

namespace galen::gateway {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxName = 120;

}  // namespace

bool NamesUpload(absl::string_view text) { return absl::StartsWith(text, "tenants/"); }

absl::string_view NameOf(UploadKind kind) { return kind == UploadKind::kBundle ? "bundle" : "log"; }

std::string SafeFileName(absl::string_view given) {
  given = given.substr(given.find_last_of("/\\") + 1);
  std::string name;
  for (const char c : given.substr(0, kMaxName)) {
    const bool plain =
        absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("._-+", c);
    name.push_back(plain ? c : '_');
  }
  while (!name.empty() && name.front() == '.') name.erase(name.begin());
  return name.empty() ? "upload" : name;
}

std::string RecordOf(const Upload& upload) {
  return Json{{"name", upload.name},
              {"kind", NameOf(upload.kind)},
              {"file_name", upload.file_name},
              {"bytes", upload.bytes},
              {"disk_bytes", upload.disk_bytes},
              {"created", absl::ToUnixSeconds(upload.created)},
              {"expires", absl::ToUnixSeconds(upload.expires)},
              {"root", upload.root},
              {"description", upload.description},
              {"nodes", upload.nodes}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<Upload> ParseRecord(const std::string& text) {
  const Json json = ParseJson(text);
  try {
    Upload upload;
    upload.name = json.at("name").get<std::string>();
    upload.kind = json.at("kind") == NameOf(UploadKind::kBundle).data() ? UploadKind::kBundle
                                                                        : UploadKind::kLog;
    upload.file_name = json.at("file_name").get<std::string>();
    upload.bytes = json.at("bytes").get<std::int64_t>();
    upload.disk_bytes = json.at("disk_bytes").get<std::int64_t>();
    upload.created = absl::FromUnixSeconds(json.at("created").get<std::int64_t>());
    upload.expires = absl::FromUnixSeconds(json.at("expires").get<std::int64_t>());
    upload.root = json.at("root").get<std::string>();
    upload.description = json.at("description").get<std::string>();
    upload.nodes = json.at("nodes").get<std::vector<std::string>>();
    return upload;
  } catch (const Json::exception&) {
    return absl::DataLossError("upload: its record cannot be read");
  }
}

}  // namespace galen::gateway
