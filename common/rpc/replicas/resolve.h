#ifndef COMMON_RPC_REPLICAS_RESOLVE_H_
#define COMMON_RPC_REPLICAS_RESOLVE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::rpc {

// One endpoint of a target, the text between its commas.
struct TargetEndpoint {
  std::string text;  // as it was given
  // The two of "name:port" to be looked up; empty when `text` is an address already, or something
  // that gRPC alone understands ("unix:/run/s", "dns:///a:1").
  std::string name;
  std::string port;
};

// The endpoints of "a:1,b:2". INVALID_ARGUMENT when there is none, or one is empty. Pure.
absl::StatusOr<std::vector<TargetEndpoint>> EndpointsIn(absl::string_view target);

// The addresses of a name, "10.0.0.7:50052", "[fd00::7]:50052", sorted, at most 1,000 of them. Asks
// the machine's resolver, which may take seconds. UNAVAILABLE when it returns no address.
absl::StatusOr<std::vector<std::string>> Resolve(const TargetEndpoint& endpoint);

}  // namespace galen::rpc

#endif  // COMMON_RPC_REPLICAS_RESOLVE_H_
