#ifndef SERVICES_EXECUTION_VARIANT_H_
#define SERVICES_EXECUTION_VARIANT_H_

#include <string>

#include "galen/execution/v1/execution.pb.h"

namespace galen::execution {

// Tells calls apart that are answered differently, beside the node and a check's own parameters. A
// digest, as a caller may name ten thousand nodes to compare with, and each kept result has this in
// its key. Pure.
std::string VariantOf(const v1::RunChecksRequest& request);

// And with the parameters of this check. Pure.
std::string VariantOf(const std::string& of_call, const v1::RunChecksRequest& request,
                      const std::string& check);

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_VARIANT_H_
