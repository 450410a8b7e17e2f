#include "common/service/flags/health_flag.h"

#include "absl/flags/flag.h"

ABSL_FLAG(std::string, health, "",
          "Address to serve gRPC health checks on, and nothing else, without TLS, for clients that "
          "do not support it, such as a kubelet's probes. Empty: only --listen answers them.");

namespace galen::rpc {

std::string HealthAddressFromFlag() { return absl::GetFlag(FLAGS_health); }

}  // namespace galen::rpc
