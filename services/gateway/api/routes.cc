#include "services/gateway/api/routes.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "google/api/annotations.pb.h"

namespace galen::gateway {
namespace {

absl::StatusOr<Route> RouteOf(const google::protobuf::MethodDescriptor& method) {
  const google::api::HttpRule& rule = method.options().GetExtension(google::api::http);
  Route route;
  route.method = &method;
  switch (rule.pattern_case()) {
    case google::api::HttpRule::kGet:
      route.verb = "GET";
      break;
    case google::api::HttpRule::kPost:
      route.verb = "POST";
      break;
    case google::api::HttpRule::kDelete:
      route.verb = "DELETE";
      break;
    case google::api::HttpRule::PATTERN_NOT_SET:
      return absl::InvalidArgumentError(
          absl::StrCat(method.full_name(), ": has no option (google.api.http)"));
  }
  const std::string& path = route.verb == "GET"      ? rule.get()
                            : route.verb == "DELETE" ? rule.delete_()
                                                     : rule.post();
  GALEN_ASSIGN_OR_RETURN(route.path, PathTemplate::Parse(path));
  route.body = rule.body();
  for (const PathTemplate::Field& field : route.path.fields()) {
    const auto* known = method.input_type()->FindFieldByName(field.name);
    if (known == nullptr || known->is_repeated() ||
        known->type() != google::protobuf::FieldDescriptor::TYPE_STRING) {
      return absl::InvalidArgumentError(
          absl::StrCat(method.full_name(), ": \"", field.name,
                       "\" in its path is not a text field of its request"));
    }
    if (absl::StartsWith(field.pattern, "tenants/*")) route.tenant_field = field.name;
  }
  if (route.tenant_field.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(method.full_name(), ": no field of its path begins with tenants/*"));
  }
  if (route.body != "" && route.body != "*" &&
      method.input_type()->FindFieldByName(route.body) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(method.full_name(), ": its request has no field \"", route.body, "\""));
  }
  route.streams = method.server_streaming();
  route.full_method = absl::StrCat("/", method.service()->full_name(), "/", method.name());
  route.name = absl::StrCat(method.service()->name(), ".", method.name());
  return route;
}

}  // namespace

absl::StatusOr<std::vector<Route>> RoutesOf(const google::protobuf::ServiceDescriptor& service) {
  std::vector<Route> routes;
  for (int i = 0; i < service.method_count(); ++i) {
    GALEN_ASSIGN_OR_RETURN(Route route, RouteOf(*service.method(i)));
    routes.push_back(std::move(route));
  }
  return routes;
}

absl::StatusOr<Match> RouteTable::Find(absl::string_view verb, absl::string_view path,
                                       std::string& allowed) const {
  allowed.clear();
  for (const Route& route : routes_) {
    auto fields = route.path.Match(path);
    if (!fields) continue;
    if (route.verb == verb) {
      allowed.clear();
      return Match{&route, *std::move(fields)};
    }
    absl::StrAppend(&allowed, allowed.empty() ? "" : ", ", route.verb);
  }
  if (!allowed.empty()) {
    return absl::UnimplementedError(absl::StrCat("this path takes ", allowed, " alone"));
  }
  return absl::NotFoundError(
      absl::StrCat("\"", CleanText(path, 200), "\": there is no such path; see /openapi.json"));
}

}  // namespace galen::gateway
