#ifndef SERVICES_GATEWAY_HTTP_TLS_H_
#define SERVICES_GATEWAY_HTTP_TLS_H_

#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "services/gateway/http/server.h"

namespace galen::gateway::http {

// The certificate that a server presents, replaced when its files are: a new one is loaded once
// certificate and key can be read and match each other; until then the old one is presented.
class Tls {
 public:
  // The error names the file that is invalid now.
  static absl::StatusOr<std::unique_ptr<Tls>> Open(
      const TlsFiles& files, std::function<void(const std::string& news)> tell);

  // For the next connection.
  std::shared_ptr<boost::asio::ssl::context> Now() const;
  // Checks whether the files have changed. Not two at a time.
  void Look();

 private:
  Tls(TlsFiles files, std::function<void(const std::string& news)> tell, std::string looks,
      std::shared_ptr<boost::asio::ssl::context> context);

  const TlsFiles files_;
  const std::function<void(const std::string& news)> tell_;
  std::string looks_;    // of the files when last loaded or refused
  std::string pending_;  // when last found unsound
  mutable Mutex mu_;
  std::shared_ptr<boost::asio::ssl::context> current_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::gateway::http

#endif  // SERVICES_GATEWAY_HTTP_TLS_H_
