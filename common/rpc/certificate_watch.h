#ifndef COMMON_RPC_CERTIFICATE_WATCH_H_
#define COMMON_RPC_CERTIFICATE_WATCH_H_

#include <grpcpp/security/tls_certificate_provider.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/periodic_task.h"
#include "common/security/certificates/credentials.h"

namespace galen::rpc {

// Follows a program's certificate files, so that they are renewed without a restart. New files are
// loaded once all of them are sound (LoadCredentials()): while files are replaced one after the
// other, are incomplete, or hold a certificate that does not fit, the old ones stay in use, and the
// program says so.
//
// gRPC 1.51 takes changing certificates from files alone, reads them once a second, and accepts any
// content; so it gets a copy of the sound ones, in memory of this process (memfd_create).
// Certificate and key are one such file, whose modification time changes with every version: gRPC
// reads it again when that changes between its reads, so it never gets the key of another
// certificate.
class CertificateWatch {
 public:
  struct Options {
    security::CredentialFiles files;
    security::Role role;
    absl::Duration poll = absl::Seconds(1);
    // Called with the first credentials, by Start() itself, and with all that are loaded later.
    // Never called twice at a time.
    std::function<absl::Status(const security::Credentials&)> use;
    // Called with a sentence for each load or refusal.
    std::function<void(const std::string& news)> tell;
  };

  // An error when the files are not sound now.
  static absl::StatusOr<std::unique_ptr<CertificateWatch>> Start(Options options);
  ~CertificateWatch();
  CertificateWatch(const CertificateWatch&) = delete;
  CertificateWatch& operator=(const CertificateWatch&) = delete;

  // For the credentials of servers and channels, which must not outlive the watch.
  const std::shared_ptr<grpc::experimental::CertificateProviderInterface>& provider() const {
    return provider_;
  }

 private:
  explicit CertificateWatch(Options options) : options_(std::move(options)) {}
  absl::Status Take(const security::Credentials& credentials);
  void Look();

  const Options options_;
  int identity_ = -1;  // memory files, whose numbers stay
  int roots_ = -1;
  std::int64_t version_ = 0;
  std::string seen_;     // how the files looked when last taken or refused
  std::string pending_;  // how they looked at the last look that found them unsound
  std::shared_ptr<grpc::experimental::CertificateProviderInterface> provider_;
  std::optional<PeriodicTask> task_;
};

}  // namespace galen::rpc

#endif  // COMMON_RPC_CERTIFICATE_WATCH_H_
