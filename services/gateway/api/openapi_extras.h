#ifndef SERVICES_GATEWAY_API_OPENAPI_EXTRAS_H_
#define SERVICES_GATEWAY_API_OPENAPI_EXTRAS_H_

#include <nlohmann/json.hpp>

namespace galen::gateway {

// The gateway's endpoints beside the methods of the protos, as OpenAPI `paths` and
// `components.schemas`. `uploads`: whether it accepts uploads. Pure.
struct OpenApiExtras {
  nlohmann::ordered_json paths;
  nlohmann::ordered_json schemas;
};
OpenApiExtras DescribeOpenApiExtras(bool uploads);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_OPENAPI_EXTRAS_H_
