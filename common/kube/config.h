#ifndef COMMON_KUBE_CONFIG_H_
#define COMMON_KUBE_CONFIG_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/http/retry.h"

namespace galen::kube {

// The address of the API server, the client's identity, and its limits.
struct Options {
  std::string server;      // "https://10.0.0.1:443"
  std::string ca_file;     // PEM; "": those of the system
  std::string token_file;  // read again whenever it changes; "": no token
  absl::Duration connect = absl::Seconds(10);

  double requests_per_second = 5;  // of this client, over time
  double burst = 10;               // at once
  // Requests after the first one, and the pauses before them.
  http::RetryPolicy retry = {
      .most = 3, .base = absl::Milliseconds(500), .longest = absl::Seconds(10)};

  std::size_t most_bytes = 16 << 20;        // of one answer
  std::size_t most_event_bytes = 4 << 20;   // of one line of a watch
  std::size_t most_list_bytes = 512 << 20;  // of all pages of a list together
  std::size_t most_items = 500'000;         // of a list
};

// The options of a pod: its service account's token and CA below `folder`, the address from the
// variables that the kubelet sets. FAILED_PRECONDITION if this is not a pod, or a pod without a
// token.
inline constexpr char kServiceAccount[] = "/var/run/secrets/kubernetes.io/serviceaccount";
using Variables = std::function<std::optional<std::string>(const char* name)>;
absl::StatusOr<Options> InCluster(const Variables& variables,
                                  const std::string& folder = kServiceAccount);
// The variables of this process.
std::optional<std::string> ProcessVariable(const char* name);

// INVALID_ARGUMENT if the options cannot work: for example, a token would be sent unencrypted.
absl::Status Check(const Options& options);

}  // namespace galen::kube

#endif  // COMMON_KUBE_CONFIG_H_
