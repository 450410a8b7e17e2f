#include "bench/eval/runner/run_store.h"

#include <google/protobuf/util/json_util.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace galen::eval {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxBytes = 64 << 20;

fs::path PathOf(const std::string& directory, const std::string& strategy, absl::string_view mode,
                const std::string& id) {
  return fs::path(directory) / absl::StrCat(mode, "-", strategy) / absl::StrCat(id, ".json");
}

}  // namespace

absl::StatusOr<RunStore> RunStore::Open(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error || !fs::is_directory(directory, error)) {
    return absl::PermissionDeniedError(
        absl::StrCat("--out ", directory, ": cannot be made a directory"));
  }
  return RunStore(directory);
}

std::optional<v1::CaseResult> RunStore::Load(const std::string& strategy, absl::string_view mode,
                                             const std::string& id, const std::string& key) const {
  const fs::path path = PathOf(directory_, strategy, mode, id);
  std::error_code error;
  if (const auto size = fs::file_size(path, error); error || size > kMaxBytes) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  v1::CaseResult result;
  if (!file || !google::protobuf::util::JsonStringToMessage(text.str(), &result).ok()) {
    return std::nullopt;
  }
  if (result.key() != key || result.id() != id || result.strategy() != strategy ||
      result.mode() != mode) {
    return std::nullopt;
  }
  return result;
}

absl::Status RunStore::Save(const v1::CaseResult& result) const {
  const fs::path path = PathOf(directory_, result.strategy(), result.mode(), result.id());
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  std::string json;
  const auto printed = google::protobuf::util::MessageToJsonString(result, &json, options);
  if (!printed.ok()) return absl::InternalError(absl::StrCat(path.string(), ": no JSON"));
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  fs::path half_written = path;
  half_written += ".part";
  {
    std::ofstream file(half_written, std::ios::binary | std::ios::trunc);
    file << json;
    if (!file.flush()) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) fs::rename(half_written, path, error);
  if (error) {
    return absl::PermissionDeniedError(
        absl::StrCat(path.string(), ": cannot be written; choose another --out"));
  }
  return absl::OkStatus();
}

}  // namespace galen::eval
