#ifndef COMMON_BASE_JSON_PRUNE_H_
#define COMMON_BASE_JSON_PRUNE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "common/base/json_depth.h"

namespace galen {

// A JSON text with null for every list and object that nests deeper than `most`. For the output of
// tools that answer for many devices at once: what is too deep of one device does not cost the
// answers of the others. ParseJson() still decides whether the result is JSON. Pure.
std::string PrunedJson(absl::string_view text, int most = JsonLimits().depth);

}  // namespace galen

#endif  // COMMON_BASE_JSON_PRUNE_H_
