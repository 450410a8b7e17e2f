#include "services/gateway/uploads/upload_store.h"

#include <fcntl.h>
#include <fts.h>
#include <google/protobuf/util/json_util.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/archive.h"
#include "common/host/bundle.h"
#include "services/gateway/api/access.h"
#include "services/gateway/api/errors.h"

namespace galen::gateway {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kIncoming = ".incoming";
constexpr absl::string_view kGone = ".gone";
constexpr absl::string_view kMeta = "upload.json";
constexpr absl::string_view kIncident = "incident.json";
constexpr std::size_t kIdBytes = 16;
constexpr std::size_t kShownDescription = 2000;
constexpr std::size_t kShownNodes = 1000;
// Larger than any record that the store writes.
constexpr std::size_t kMostRecordBytes = std::size_t{64} << 20;
// An upload that is incomplete for this long was left by a gateway that is gone.
constexpr absl::Duration kStale = absl::Hours(6);

bool IsId(absl::string_view text) {
  return text.size() == 2 * kIdBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f');
         });
}

absl::StatusOr<std::string> NewId() {
  std::array<char, kIdBytes> random{};
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return absl::ErrnoToStatus(errno, "the system has no random numbers for an upload");
  }
  return absl::BytesToHexString({random.data(), random.size()});
}

absl::Status WriteError(int error) {
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError("upload: the server's disk is full; try again later");
  }
  return absl::ErrnoToStatus(error, "upload: writing");
}

absl::Status TooLarge(std::int64_t most) {
  return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                        "upload: is larger than the ", most,
                        " bytes that one may have; leave out what the incident does not need")),
                    "UPLOAD_TOO_LARGE");
}

absl::Status NoShareLeft(std::int64_t most) {
  return WithReason(
      absl::ResourceExhaustedError(absl::StrCat("upload: this tenant's uploads would take more "
                                                "than their ",
                                                most, " bytes; delete some that are not needed")),
      "UPLOAD_QUOTA");
}

absl::Status WriteFile(const std::string& path, absl::string_view text) {
  const host::FileDescriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!file.is_open()) return WriteError(errno);
  while (!text.empty()) {
    const ssize_t n = write(file.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return WriteError(errno);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return fsync(file.get()) == 0 ? absl::OkStatus() : WriteError(errno);
}

// The disk space of `place`: its files and directories as well as their content. An error if it is
// unknown, because a size that is not counted is not limited.
absl::StatusOr<std::int64_t> SizeOf(const std::string& place) {
  std::string start = place;
  char* const roots[] = {start.data(), nullptr};
  const std::unique_ptr<FTS, int (*)(FTS*)> tree(
      fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, nullptr), &fts_close);
  if (tree == nullptr) return WriteError(errno);
  std::int64_t bytes = 0;
  while (FTSENT* const entry = fts_read(tree.get())) {
    switch (entry->fts_info) {
      case FTS_DP:  // a directory, on the way back
        continue;
      case FTS_DNR:
      case FTS_ERR:
      case FTS_NS:
        return WriteError(entry->fts_errno);
      case FTS_F:
        bytes += entry->fts_statp->st_size;
        break;
      default:
        break;
    }
    bytes += host::kInodeBytes;
  }
  return bytes;
}

// An archive may hold the bundle itself, or one directory that is the bundle.
std::string TopOf(const std::string& directory) {
  std::error_code error;
  fs::directory_iterator at(directory, error);
  if (error || at == fs::directory_iterator()) return directory;
  const fs::directory_entry first = *at;
  const bool alone = at.increment(error) == fs::directory_iterator() && !error;
  return alone && !first.is_symlink(error) && first.is_directory(error) ? first.path().string()
                                                                        : directory;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UploadStore>> UploadStore::Open(Options options,
                                                               const Clock& clock) {
  std::error_code error;
  fs::create_directories(absl::StrCat(options.directory, "/", kIncoming), error);
  if (!error) options.directory = fs::canonical(options.directory, error).string();
  if (error || access(options.directory.c_str(), W_OK) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("--uploads=", options.directory,
                     ": cannot be written; name a directory that "
                     "the gateway may write and the services may read"));
  }
  std::unique_ptr<UploadStore> store(new UploadStore(std::move(options), clock));
  store->sweeper_.emplace([&store = *store] {
    store.Sweep();
    return store.options_.sweep;
  });
  return store;
}

UploadStore::UploadStore(Options options, const Clock& clock)
    : options_(std::move(options)), clock_(clock) {}

UploadStore::~UploadStore() = default;

