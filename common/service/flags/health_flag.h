#ifndef COMMON_SERVICE_FLAGS_HEALTH_FLAG_H_
#define COMMON_SERVICE_FLAGS_HEALTH_FLAG_H_

#include <string>

namespace galen::rpc {

// The value of --health, for ServeOptions::health_address. Linking this file adds the flag.
std::string HealthAddressFromFlag();

}  // namespace galen::rpc

#endif  // COMMON_SERVICE_FLAGS_HEALTH_FLAG_H_
