#include "services/execution/variant.h"

#include <google/protobuf/util/time_util.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "common/crypto/sha256.h"

namespace galen::execution {

using google::protobuf::util::TimeUtil;

std::string VariantOf(const v1::RunChecksRequest& request) {
  std::string variant =
      absl::StrCat(request.bundle(), "\n", TimeUtil::ToString(request.start_time()), "\n",
                   TimeUtil::ToString(request.end_time()), "\n", request.allow_intrusive(),
                   request.allow_busy(), "\n", request.look());
  if (request.has_baseline()) {
    absl::StrAppend(&variant, "\n", request.baseline().ShortDebugString());
  }
  return Sha256Hex(variant);
}

std::string VariantOf(const std::string& of_call, const v1::RunChecksRequest& request,
                      const std::string& check) {
  std::string variant = of_call;
  for (const galen::v1::CheckParameters& parameters : request.parameters()) {
    if (parameters.check() != check) continue;
    const std::map<std::string, std::string> values(parameters.values().begin(),
                                                    parameters.values().end());
    for (const auto& [name, value] : values) absl::StrAppend(&variant, "\n", name, "=", value);
  }
  return Sha256Hex(variant);
}

}  // namespace galen::execution
