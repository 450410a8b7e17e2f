#include "common/rpc/certificate_watch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"

namespace galen::rpc {
namespace {

constexpr unsigned int kProviderLooksEverySeconds = 1;

std::string LooksOf(const security::CredentialFiles& files) {
  std::string looks;
  for (const std::string* path : {&files.certificate, &files.key, &files.authority}) {
    struct stat found {};
    if (stat(path->c_str(), &found) != 0) {
      absl::StrAppend(&looks, "absent;");
      continue;
    }
    absl::StrAppend(&looks, found.st_dev, ".", found.st_ino, ".", found.st_size, ".",
                    found.st_mtim.tv_sec, ".", found.st_mtim.tv_nsec, ";");
  }
  return looks;
}

// Makes `file` (or, if it is -1, a new descriptor) a memory file with this content; readers that
// have the old one open keep it.
absl::Status Stage(const std::string& content, std::int64_t version, int& file) {
  const int fresh = memfd_create("galen-certificates", MFD_CLOEXEC);
  if (fresh < 0) return absl::ErrnoToStatus(errno, "memfd_create");
  const timespec times[2] = {{.tv_sec = version, .tv_nsec = 0}, {.tv_sec = version, .tv_nsec = 0}};
  if (write(fresh, content.data(), content.size()) != static_cast<ssize_t>(content.size()) ||
      futimens(fresh, times) != 0) {
    const absl::Status failed = absl::ErrnoToStatus(errno, "memory for certificates");
    close(fresh);
    return failed;
  }
  if (file < 0) {
    file = fresh;
    return absl::OkStatus();
  }
  const bool moved = dup3(fresh, file, O_CLOEXEC) >= 0;
  const absl::Status status =
      moved ? absl::OkStatus() : absl::ErrnoToStatus(errno, "memory for certificates");
  close(fresh);
  return status;
}

std::string PathOf(int file) { return absl::StrCat("/proc/self/fd/", file); }

}  // namespace

absl::StatusOr<std::unique_ptr<CertificateWatch>> CertificateWatch::Start(Options options) {
  std::unique_ptr<CertificateWatch> watch(new CertificateWatch(std::move(options)));
  const Options& used = watch->options_;
  watch->seen_ = LooksOf(used.files);
  GALEN_ASSIGN_OR_RETURN(const security::Credentials credentials,
                         security::LoadCredentials(used.files, used.role, absl::Now()));
  GALEN_RETURN_IF_ERROR(watch->Take(credentials));
  const std::string identity = PathOf(watch->identity_);
  watch->provider_ = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      identity, identity, PathOf(watch->roots_), kProviderLooksEverySeconds);
  watch->task_.emplace(
      [raw = watch.get()] {
        raw->Look();
        return raw->options_.poll;
      },
      used.poll);
  return watch;
}

CertificateWatch::~CertificateWatch() {
  task_.reset();
  provider_.reset();
  if (identity_ >= 0) close(identity_);
  if (roots_ >= 0) close(roots_);
}

absl::Status CertificateWatch::Take(const security::Credentials& credentials) {
  ++version_;
  // The authority first: the other side may use its new certificate already.
  GALEN_RETURN_IF_ERROR(Stage(credentials.authority, version_, roots_));
  GALEN_RETURN_IF_ERROR(
      Stage(absl::StrCat(credentials.key, "\n", credentials.certificate), version_, identity_));
  return options_.use ? options_.use(credentials) : absl::OkStatus();
}

void CertificateWatch::Look() {
  const std::string looks = LooksOf(options_.files);
  if (looks == seen_) return;
  absl::Status status;
  const auto loaded = security::LoadCredentials(options_.files, options_.role, absl::Now());
  status = loaded.ok() ? Take(*loaded) : loaded.status();
  if (status.ok()) {
    seen_ = looks;
    if (options_.tell) {
      options_.tell(absl::StrCat(options_.files.certificate, ": loaded, ", loaded->uri,
                                 ", good until ",
                                 absl::FormatTime(loaded->not_after, absl::UTCTimeZone())));
    }
    return;
  }
  // Files that are being replaced one after the other are given until the next look.
  if (std::exchange(pending_, looks) != looks) return;
  seen_ = looks;
  if (options_.tell) {
    options_.tell(absl::StrCat("certificates changed and are refused, the old ones stay in use: ",
                               status.message()));
  }
}

}  // namespace galen::rpc
