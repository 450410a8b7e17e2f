#include "services/cli/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace galen::cli {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::HasSubstr;

TEST(SettingsTest, ASettingIsOfTheCheckBeforeItsLastDot) {
  const auto parsed = ParseSettings({"rdma.pair.seconds=2", "rdma.pair.size=a=b", "gpu.ecc.x="});
  ASSERT_THAT(parsed, IsOk());
  ASSERT_EQ(parsed->size(), 2U);
  EXPECT_EQ((*parsed)[0].check(), "gpu.ecc");
  EXPECT_EQ((*parsed)[0].values().at("x"), "");
  EXPECT_EQ((*parsed)[1].check(), "rdma.pair");
  EXPECT_EQ((*parsed)[1].values().at("seconds"), "2");
  EXPECT_EQ((*parsed)[1].values().at("size"), "a=b");
}

TEST(SettingsTest, WhatIsNoSettingIsRefusedByName) {
  for (const char* const wrong : {"seconds=2", "rdma.pair.seconds", ".x=1", "=1", ""}) {
    EXPECT_THAT(ParseSettings({wrong}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("CHECK.NAME=VALUE")))
        << wrong;
  }
}

}  // namespace
}  // namespace galen::cli
