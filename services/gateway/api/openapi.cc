#include "services/gateway/api/openapi.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "services/gateway/api/openapi_extras.h"
#include "services/gateway/api/openapi_schema.h"

namespace galen::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;
using Json = nlohmann::ordered_json;

// "diagnosis" of "diagnoses", "tenant" of "tenants".
std::string Singular(absl::string_view collection) {
  if (absl::EndsWith(collection, "ses")) {
    return absl::StrCat(collection.substr(0, collection.size() - 2), "is");
  }
  return std::string(absl::StripSuffix(collection, "s"));
}

// The path in the form of OpenAPI, with one parameter for each segment: "/v1/{name=tenants/*}:x" is
// "/v1/tenants/{tenant}:x".
std::string PathOf(const PathTemplate& path, Json& parameters) {
  std::string text = path.text();
  for (const PathTemplate::Field& field : path.fields()) {
    std::string segments;
    std::string last;
    for (const absl::string_view segment : absl::StrSplit(field.pattern, '/')) {
      std::string shown(segment);
      if (segment == "*") {
        const std::string name = last.empty() ? field.name : Singular(last);
        shown = absl::StrCat("{", name, "}");
        parameters.push_back({{"name", name},
                              {"in", "path"},
                              {"required", true},
                              {"schema", {{"type", "string"}, {"pattern", "^[a-z0-9-]{1,63}$"}}}});
      }
      absl::StrAppend(&segments, segments.empty() ? "" : "/", shown);
      last = std::string(segment);
    }
    const std::string written = absl::StrCat("{", field.name, "=", field.pattern, "}");
    const std::size_t at = text.find(written);
    if (at != std::string::npos) text.replace(at, written.size(), segments);
  }
  return text;
}

Json Header(absl::string_view name, absl::string_view description) {
  return {{"name", std::string(name)},
          {"in", "header"},
          {"required", false},
          {"description", std::string(description)},
          {"schema", {{"type", "string"}}}};
}

void AddQuery(const Route& route, const Descriptor& request, const std::set<std::string>& in_path,
              SchemaRegistry& schema_registry, Json& parameters) {
  for (int i = 0; i < request.field_count(); ++i) {
    const FieldDescriptor& field = *request.field(i);
    if (route.body == "*" || route.body == field.name() || in_path.count(field.name()) > 0 ||
        field.is_repeated() || field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      continue;
    }
    parameters.push_back({{"name", field.json_name()},
                          {"in", "query"},
                          {"required", false},
                          {"description", CommentOf(field)},
                          {"schema", schema_registry.Of(field)}});
  }
  parameters.push_back(
      {{"name", "fields"},
       {"in", "query"},
       {"required", false},
       {"description", "Fields of the answer to return, paths separated by commas; all if absent."},
       {"schema", {{"type", "string"}}}});
}

Json ResponsesOf(const Route& route, const MethodDescriptor& method,
                 SchemaRegistry& schema_registry) {
  Json responses = Json::object();
  if (route.streams) {
    responses["200"] = {{"description",
                         "Server-sent events: `id` is the sequence of the event, `data` its JSON; "
                         "`event: end` when "
                         "there will be no more, `event: reset` before all events are sent again."},
                        {"content",
                         {{"text/event-stream",
                           {{"schema", {{"type", "string"}}},
                            {"x-event-schema", schema_registry.Ref(*method.output_type())}}}}}};
    responses["204"] = {{"description", "There is nothing newer, and there will not be."}};
  } else {
    responses["200"] = {
        {"description", "OK"},
        {"content",
         {{"application/json", {{"schema", schema_registry.Ref(*method.output_type())}}}}}};
  }
  responses["default"] = {{"$ref", "#/components/responses/Error"}};
  return responses;
}

