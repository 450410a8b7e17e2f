#include "services/gateway/api/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/services/gateway/api/fakes.h"

namespace galen::gateway {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Document() {
  const auto made = OpenApiOf(PublicRoutes(), PublicApiDescriptors(), /*uploads=*/true);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? json::parse(*made) : json();
}

// Every {"$ref": "#/a/b"} of `value` that does not lead anywhere in `document`.
void FindBrokenRefs(const json& document, const json& value, std::vector<std::string>& broken) {
  if (value.is_object() && value.contains("$ref")) {
    const std::string ref = value["$ref"];
    if (!document.contains(json::json_pointer(ref.substr(1)))) broken.push_back(ref);
  }
  if (!value.is_structured()) return;
  for (const json& part : value) FindBrokenRefs(document, part, broken);
}

TEST(OpenApi, HasAnOperationForEachMethod) {
  const json document = Document();
  EXPECT_EQ(document["openapi"], "3.1.0");
  std::set<std::string> operations;
  for (const json& path : document["paths"]) {
    for (const json& operation : path) operations.insert(operation["operationId"]);
  }
  for (const char* beside : {"InfoApi_WhoAmI", "InfoApi_Knowledge", "InfoApi_Nodes", "Uploads_List",
                             "Uploads_Create", "Uploads_Get", "Uploads_Delete"}) {
    EXPECT_EQ(operations.erase(beside), 1U) << beside;
  }
  EXPECT_EQ(operations.size(), PublicRoutes().size());
  EXPECT_TRUE(
      document["paths"]["/v1/tenants/{tenant}/diagnoses/{diagnosis}:cancel"].contains("post"));
  EXPECT_TRUE(document["paths"]["/v1/tenants/{tenant}/diagnoses/{diagnosis}"].contains("delete"));
}

TEST(OpenApi, HasNoUploadsWhereNoneAreTaken) {
  const json document =
      json::parse(OpenApiOf(PublicRoutes(), PublicApiDescriptors(), /*uploads=*/false).value());
  EXPECT_TRUE(document["paths"].contains("/v1/whoami"));
  EXPECT_FALSE(document["paths"].contains("/v1/tenants/{tenant}/uploads"));
  EXPECT_FALSE(document["components"]["schemas"].contains("Upload"));
}

TEST(OpenApi, EveryReferenceLeadsSomewhere) {
  const json document = Document();
  std::vector<std::string> broken;
  FindBrokenRefs(document, document, broken);
  EXPECT_THAT(broken, ::testing::IsEmpty());
  for (const auto& [name, schema] : document["components"]["schemas"].items()) {
    EXPECT_TRUE(schema.is_object()) << name;
  }
}

TEST(OpenApi, EveryParameterOfAPathIsDeclared) {
  const json document = Document();
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const json& operation : methods) {
      std::set<std::string> declared;
      for (const json& parameter : operation["parameters"]) {
        if (parameter["in"] == "path") declared.insert(parameter["name"]);
      }
      for (const std::string& name : declared) EXPECT_THAT(path, HasSubstr("{" + name + "}"));
      EXPECT_EQ(declared.size(),
                static_cast<std::size_t>(std::count(path.begin(), path.end(), '{')));
    }
  }
}

TEST(OpenApi, SaysWhatTheCommentsOfTheProtosSay) {
  const json document = Document();
  const json& create = document["paths"]["/v1/tenants/{tenant}/diagnoses"]["post"];
  EXPECT_THAT(create["description"].get<std::string>(),
              HasSubstr("Accepts an incident and starts its diagnosis"));
  const json& incident = document["components"]["schemas"]["galen.v1.Incident"];
  EXPECT_THAT(incident["properties"]["description"]["description"].get<std::string>(),
              HasSubstr("The report in the customer's words."));
}

TEST(OpenApi, HasTheTypesOfProtoJson) {
  const json document = Document();
  const json& schemas = document["components"]["schemas"];
  const json& diagnosis = schemas["galen.v1.Diagnosis"]["properties"];
  EXPECT_EQ(diagnosis["lastSequence"]["type"], "string");
  EXPECT_EQ(diagnosis["lastSequence"]["format"], "int64");
  EXPECT_EQ(diagnosis["hypotheses"]["type"], "array");
  EXPECT_EQ(diagnosis["state"]["type"], "string");
  EXPECT_EQ(schemas["google.protobuf.Timestamp"]["format"], "date-time");
  EXPECT_EQ(schemas["galen.v1.LogSource"]["properties"]["content"]["contentEncoding"], "base64");
  EXPECT_EQ(
      schemas["galen.v1.Workload"]["properties"]["attributes"]["additionalProperties"]["type"],
      "string");
}

TEST(OpenApi, RefusesDescriptorsThatAreNoneOrLackAMethod) {
  EXPECT_FALSE(OpenApiOf(PublicRoutes(), "rubbish", true).ok());
  EXPECT_FALSE(OpenApiOf(PublicRoutes(), "", true).ok());
}

}  // namespace
}  // namespace galen::gateway
