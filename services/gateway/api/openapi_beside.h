#ifndef SERVICES_GATEWAY_API_OPENAPI_BESIDE_H_
#define SERVICES_GATEWAY_API_OPENAPI_BESIDE_H_

#include <nlohmann/json.hpp>

namespace galen::gateway {

// What the gateway answers beside the methods of the protos, in the form of OpenAPI's `paths` and
// `components.schemas`. `uploads`: whether it takes any. Pure.
struct BesideProtos {
  nlohmann::ordered_json paths;
  nlohmann::ordered_json schemas;
};
BesideProtos DescribeBesideProtos(bool uploads);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_OPENAPI_BESIDE_H_
