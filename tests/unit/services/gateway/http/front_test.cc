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

TEST(Front, LetsTheRestRefuseWhatNobodyReads) {
  Noting api;
  Front front(api);
  EXPECT_EQ(front.Refuse(431, "too long").status, 431);
}

}  // namespace
}  // namespace galen::gateway::http
