#ifndef COMMON_KUBE_RESOURCE_H_
#define COMMON_KUBE_RESOURCE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::kube {

// A kind of object, as in addresses.
struct Resource {
  std::string group;  // "": the core group
  std::string version = "v1";
  std::string plural;  // "nodes"
};

struct ObjectName {
  std::string space;  // the namespace; "" for a resource without one
  std::string name;
};

// "/apis/GROUP/VERSION/namespaces/SPACE/PLURAL/NAME/SUBRESOURCE"; empty parts are left out.
// INVALID_ARGUMENT for an invalid part: an object's name never leads elsewhere.
absl::StatusOr<std::string> PathOf(const Resource& resource, const ObjectName& object,
                                   absl::string_view subresource = "");

using Query = std::vector<std::pair<std::string, std::string>>;
// "?a=b&c=d", escaped, without empty values; "" if nothing is left.
std::string QueryText(const Query& query);

}  // namespace galen::kube

#endif  // COMMON_KUBE_RESOURCE_H_
