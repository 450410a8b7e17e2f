#include "common/kube/config.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/text.h"

namespace galen::kube {
namespace {

constexpr std::size_t kMostShown = 200;

absl::Status Readable(const std::string& path, absl::string_view what) {
  if (access(path.c_str(), R_OK) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(path, ": ", std::strerror(errno),
                                                    "; the pod has no ", what,
                                                    ": set automountServiceAccountToken for it"));
}

// Only on this machine may a request be unencrypted: `kubectl proxy`, tests.
bool Loopback(absl::string_view authority) {
  for (const absl::string_view host : {"127.0.0.1", "localhost", "[::1]"}) {
    if (absl::StartsWith(authority, host) &&
        (authority.size() == host.size() || authority[host.size()] == ':')) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::string> ProcessVariable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

absl::StatusOr<Options> InCluster(const Variables& variables, const std::string& folder) {
  const std::string host = variables("KUBERNETES_SERVICE_HOST").value_or("");
  const std::string port = variables("KUBERNETES_SERVICE_PORT").value_or("");
  if (host.empty() || port.empty()) {
    return absl::FailedPreconditionError(
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, so this is not a pod; "
        "name "
        "the API server");
  }
  int number = 0;
  if (!absl::SimpleAtoi(port, &number) || number < 1 || number > 65535) {
    return absl::FailedPreconditionError(
        absl::StrCat("KUBERNETES_SERVICE_PORT is not a port: ", CleanText(port, kMostShown),
                     "; name the API server"));
  }
  Options options;
  options.server = absl::StrContains(host, ':') ? absl::StrCat("https://[", host, "]:", number)
                                                : absl::StrCat("https://", host, ":", number);
  options.ca_file = absl::StrCat(folder, "/ca.crt");
  options.token_file = absl::StrCat(folder, "/token");
  for (const auto& [path, what] : {std::pair(options.ca_file, "certificate of its API server"),
                                   std::pair(options.token_file, "service account token")}) {
    if (absl::Status status = Readable(path, what); !status.ok()) return status;
  }
  if (absl::Status status = Check(options); !status.ok()) return status;
  return options;
}

absl::Status Check(const Options& options) {
  const std::string shown = CleanText(options.server, kMostShown);
  const auto refuse = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("API server ", shown, ": ", what));
  };
  absl::string_view rest = options.server;
  const bool plain = absl::StartsWith(rest, "http://");
  if (!plain && !absl::StartsWith(rest, "https://")) {
    return refuse("no address; write https://HOST:PORT");
  }
  rest.remove_prefix(plain ? 7 : 8);
  if (rest.empty() || rest.find_first_of("/?#@ \t\r\n") != absl::string_view::npos) {
    return refuse("more or less than an address; write https://HOST:PORT");
  }
  if (plain && !Loopback(rest)) {
    return refuse("would be spoken to unencrypted; write https://");
  }
  if (!(options.requests_per_second > 0) || !(options.burst >= 1)) {
    return refuse(
        "no request would ever be let through; raise requests_per_second above 0, burst to 1");
  }
  if (options.retry.most < 0 || options.connect <= absl::ZeroDuration()) {
    return refuse("connect and retry have to be positive");
  }
  return absl::OkStatus();
}

}  // namespace galen::kube
