#ifndef COMMON_SERVICE_FLAGS_HEALTH_FLAG_H_
#define COMMON_SERVICE_FLAGS_HEALTH_FLAG_H_

#include <string>

namespace galen::rpc {

// --health: ServeOptions::health_address. Who links this has the flag.
std::string HealthAddressFromFlag();

}  // namespace galen::rpc

#endif  // COMMON_SERVICE_FLAGS_HEALTH_FLAG_H_
