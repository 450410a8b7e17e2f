#include "services/execution/tenant_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::execution {
namespace {

using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TenantNodes, ATenantHasTheNodesThatItsPatternsName) {
  const auto nodes = TenantNodes::Parse(
      "tenants:\n  acme: [trn-a01, 'trn-b*', 'n?-x']\n  operations: ['*']\n  none: []\n", "f");
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  const struct {
    const char* tenant;
    const char* node;
    bool has;
  } kCases[] = {
      {"acme", "trn-a01", true},    {"acme", "trn-a011", false}, {"acme", "trn-b", true},
      {"acme", "trn-b17.dc", true}, {"acme", "xtrn-b17", false}, {"acme", "n1-x", true},
      {"acme", "n12-x", false},     {"acme", "", false},         {"operations", "trn-c9", true},
      {"operations", "", true},     {"none", "trn-a01", false},  {"globex", "trn-a01", false},
      {"", "trn-a01", false},
  };
  for (const auto& expected : kCases) {
    EXPECT_EQ(nodes->Has(expected.tenant, expected.node), expected.has)
        << expected.tenant << " " << expected.node;
  }
}

TEST(TenantNodes, APatternOfManyStarsIsNoTrouble) {
  std::string stars = "a";
  for (int i = 0; i < 200; ++i) stars += "*a";
  const auto nodes = TenantNodes::Parse(absl::StrCat("tenants: {acme: ['", stars, "b']}"), "f");
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  EXPECT_FALSE(nodes->Has("acme", std::string(253, 'a')));
}

TEST(TenantNodes, WhatIsWrongIsNamedWithItsLine) {
  for (const char* text : {"", "acme: [n1]", "tenants: [acme]", "tenants:\n  acme: n1",
                           "tenants:\n  acme:\n    - [n1]", "tenants: {}\nmore: 1"}) {
    EXPECT_THAT(TenantNodes::Parse(text, "nodes.yaml").status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nodes.yaml:")))
        << text;
  }
}

class TenantNodesFileTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) { std::ofstream(path_) << text; }
  ~TenantNodesFileTest() override { std::remove(path_.c_str()); }
  const std::string path_ =
      absl::StrCat(::testing::TempDir(), "/tenant-nodes-",
                   ::testing::UnitTest::GetInstance()->current_test_info()->name(), ".yaml");
  galen::testing::FakeClock clock_;
  std::vector<std::string> told_;
};

TEST_F(TenantNodesFileTest, IsReadAnewWhenItChanges) {
  Write("tenants: {acme: [n1]}");
  auto file =
      TenantNodesFile::Open(path_, clock_, [&](const std::string& news) { told_.push_back(news); });
  ASSERT_TRUE(file.ok()) << file.status();
  Write("tenants: {acme: [n2]}");
  EXPECT_TRUE((*file)->Get()->Has("acme", "n1"));
  clock_.Advance(absl::Seconds(1));
  EXPECT_FALSE((*file)->Get()->Has("acme", "n1"));
  EXPECT_TRUE((*file)->Get()->Has("acme", "n2"));
  EXPECT_THAT(told_, ElementsAre(HasSubstr("reloaded")));
}

TEST_F(TenantNodesFileTest, WhatWasReadLastHoldsWhileTheFileIsWrong) {
  Write("tenants: {acme: [n1]}");
  auto file =
      TenantNodesFile::Open(path_, clock_, [&](const std::string& news) { told_.push_back(news); });
  ASSERT_TRUE(file.ok()) << file.status();
  Write("tenants: acme");
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(absl::Seconds(1));
    EXPECT_TRUE((*file)->Get()->Has("acme", "n1"));
  }
  // Once, not every second.
  EXPECT_THAT(told_, ElementsAre(HasSubstr("what was read last holds")));
}

TEST_F(TenantNodesFileTest, WithoutItNothingIsServed) {
  EXPECT_THAT(TenantNodesFile::Open(path_, clock_, [](const std::string&) {}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
}

}  // namespace
}  // namespace galen::execution
