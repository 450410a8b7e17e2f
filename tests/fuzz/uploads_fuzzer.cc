// Fuzzes uploads of customers: archives that claim to be bundles, logs, and their names.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/clock.h"
#include "services/gateway/uploads/upload.h"
#include "services/gateway/uploads/upload_store.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

using namespace gateway;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;

constexpr std::int64_t kUnpacked = 1 << 20;
constexpr char kTenant[] = "acme";

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

// A directory of this process, gone with it.
class Place {
 public:
  Place() {
    std::string made = (fs::temp_directory_path() / "galen-uploads-XXXXXX").string();
    Require(mkdtemp(made.data()) != nullptr);
    path_ = made;
    fs::create_directory(path_ / "uploads");
  }
  ~Place() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  const fs::path& path() const { return path_; }
  std::string uploads() const { return (path_ / "uploads").string(); }

 private:
  fs::path path_;
};

Place& ThePlace() {
  static auto* const place = [] {
    static Place kept;
    return &kept;
  }();
  return *place;
}

UploadStore& Store() {
  static const SystemClock clock;
  static auto* const store = [] {
    UploadStore::Options options;
    options.directory = ThePlace().uploads();
    options.most_bytes = 1 << 16;
    options.tenant_bytes = 8 * kUnpacked;
    options.unpacked_floor = kUnpacked;
    options.files = 100;
    return UploadStore::Open(options, clock).value().release();
  }();
  return *store;
}

// Requires that `directory` contains only files and folders, within the limits.
void RequireTame(const fs::path& directory) {
  std::uintmax_t bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory)) {
    const fs::file_status status = entry.symlink_status();
    Require(fs::is_directory(status) || fs::is_regular_file(status));
    if (fs::is_regular_file(status)) bytes += entry.file_size();
  }
  Require(bytes <= 2 * kUnpacked);
}

// Any upload is stored completely or leaves nothing, and nothing is written elsewhere.
void Send(UploadKind kind, absl::string_view name, absl::string_view text) {
  auto incoming = Store().Begin(kTenant, kind, name, 0);
  Require(incoming.ok());
  bool refused = false;
  while (!text.empty() && !refused) {
    const absl::string_view piece = text.substr(0, 700);
    refused = !(*incoming)->Write(piece).ok();
    text.remove_prefix(piece.size());
  }
  const absl::StatusOr<Upload> upload =
      refused ? absl::StatusOr<Upload>(absl::CancelledError("refused")) : (*incoming)->Finish();
  incoming->reset();
  RequireTame(ThePlace().uploads());
  Require(std::distance(fs::directory_iterator(ThePlace().path()), fs::directory_iterator()) == 1);
  if (!upload.ok()) return;
  const std::string id = upload->name.substr(upload->name.rfind('/') + 1);
  Require(Store().Get(kTenant, id).ok());
  galen::v1::Incident incident;
  if (kind == UploadKind::kBundle) {
    incident.set_bundle(upload->name);
  } else {
    incident.add_logs()->set_path(upload->name);
  }
  Require(Store().Resolve(kTenant, "incident", incident).ok());
  Require(Store().Delete(kTenant, id).ok());
}

void Bundle(absl::string_view text) { Send(UploadKind::kBundle, "bundle.tar.gz", text); }

// The first line is the name that the customer gives it.
void Log(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('\n', 1));
  const std::string name = SafeFileName(parts.first);
  Require(!name.empty() && name.find('/') == std::string::npos && name[0] != '.');
  Send(UploadKind::kLog, parts.first, parts.second);
}

void Record(absl::string_view text) {
  const absl::StatusOr<Upload> upload = ParseRecord(std::string(text));
  if (upload.ok()) Use(RecordOf(*upload));
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> parsers = {{"bundle", Bundle}, {"log", Log}, {"record", Record}};
  return parsers;
}

}  // namespace galen::fuzz
