#include "services/gateway/api/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "galen/v1/diagnosis_service.pb.h"
#include "galen/watch/v1/watch.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/api/fakes.h"

namespace galen::gateway {
namespace {

using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Fields = std::map<std::string, std::string>;

TEST(PathTemplate, GivesTheFieldsOfAPath) {
  const auto path = PathTemplate::Parse("/v1/{name=tenants/*/diagnoses/*}:cancel");
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_EQ(path->Match("/v1/tenants/a/diagnoses/b:cancel"),
            (Fields{{"name", "tenants/a/diagnoses/b"}}));
  EXPECT_EQ(path->Match("/v1/tenants/a%2Db/diagnoses/b:cancel"),
            (Fields{{"name", "tenants/a-b/diagnoses/b"}}));
}

TEST(PathTemplate, MatchesNothingElse) {
  const auto path = PathTemplate::Parse("/v1/{name=tenants/*/diagnoses/*}");
  ASSERT_TRUE(path.ok()) << path.status();
  for (const char* other :
       {"", "/", "/v1", "/v1/tenants/a/diagnoses", "/v1/tenants/a/diagnoses/", "/v1/tenants/a/x/b",
        "/v1/tenants//diagnoses/b", "/v1/tenants/a/diagnoses/b/", "/v1/tenants/a/diagnoses/b/c",
        "/v1/tenants/a/diagnoses/b:watch",
        "/v1/tenants/a/diagnoses/b:", "/v2/tenants/a/diagnoses/b",
        // A slash that was hidden would be another name, perhaps of another tenant.
        "/v1/tenants/a%2Fdiagnoses%2Fb/diagnoses/c", "/v1/tenants/a/diagnoses/b%2f",
        "/v1/tenants/a/diagnoses/%00", "/v1/tenants/a/diagnoses/%0a", "/v1/tenants/a/diagnoses/%4",
        "/v1/tenants/a/diagnoses/%zz", "//v1/tenants/a/diagnoses/b"}) {
    EXPECT_EQ(path->Match(other), std::nullopt) << other;
  }
}

TEST(PathTemplate, IsRefusedWhenItIsNone) {
  for (const char* text : {"", "v1", "/v1/{", "/v1/{name}", "/v1/{=a}", "/v1/{name=}", "/v1/a}",
                           "/v1/{name=a/{b=c}}", "/v1/{name=**}", "/v1/x:", "/v1//x"}) {
    EXPECT_FALSE(PathTemplate::Parse(text).ok()) << text;
  }
}

TEST(Routes, AreThereForEveryMethodOfTheService) {
  const auto* service = galen::v1::CreateDiagnosisRequest::descriptor()->file()->FindServiceByName(
      "DiagnosisService");
  const auto routes = RoutesOf(*service);
  ASSERT_TRUE(routes.ok()) << routes.status();
  EXPECT_EQ(routes->size(), static_cast<std::size_t>(service->method_count()));
}

TEST(Routes, AreNotMadeOfAServiceThatHasNoRules) {
  EXPECT_THAT(RoutesOf(*galen::watch::v1::ReportHealthRequest::descriptor()->file()->service(0)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("google.api.http")));
}

TEST(Routes, AreFoundByMethodAndPath) {
  const RouteTable table(PublicRoutes());
  std::string allowed;
  const auto found = table.Find("GET", "/v1/tenants/t/diagnoses/d:watch", allowed);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->route->name, "DiagnosisService.WatchDiagnosis");
  EXPECT_TRUE(found->route->streams);
  EXPECT_THAT(found->fields, ElementsAre(Pair("name", "tenants/t/diagnoses/d")));
  // Also where the same path has another method before it.
  for (const char* verb : {"POST", "GET"}) {
    EXPECT_TRUE(table.Find(verb, "/v1/tenants/t/diagnoses", allowed).ok()) << verb;
    EXPECT_EQ(allowed, "");
  }
  EXPECT_FALSE(table.Find("DELETE", "/v1/tenants/t/diagnoses", allowed).ok());
  EXPECT_EQ(allowed, "POST, GET");
  EXPECT_THAT(table.Find("GET", "/v1/elsewhere", allowed),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/v1/elsewhere")));
  EXPECT_EQ(allowed, "");
}

}  // namespace
}  // namespace galen::gateway
