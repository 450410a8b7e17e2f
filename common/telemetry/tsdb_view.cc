#include "common/telemetry/tsdb_view.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/json_access.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::telemetry {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 100'000;
constexpr std::size_t kMostMeta = 1 << 20;

// The name of a block's folder: a ULID, 26 letters of Crockford's base 32.
bool IsBlock(const std::string& name) {
  return name.size() == 26 && std::all_of(name.begin(), name.end(), [](char c) {
           return absl::StrContains("0123456789ABCDEFGHJKMNPQRSTVWXYZ", c);
         });
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directory(path, error);
  return error ? absl::InternalError(absl::StrCat(path, ": ", error.message())) : absl::OkStatus();
}

// Reads the time range from a block's meta.json; false when it is invalid.
bool ReadTimes(const std::string& path, absl::Time& first, absl::Time& last) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path, kMostMeta);
  if (!text.ok()) return false;
  const auto meta = ParseJson(*text);
  if (!meta.is_object() || !meta.contains("minTime") || !meta.contains("maxTime")) return false;
  if (!meta["minTime"].is_number_integer() || !meta["maxTime"].is_number_integer()) return false;
  first = absl::FromUnixMillis(meta["minTime"].get<std::int64_t>());
  last = absl::FromUnixMillis(meta["maxTime"].get<std::int64_t>());
  return first <= last;
}

}  // namespace

absl::Status TsdbView::LinkFiles(const std::string& from, const std::string& to) {
  GALEN_RETURN_IF_ERROR(MakeFolder(to));
  std::error_code error;
  fs::directory_iterator it(from, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    // (A symbolic link is skipped: it may lead anywhere.)
    if (it->symlink_status(ignored).type() != fs::file_type::regular) continue;
    if (++files_ > kMostFiles)
      return absl::ResourceExhaustedError(absl::StrCat(from, ": more than ", kMostFiles, " files"));
    fs::create_symlink(it->path(), to + "/" + it->path().filename().string(), error);
    if (error) return absl::InternalError(absl::StrCat(to, ": ", error.message()));
  }
  if (error)
    return absl::PermissionDeniedError(absl::StrCat(from, ": cannot be read: ", error.message()));
  return absl::OkStatus();
}

absl::Status TsdbView::LinkBlock(const std::string& from, const std::string& to) {
  absl::Time first;
  absl::Time last;
  std::error_code ignored;
  // One that is being written, or deleted, has no meta.json yet or any more.
  if (!ReadTimes(from + "/meta.json", first, last) || !fs::is_directory(from + "/chunks", ignored))
    return absl::OkStatus();
  GALEN_RETURN_IF_ERROR(LinkFiles(from, to));
  GALEN_RETURN_IF_ERROR(LinkFiles(from + "/chunks", to + "/chunks"));
  first_ = std::min(first_, first);
  last_ = std::max(last_, last);
  ++blocks_;
  return absl::OkStatus();
}

absl::Status TsdbView::LinkLog(const std::string& from, const std::string& to) {
  const std::size_t before = files_;
  GALEN_RETURN_IF_ERROR(LinkFiles(from, to));
  std::error_code error;
  for (fs::directory_iterator it(from, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (it->symlink_status(ignored).type() == fs::file_type::directory &&
        absl::StartsWith(name, "checkpoint.") && !absl::EndsWith(name, ".tmp")) {
      GALEN_RETURN_IF_ERROR(LinkFiles(it->path().string(), absl::StrCat(to, "/", name)));
    }
  }
  has_log_ = has_log_ || files_ > before;
  return absl::OkStatus();
}

absl::StatusOr<TsdbView> TsdbView::Make(const std::string& directory) {
  const std::string shown = CleanText(directory, 200);
  std::error_code error;
  const fs::path root = fs::canonical(directory, error);
  if (error || !fs::is_directory(root, error))
    return absl::NotFoundError(absl::StrCat(shown, ": no such folder"));
  GALEN_ASSIGN_OR_RETURN(host::TemporaryDirectory folder, host::TemporaryDirectory::Create());
  TsdbView view(std::move(folder));
  std::vector<std::string> names;
  fs::directory_iterator it(root, error);
  for (; !error && it != fs::directory_iterator() && names.size() < kMostFiles;
       it.increment(error)) {
    std::error_code ignored;
    if (it->symlink_status(ignored).type() == fs::file_type::directory)
      names.push_back(it->path().filename().string());
  }
  if (error)
    return absl::PermissionDeniedError(absl::StrCat(shown, ": cannot be read: ", error.message()));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string from = (root / name).string();
    const std::string to = absl::StrCat(view.path(), "/", name);
    if (IsBlock(name)) {
      GALEN_RETURN_IF_ERROR(view.LinkBlock(from, to));
    } else if (name == "wal") {
      GALEN_RETURN_IF_ERROR(view.LinkLog(from, to));
    } else if (name == "chunks_head") {
      GALEN_RETURN_IF_ERROR(view.LinkFiles(from, to));
    }
  }
  if (view.blocks_ == 0 && !view.has_log_) {
    return absl::NotFoundError(
        absl::StrCat(shown, ": neither blocks nor a write-ahead log of a Prometheus in it"));
  }
  return view;
}

}  // namespace galen::telemetry
