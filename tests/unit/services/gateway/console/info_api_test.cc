#include "services/gateway/info/info_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/store/store.h"
#include "tests/testing/fake_clock.h"
#include "tests/unit/services/gateway/api/fakes.h"

namespace galen::gateway {
namespace {

using ::testing::HasSubstr;

struct Key final : Access {
  absl::StatusOr<Principal> Authenticate(const http::Request& /*request*/) override {
    return principal;
  }
  absl::StatusOr<Principal> principal = Principal{.id = "k",
                                                  .tenant = "acme",
                                                  .role = UserRole::kCustomer,
                                                  .scopes = {std::string(kScopeRead)}};
};

struct AtOnce final : Executor {
  bool TrySchedule(absl::AnyInvocable<void() &&> task) override {
    std::move(task)();
    return true;
  }
};

class InfoApiTest : public ::testing::Test {
 protected:
  http::Response Ask(const std::string& target, const std::string& method = "GET") {
    InfoApi info(key_, store_->nodes(), clock_, executor_, knowledge_, /*uploads=*/true);
    const auto exchange = std::make_shared<FakeExchange>();
    http::Request request;
    request.method = method;
    request.target = target;
    info.Handle(std::move(request), exchange);
    return exchange->AwaitResponse();
  }
  Key key_;
  testing::FakeClock clock_;
  AtOnce executor_;
  std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  HotSwap<http::Asset>* knowledge_ = nullptr;
};

TEST_F(InfoApiTest, TellsWhoOneIsWithoutTheKey) {
  const auto who = nlohmann::json::parse(Ask("/v1/whoami").body);
  EXPECT_EQ(who["tenant"], "acme");
  EXPECT_EQ(who["role"], "customer");
  EXPECT_EQ(who["mayRead"], true);
  EXPECT_EQ(who["mayWrite"], false);
  EXPECT_EQ(who["uploads"], true);
}

TEST_F(InfoApiTest, WithoutAKeyThereIsNothingToRead) {
  key_.principal = absl::UnauthenticatedError("no key");
  for (const char* const path : {"/v1/whoami", "/v1/knowledge", "/v1/nodes"}) {
    EXPECT_EQ(Ask(path).status, 401) << path;
  }
}

TEST_F(InfoApiTest, AKeyThatMayNotReadDoesNotReadKnowledge) {
  key_.principal->scopes = {std::string(kScopeWrite)};
  EXPECT_EQ(Ask("/v1/knowledge").status, 403);
  EXPECT_EQ(Ask("/v1/whoami").status, 200);
}

TEST_F(InfoApiTest, NodesAreForOperators) {
  ASSERT_TRUE(store_->nodes()
                  .Announce({{.name = "n1",
                              .record = "10.0.0.1:50060",
                              .expires = clock_.Now() + absl::Seconds(30)}})
                  .ok());
  EXPECT_EQ(Ask("/v1/nodes").status, 403);
  // The list contains the nodes of all tenants.
  key_.principal->role = UserRole::kOperator;
  EXPECT_EQ(Ask("/v1/nodes").status, 403);
  key_.principal->tenant = "*";
  const auto nodes = nlohmann::json::parse(Ask("/v1/nodes").body);
  ASSERT_EQ(nodes["nodes"].size(), 1);
  EXPECT_EQ(nodes["nodes"][0]["name"], "n1");
  EXPECT_EQ(nodes["nodes"][0]["address"], "10.0.0.1:50060");
}

TEST_F(InfoApiTest, KnowledgeIsWhatWasLoadedAndItsAbsenceIsSaid) {
  EXPECT_THAT(Ask("/v1/knowledge").body, HasSubstr("--knowledge"));
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::Label& label = *base.add_labels();
  label.set_label("GPU.MEMORY.X");
  knowledge::v1::Rule& rule = *label.add_confirm();
  rule.set_check("gpu.ecc");
  rule.set_finding("volatile");
  rule.set_op(knowledge::v1::Rule::GT);
  rule.set_value("0");
  rule.set_observation("counts \xff above 0");
  knowledge::v1::Check& check = *base.add_checks();
  check.set_name("gpu.ecc");
  check.set_intrusive(true);
  base.set_digest("d1");
  const knowledge::Knowledge known(base);
  const http::Asset asset("application/json", KnowledgeJson(known));
  HotSwap<http::Asset> current(asset);
  knowledge_ = &current;
  const auto json = nlohmann::json::parse(Ask("/v1/knowledge").body);
  EXPECT_EQ(json["digest"], "d1");
  EXPECT_EQ(json["labels"][0]["confirm"][0]["condition"], "volatile > 0");
  EXPECT_EQ(json["checks"][0]["intrusive"], true);
}

TEST_F(InfoApiTest, OtherPathsAndMethodsAreRefused) {
  EXPECT_EQ(Ask("/v1/knowledge/x").status, 404);
  EXPECT_EQ(Ask("/v1/whoami", "POST").status, 405);
}

}  // namespace
}  // namespace galen::gateway
