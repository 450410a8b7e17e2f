#include "services/gateway/http/tls.h"

#include <sys/stat.h>

#include <boost/asio/ssl.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace galen::gateway::http {
namespace {

using boost::asio::ssl::context;

std::string LooksOf(const TlsFiles& files) {
  std::string looks;
  for (const std::string* path : {&files.certificate, &files.key}) {
    struct stat found {};
    if (stat(path->c_str(), &found) != 0) {
      absl::StrAppend(&looks, "absent;");
      continue;
    }
    absl::StrAppend(&looks, found.st_ino, ".", found.st_size, ".", found.st_mtim.tv_sec, ".",
                    found.st_mtim.tv_nsec, ";");
  }
  return looks;
}

absl::StatusOr<std::shared_ptr<context>> Load(const TlsFiles& files) {
  auto made = std::make_shared<context>(context::tls_server);
  boost::system::error_code error;
  // TLS 1.2 and 1.3.
  made->set_options(context::default_workarounds | context::no_sslv2 | context::no_sslv3 |
                        context::no_tlsv1 | context::no_tlsv1_1 | context::no_compression,
                    error);
  made->use_certificate_chain_file(files.certificate, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.certificate, ": cannot be read as a certificate: ", error.message()));
  }
  made->use_private_key_file(files.key, context::pem, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat(files.key, ": cannot be read as the key of ",
                                                   files.certificate, ": ", error.message()));
  }
  return made;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tls>> Tls::Open(const TlsFiles& files,
                                               std::function<void(const std::string& news)> tell) {
  std::string looks = LooksOf(files);
  GALEN_ASSIGN_OR_RETURN(std::shared_ptr<context> made, Load(files));
  return std::unique_ptr<Tls>(new Tls(files, std::move(tell), std::move(looks), std::move(made)));
}

Tls::Tls(TlsFiles files, std::function<void(const std::string& news)> tell, std::string looks,
         std::shared_ptr<context> made)
    : files_(std::move(files)),
      tell_(std::move(tell)),
      looks_(std::move(looks)),
      current_(std::move(made)) {}

std::shared_ptr<context> Tls::Now() const {
  const MutexLock lock(mu_);
  return current_;
}

void Tls::Look() {
  const std::string looks = LooksOf(files_);
  if (looks == looks_) return;
  auto made = Load(files_);
  if (made.ok()) {
    looks_ = looks;
    {
      const MutexLock lock(mu_);
      current_ = *std::move(made);
    }
    if (tell_) tell_(absl::StrCat(files_.certificate, ": loaded"));
    return;
  }
  // Files that are being replaced one after the other get until the next check.
  if (std::exchange(pending_, looks) != looks) return;
  looks_ = looks;
  if (tell_) {
    tell_(absl::StrCat("the public certificate changed and is refused, the old one stays in use: ",
                       made.status().message()));
  }
}

}  // namespace galen::gateway::http