std::string UploadStore::PlaceOf(const std::string& tenant, absl::string_view id) const {
  return absl::StrCat(options_.directory, "/", tenant, "/", id);
}

absl::StatusOr<std::unique_ptr<UploadStore::Incoming>> UploadStore::Begin(
    const std::string& tenant, UploadKind kind, absl::string_view file_name, std::int64_t length) {
  if (!IsTenant(tenant)) return absl::NotFoundError("there is no such tenant");
  if (length > options_.most_bytes) return TooLarge(options_.most_bytes);
  GALEN_ASSIGN_OR_RETURN(const std::vector<Upload> there, List(tenant));
  std::int64_t used = 0;
  for (const Upload& upload : there) used += upload.disk_bytes;
  std::unique_ptr<Incoming> incoming(new Incoming(*this, tenant));
  {
    const MutexLock lock(mu_);
    ++coming_[tenant];
    ++all_coming_;  // from here on the destructor undoes it
    if (coming_[tenant] > options_.tenant_at_once || all_coming_ > options_.at_once) {
      return WithReason(
          absl::ResourceExhaustedError("upload: too many come in at the same time; try again"),
          "UPLOADS_AT_ONCE");
    }
    used += reserved_[tenant];
  }
  if (static_cast<int>(there.size()) >= options_.tenant_uploads) {
    return WithReason(
        absl::ResourceExhaustedError(absl::StrCat("upload: this tenant has ", there.size(),
                                                  " uploads; delete some that are not needed")),
        "UPLOAD_QUOTA");
  }
  incoming->left_ = options_.tenant_bytes - used;
  if (length > incoming->left_ || incoming->left_ <= 0) return NoShareLeft(options_.tenant_bytes);
  incoming->kind_ = kind;
  incoming->file_name_ = SafeFileName(file_name);
  GALEN_ASSIGN_OR_RETURN(incoming->id_, NewId());
  incoming->place_ = absl::StrCat(options_.directory, "/", kIncoming, "/", incoming->id_);
  std::error_code error;
  fs::create_directories(incoming->place_ + "/file", error);
  if (error) return WriteError(error.value());
  incoming->file_ = host::FileDescriptor(
      open(absl::StrCat(incoming->place_, "/file/", incoming->file_name_).c_str(),
           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!incoming->file_.is_open()) return WriteError(errno);
  return incoming;
}

UploadStore::Incoming::~Incoming() {
  {
    const MutexLock lock(store_.mu_);
    --store_.all_coming_;
    if (--store_.coming_[tenant_] == 0) store_.coming_.erase(tenant_);
    if ((store_.reserved_[tenant_] -= written_) == 0) store_.reserved_.erase(tenant_);
  }
  std::error_code ignored;
  if (!place_.empty()) fs::remove_all(place_, ignored);  // gone when it became whole
}

absl::Status UploadStore::Incoming::Write(absl::string_view piece) {
  const auto size = static_cast<std::int64_t>(piece.size());
  if (written_ + size > store_.options_.most_bytes) return TooLarge(store_.options_.most_bytes);
  if (written_ + size > left_) return NoShareLeft(store_.options_.tenant_bytes);
  {
    const MutexLock lock(store_.mu_);
    store_.reserved_[tenant_] += size;
  }
  written_ += size;
  while (!piece.empty()) {
    const ssize_t n = write(file_.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return WriteError(errno);
    piece.remove_prefix(static_cast<std::size_t>(n));
  }
  return absl::OkStatus();
}

absl::StatusOr<Upload> UploadStore::Incoming::Finish() {
  if (written_ == 0) return absl::InvalidArgumentError("upload: is empty; send the file itself");
  if (fsync(file_.get()) != 0) return WriteError(errno);
  file_ = host::FileDescriptor(-1);
  Upload upload;
  upload.name = absl::StrCat("tenants/", tenant_, "/uploads/", id_);
  upload.kind = kind_;
  upload.file_name = file_name_;
  upload.bytes = written_;
  upload.disk_bytes = written_;
  upload.created = store_.clock_.Now();
  upload.expires = upload.created + store_.options_.keep;
  if (kind_ == UploadKind::kBundle) GALEN_RETURN_IF_ERROR(Unpack(upload));
  GALEN_RETURN_IF_ERROR(WriteFile(absl::StrCat(place_, "/", kMeta), RecordOf(upload)));
  std::error_code error;
  fs::create_directories(absl::StrCat(store_.options_.directory, "/", tenant_), error);
  if (!error) fs::rename(place_, store_.PlaceOf(tenant_, id_), error);
  if (error) return WriteError(error.value());
  return upload;
}

absl::Status UploadStore::Incoming::Unpack(Upload& upload) {
  const Options& options = store_.options_;
  const std::string archive = absl::StrCat(place_, "/file/", file_name_);
  const std::string directory = place_ + "/bundle";
  std::error_code error;
  fs::create_directory(directory, error);
  if (error) return WriteError(error.value());
  // Other uploads of the tenant may have been unpacked in the meantime.
  GALEN_ASSIGN_OR_RETURN(const std::vector<Upload> there, store_.List(tenant_));
  std::int64_t left = options.tenant_bytes;
  for (const Upload& one : there) left -= one.disk_bytes;
  if (left <= written_) return NoShareLeft(options.tenant_bytes);
  const std::int64_t by_ratio = written_ > options.tenant_bytes / options.unpacked_ratio
                                    ? options.tenant_bytes
                                    : written_ * options.unpacked_ratio;
  const host::ArchiveLimits limits{
      .files = options.files,
      .bytes = std::min(left, std::max(by_ratio, options.unpacked_floor)),
      .time = options.unpack_time};
  // Our paths mean nothing to the customer.
  const auto told = [&](const absl::Status& status) {
    std::string why(status.message());
    for (const std::string* const place : {&archive, &directory}) {
      for (std::size_t at = why.find(*place); at != std::string::npos; at = why.find(*place)) {
        why.replace(at, place->size(), file_name_);
      }
    }
    return absl::Status(status.code(), absl::StrCat("upload: ", why));
  };
  if (absl::Status status = host::Unpack(archive, directory, limits); !status.ok()) {
    return told(status);
  }
  const auto bundle = host::Bundle::Open(TopOf(directory));
  if (!bundle.ok()) {
    // Whatever is missing, the customer's archive lacks it.
    absl::Status status = told(bundle.status());
    return absl::IsResourceExhausted(status) ? status
                                             : absl::InvalidArgumentError(status.message());
  }
  fs::remove_all(place_ + "/file", error);
  GALEN_ASSIGN_OR_RETURN(upload.disk_bytes, SizeOf(place_));
  upload.root = std::string(absl::StripPrefix((*bundle)->root(), place_ + "/"));
  galen::v1::Incident incident = (*bundle)->incident();
  incident.clear_bundle();
  upload.description = CleanText(incident.description(), kShownDescription);
  upload.nodes = (*bundle)->nodes();
  if (upload.nodes.size() > kShownNodes) upload.nodes.resize(kShownNodes);
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(incident, &json).ok()) {
    return absl::InvalidArgumentError("upload: incident.yaml cannot be written as JSON");
  }
  return WriteFile(absl::StrCat(place_, "/", kIncident), json);
}

absl::StatusOr<Upload> UploadStore::Read(const std::string& tenant, absl::string_view id) const {
  const absl::Status none = absl::NotFoundError("there is no upload of that name");
  if (!IsTenant(tenant) || !IsId(id)) return none;
  const auto text = ReadSmallFile(absl::StrCat(PlaceOf(tenant, id), "/", kMeta), kMostRecordBytes);
  if (!text.ok()) return none;
  absl::StatusOr<Upload> upload = ParseRecord(*text);
  if (upload.ok() && upload->expires <= clock_.Now()) return none;
  return upload;
}

absl::StatusOr<std::vector<Upload>> UploadStore::List(const std::string& tenant) const {
  if (!IsTenant(tenant)) return absl::NotFoundError("there is no such tenant");
  std::vector<Upload> uploads;
  std::error_code error;
  for (fs::directory_iterator at(absl::StrCat(options_.directory, "/", tenant), error), end;
       !error && at != end; at.increment(error)) {
    absl::StatusOr<Upload> upload = Read(tenant, at->path().filename().string());
    if (upload.ok()) uploads.push_back(*std::move(upload));
  }
  std::sort(uploads.begin(), uploads.end(), [](const Upload& a, const Upload& b) {
    return std::pair(b.created, b.name) < std::pair(a.created, a.name);
  });
  return uploads;
}

absl::StatusOr<Upload> UploadStore::Get(const std::string& tenant, absl::string_view id) const {
  return Read(tenant, id);
}

absl::Status UploadStore::Delete(const std::string& tenant, absl::string_view id) {
  const absl::StatusOr<Upload> upload = Read(tenant, id);
  if (!upload.ok()) return upload.status();
  std::error_code error;
  const std::string away = absl::StrCat(options_.directory, "/", kIncoming, "/", id, kGone);
  fs::rename(PlaceOf(tenant, id), away, error);
  if (error) return absl::NotFoundError("there is no upload of that name");
  fs::remove_all(away, error);
  return absl::OkStatus();
}

absl::StatusOr<Upload> UploadStore::Named(const std::string& tenant, absl::string_view name,
                                          absl::string_view field) const {
  absl::string_view id = name;
  if (absl::ConsumePrefix(&id, absl::StrCat("tenants/", tenant, "/uploads/"))) {
    absl::StatusOr<Upload> upload = Read(tenant, id);
    if (!absl::IsNotFound(upload.status())) return upload;
  }
  return absl::NotFoundError(absl::StrCat(field, ": ", CleanText(name, 120),
                                          " is not an upload of this tenant, or has expired"));
}

absl::Status UploadStore::Resolve(const std::string& tenant, absl::string_view at,
                                  galen::v1::Incident& incident) const {
  for (int i = 0; i < incident.logs_size(); ++i) {
    galen::v1::LogSource& log = *incident.mutable_logs(i);
    if (!NamesUpload(log.path()) || !log.content().empty()) continue;
    const std::string field = absl::StrCat(at, ".logs[", i, "].path");
    GALEN_ASSIGN_OR_RETURN(const Upload upload, Named(tenant, log.path(), field));
    if (upload.kind != UploadKind::kLog) return FieldError(field, "is a bundle, not a log");
    const absl::string_view id = absl::string_view(upload.name).substr(upload.name.rfind('/') + 1);
    log.set_path(absl::StrCat(PlaceOf(tenant, id), "/file/", upload.file_name));
  }
  if (!NamesUpload(incident.bundle())) return absl::OkStatus();
  const std::string field_of_bundle = absl::StrCat(at, ".bundle");
  GALEN_ASSIGN_OR_RETURN(const Upload upload, Named(tenant, incident.bundle(), field_of_bundle));
  if (upload.kind != UploadKind::kBundle)
    return FieldError(field_of_bundle, "is a log, not a bundle");
  const std::string place =
      PlaceOf(tenant, absl::string_view(upload.name).substr(upload.name.rfind('/') + 1));
  const auto json = ReadSmallFile(absl::StrCat(place, "/", kIncident), kMostRecordBytes);
  galen::v1::Incident merged;
  if (!json.ok() || !google::protobuf::util::JsonStringToMessage(*json, &merged).ok()) {
    return absl::DataLossError(
        absl::StrCat(field_of_bundle, ": the upload's record cannot be read"));
  }
  // The request takes precedence over the bundle.
  if (!incident.nodes().empty()) merged.clear_nodes();
  merged.MergeFrom(incident);
  merged.set_bundle(absl::StrCat(place, "/", upload.root));
  incident = std::move(merged);
  return absl::OkStatus();
}

std::string UploadStore::WithNames(const std::string& tenant, std::string text) const {
  const std::string place = PlaceOf(tenant, "");
  if (text.find(place) == std::string::npos) return text;
  return absl::StrReplaceAll(text, {{place, absl::StrCat("tenants/", tenant, "/uploads/")}});
}

void UploadStore::Sweep() {
  std::error_code error;
  const absl::Time now = clock_.Now();
  std::vector<fs::path> over;
  for (fs::directory_iterator at(options_.directory, error), end; !error && at != end;
       at.increment(error)) {
    const std::string tenant = at->path().filename().string();
    std::error_code inner;
    for (fs::directory_iterator in(at->path(), inner), none; !inner && in != none;
         in.increment(inner)) {
      const std::string id = in->path().filename().string();
      std::error_code ignored;
      if (tenant == kIncoming) {
        const auto written = fs::last_write_time(in->path(), ignored);
        // A deleted upload that still exists could not be removed at that time.
        if (absl::EndsWith(id, kGone)) {
          over.push_back(in->path());
        } else if (!ignored &&
                   fs::file_time_type::clock::now() - written > absl::ToChronoNanoseconds(kStale)) {
          over.push_back(in->path());
        }
        continue;
      }
      if (!IsTenant(tenant) || !IsId(id)) continue;
      const auto text =
          ReadSmallFile(absl::StrCat(in->path().string(), "/", kMeta), kMostRecordBytes);
      if (!text.ok()) continue;
      const absl::StatusOr<Upload> upload = ParseRecord(*text);
      if (upload.ok() && upload->expires <= now) over.push_back(in->path());
    }
  }
  for (const fs::path& path : over) fs::remove_all(path, error);
}

}  // namespace galen::gateway
