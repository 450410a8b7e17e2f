#include "services/gateway/http/router.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace galen::gateway::http {
namespace {

struct Noting final : Handler {
  void Handle(Request request, std::shared_ptr<Exchange> /*exchange*/) override {
    last = std::move(request.target);
  }
  Response Refuse(int status, const std::string& /*why*/) override {
    Response response;
    response.status = status;
    return response;
  }
  std::string last;
};

TEST(Router, HandsARequestToTheLongestPrefixOfItsPath) {
  Noting api;
  Noting hooks;
  Noting slack;
  Router router(api);
  router.Add("/hooks/", hooks);
  router.Add("/hooks/slack/", slack);
  const struct {
    const char* target;
    Noting* to;
  } kCases[] = {
      {"/v1/tenants/acme/diagnoses", &api},
      {"/hooks/a", &hooks},
      {"/hooks", &hooks},
      {"/hooks?x=/hooks/slack/", &hooks},
      {"/hooks2/a", &api},
      {"/hooks/slack/a", &slack},
      {"/hooks/slack", &slack},
      {"/hooks/slacker", &hooks},
      {"", &api},
      {"*", &api},
  };
  for (const auto& expected : kCases) {
    for (Noting* part : {&api, &hooks, &slack}) part->last = "nothing";
    Request request;
    request.target = expected.target;
    router.Handle(std::move(request), nullptr);
    for (Noting* part : {&api, &hooks, &slack}) {
      EXPECT_EQ(part->last, part == expected.to ? expected.target : "nothing") << expected.target;
    }
  }
}

TEST(Router, TakesAStarForAnyOneSegmentAndTheRootForItselfAlone) {
  Noting api;
  Noting uploads;
  Noting home;
  Router router(api);
  router.Add("/v1/tenants/*/uploads/", uploads);
  router.Add("/", home);
  const struct {
    const char* target;
    Noting* to;
  } kCases[] = {
      {"/v1/tenants/acme/uploads", &uploads},
      {"/v1/tenants/acme/uploads/a?b", &uploads},
      {"/v1/tenants//uploads", &api},
      {"/v1/tenants/a/b/uploads", &api},
      {"/v1/tenants/acme/uploads2", &api},
      {"/v1/tenants/acme", &api},
      {"/", &home},
      {"/?x", &home},
      {"/healthz", &api},
  };
  for (const auto& expected : kCases) {
    for (Noting* part : {&api, &uploads, &home}) part->last = "nothing";
    Request request;
    request.target = expected.target;
    router.Handle(std::move(request), nullptr);
    for (Noting* part : {&api, &uploads, &home}) {
      EXPECT_EQ(part->last, part == expected.to ? expected.target : "nothing") << expected.target;
    }
  }
}

TEST(Router, LetsTheRestRefuseWhatNobodyReads) {
  Noting api;
  Router router(api);
  EXPECT_EQ(router.Refuse(431, "too long").status, 431);
}

}  // namespace
}  // namespace galen::gateway::http
