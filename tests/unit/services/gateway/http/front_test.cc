#include "services/gateway/http/front.h"

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

TEST(Front, HandsARequestToTheLongestPrefixOfItsPath) {
  Noting api;
  Noting hooks;
  Noting slack;
  Front front(api);
  front.Add("/hooks/", hooks);
  front.Add("/hooks/slack/", slack);
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
    front.Handle(std::move(request), nullptr);
    for (Noting* part : {&api, &hooks, &slack}) {
      EXPECT_EQ(part->last, part == expected.to ? expected.target : "nothing") << expected.target;
    }
  }
}

TEST(Front, TakesAStarForAnyOneSegmentAndTheRootForItselfAlone) {
  Noting api;
  Noting uploads;
  Noting home;
  Front front(api);
  front.Add("/v1/tenants/*/uploads/", uploads);
  front.Add("/", home);
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
    front.Handle(std::move(request), nullptr);
    for (Noting* part : {&api, &uploads, &home}) {
      EXPECT_EQ(part->last, part == expected.to ? expected.target : "nothing") << expected.target;
    }
  }
}

TEST(Front, LetsTheRestRefuseWhatNobodyReads) {
  Noting api;
  Front front(api);
  EXPECT_EQ(front.Refuse(431, "too long").status, 431);
}

}  // namespace
}  // namespace galen::gateway::http
