#include "services/execution/client_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "services/execution/node_registry.h"
#include "tests/testing/status_matchers.h"

namespace galen::execution {
namespace {

using ::galen::testing::StatusIs;

// Counts those that are there.
struct Counted {
  explicit Counted(int& open_now) : open(open_now) { ++open; }
  ~Counted() { --open; }
  int& open;
};

class ClientPoolTest : public ::testing::Test {
 protected:
  using Pool = ClientPool<Counted>;
  Pool::Make Making() {
    return [this](const std::string&, const std::string&) {
      return absl::StatusOr<std::unique_ptr<Counted>>(std::make_unique<Counted>(open_));
    };
  }
  static Pool::Options Options() { return {.max_clients = 2, .look = absl::ZeroDuration()}; }
  int open_ = 0;
};

TEST_F(ClientPoolTest, OneAddressIsOneClient) {
  Pool pool(Making(), Options());
  EXPECT_EQ(pool.Get("a:1", "").value(), pool.Get("a:1", "").value());
  EXPECT_NE(pool.Get("a:1", "").value(), pool.Get("b:1", "").value());
  EXPECT_NE(pool.Get("a:1", "").value(), pool.Get("a:1", "n1").value())
      << "one that insists on who answers is another one";
}

TEST_F(ClientPoolTest, TheOneUsedLongestAgoMakesRoomAndIsClosedLater) {
  Pool pool(Making(), Options());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(pool.Get(absl::StrCat("a:", i), "").ok());
  EXPECT_EQ(open_, 10) << "none is closed by who asks for another one";
  pool.Tend(SteadyNow());
  EXPECT_EQ(open_, 10) << "its last call may just be ending";
  pool.Tend(SteadyNow() + absl::Seconds(6));
  EXPECT_EQ(open_, 2);
}

TEST_F(ClientPoolTest, OneThatIsUsedStays) {
  Pool pool(Making(), Options());
  {
    const auto used = pool.Get("used:1", "").value();
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(pool.Get(absl::StrCat("a:", i), "").ok());
    pool.Tend(SteadyNow() + absl::Hours(1));
    pool.Tend(SteadyNow() + absl::Hours(2));
    EXPECT_EQ(open_, 1);
    EXPECT_EQ(pool.Get("used:1", "").value(), used);
  }
  pool.Tend(SteadyNow() + absl::Hours(3));
  pool.Tend(SteadyNow() + absl::Hours(4));
  EXPECT_EQ(open_, 0) << "nobody asks for it any more";
}

TEST_F(ClientPoolTest, WithThePoolAllAreClosed) {
  {
    Pool pool(Making(), {.max_clients = 2});
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(pool.Get(absl::StrCat("a:", i), "").ok());
  }
  EXPECT_EQ(open_, 0);
}

class NullClient final : public clients::NodeClient {
 public:
  clients::Cancel RunChecks(const node::v1::RunChecksRequest&, absl::Time,
                            clients::OnMessage<galen::v1::CheckResult>,
                            absl::AnyInvocable<void(absl::Status) &&> done) override {
    std::move(done)(absl::OkStatus());
    return clients::NoCancel();
  }
  void Describe(const node::v1::DescribeRequest&, absl::Time,
                clients::Done<node::v1::DescribeResponse> done) override {
    std::move(done)(node::v1::DescribeResponse());
  }
};

TEST(NodeRegistry, ANodeThatMovesGetsANewClientAndOneThatIsNamedStaysWhereItIs) {
  std::vector<std::string> made;
  NodePool pool(
      [&made](const std::string& address,
              const std::string& peer) -> absl::StatusOr<std::unique_ptr<clients::NodeClient>> {
        made.push_back(absl::StrCat(address, " ", peer));
        return std::make_unique<NullClient>();
      },
      {.look = absl::ZeroDuration()});
  NodeRegistry registry({{"fixed", "f:1"}}, {}, pool, /*by_name=*/true);
  registry.SetRegistered({{"n1", "a:1"}, {"fixed", "evil:1"}});
  EXPECT_TRUE(registry.Live("n1").ok());
  EXPECT_TRUE(registry.Live("fixed").ok());
  EXPECT_THAT(registry.Live("n2"), StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_THAT(registry.LiveNodes(), ::testing::ElementsAre("fixed", "n1"));
  EXPECT_EQ(registry.size(), 2u);
  EXPECT_TRUE(registry.Registered("n1"));
  EXPECT_FALSE(registry.Registered("fixed"));
  registry.SetRegistered({{"n1", "b:1"}});
  EXPECT_TRUE(registry.Live("n1").ok());
  EXPECT_THAT(made, ::testing::ElementsAre("a:1 n1", "f:1 fixed", "b:1 n1"));
}

}  // namespace
}  // namespace galen::execution