Json OperationOf(const Route& route, const MethodDescriptor& method, Json parameters,
                 SchemaRegistry& schema_registry) {
  const Descriptor& request = *method.input_type();
  std::set<std::string> in_path;
  for (const PathTemplate::Field& field : route.path.fields()) in_path.insert(field.name);
  AddQuery(route, request, in_path, schema_registry, parameters);
  if (request.FindFieldByName("request_id") != nullptr) {
    parameters.push_back(
        Header("Idempotency-Key", "The same as requestId: a repeat with it does nothing twice."));
  }
  if (route.streams) {
    parameters.push_back(
        Header("Last-Event-ID", "Id of the last event seen: the stream resumes after it."));
  }
  Json operation = {{"operationId", absl::StrCat(method.service()->name(), "_", method.name())},
                    {"tags", {method.service()->name()}},
                    {"description", CommentOf(method)},
                    {"parameters", std::move(parameters)}};
  if (!route.body.empty()) {
    const FieldDescriptor* field =
        route.body == "*" ? nullptr : request.FindFieldByName(route.body);
    operation["requestBody"] = {
        {"required", field != nullptr},
        {"content",
         {{"application/json",
           {{"schema", field != nullptr ? schema_registry.Of(*field)
                                        : schema_registry.Object(request, in_path)}}}}}};
  }
  operation["responses"] = ResponsesOf(route, method, schema_registry);
  return operation;
}

Json ErrorSchema() {
  return {
      {"type", "object"},
      {"properties",
       {{"error",
         {{"type", "object"},
          {"properties",
           {{"code", {{"type", "integer"}, {"description", "The HTTP status."}}},
            {"message", {{"type", "string"}}},
            {"status", {{"type", "string"}, {"description", "The name of the google.rpc.Code."}}},
            {"details",
             {{"type", "array"},
              {"description",
               "One google.rpc.ErrorInfo; BadRequest where a field is wrong; RetryInfo where it "
               "is worth trying again."},
              {"items",
               {{"type", "object"},
                {"properties", {{"@type", {{"type", "string"}}}}},
                {"required", {"@type"}}}}}}}},
          {"required", {"code", "message", "status", "details"}}}}}},
      {"required", {"error"}}};
}

}  // namespace

absl::StatusOr<std::string> OpenApiOf(const std::vector<Route>& routes,
                                      absl::string_view descriptors, bool uploads) {
  google::protobuf::FileDescriptorSet files;
  if (!files.ParseFromArray(descriptors.data(), static_cast<int>(descriptors.size()))) {
    return absl::InvalidArgumentError("the descriptors of the public API cannot be read");
  }
  google::protobuf::DescriptorPool pool;
  for (const google::protobuf::FileDescriptorProto& file : files.file()) {
    if (pool.BuildFile(file) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(file.name(), ": its descriptors are broken"));
    }
  }
  SchemaRegistry schema_registry;
  Json paths = Json::object();
  for (const Route& route : routes) {
    const MethodDescriptor* method = pool.FindMethodByName(route.method->full_name());
    if (method == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(route.method->full_name(), ": is not among the descriptors"));
    }
    Json parameters = Json::array();
    const std::string path = PathOf(route.path, parameters);
    paths[path][absl::AsciiStrToLower(route.verb)] =
        OperationOf(route, *method, std::move(parameters), schema_registry);
  }
  Json schemas = schema_registry.schemas();
  schemas["Error"] = ErrorSchema();
  const OpenApiExtras beside = DescribeOpenApiExtras(uploads);
  paths.update(beside.paths);
  schemas.update(beside.schemas);
  const Json document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Galen"},
        {"version", "v1"},
        {"description",
         "Diagnoses incidents of AI training and inference. Generated from the protos; "
         "docs/api.md explains its use."}}},
      {"security", Json::array({{{"apiKey", Json::array()}}})},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", std::move(schemas)},
        {"responses",
         {{"Error",
           {{"description", "The error, as google.rpc.Status."},
            {"content",
             {{"application/json", {{"schema", {{"$ref", "#/components/schemas/Error"}}}}}}}}}}},
        {"securitySchemes",
         {{"apiKey",
           {{"type", "http"},
            {"scheme", "bearer"},
            {"description", "A key that `galen keys create` has made."}}}}}}}};
  return absl::StrCat(document.dump(), "\n");
}

}  // namespace galen::gateway
