#ifndef SERVICES_GATEWAY_API_ROUTES_H_
#define SERVICES_GATEWAY_API_ROUTES_H_

#include <google/protobuf/descriptor.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/gateway/api/path_template.h"

namespace galen::gateway {

// A method of a service and its HTTP rule.
struct Route {
  const google::protobuf::MethodDescriptor* method = nullptr;
  std::string verb;  // "GET", "POST", "DELETE"
  PathTemplate path;
  std::string body;          // as in google.api.HttpRule
  std::string tenant_field;  // the field of the path that names what belongs to a tenant
  bool streams = false;

  // "/galen.v1.DiagnosisService/GetDiagnosis"
  std::string full_method;
  // "DiagnosisService.GetDiagnosis": the name in metrics and descriptions.
  std::string name;
  // Whether it changes anything.
  bool writes() const { return verb != "GET"; }
};

// All methods of a service that have an HTTP rule, in the order of the proto. They are read from
// the proto itself, so that no second list can miss one. INVALID_ARGUMENT: there is none, a rule
// cannot be read, or no field of a path begins with a tenant.
absl::StatusOr<std::vector<Route>> RoutesOf(const google::protobuf::ServiceDescriptor& service);

struct Match {
  const Route* route = nullptr;
  std::map<std::string, std::string> fields;
};

class RouteTable {
 public:
  explicit RouteTable(std::vector<Route> routes) : routes_(std::move(routes)) {}
  // The method for a request to `path` (without its query). NOT_FOUND: there is no such path;
  // UNIMPLEMENTED: it has other HTTP methods only, which `allowed` is set to.
  absl::StatusOr<Match> Find(absl::string_view verb, absl::string_view path,
                             std::string& allowed) const;
  const std::vector<Route>& routes() const { return routes_; }

 private:
  const std::vector<Route> routes_;
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_ROUTES_H_
