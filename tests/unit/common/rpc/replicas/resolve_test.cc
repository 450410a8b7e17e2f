#include "common/rpc/replicas/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace galen::rpc {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

TEST(Endpoints, StandBetweenTheCommas) {
  const auto endpoints = EndpointsIn(" 10.0.0.7:50052, planning.galen:50052 ,[fd00::7]:1");
  ASSERT_THAT(endpoints, IsOk());
  ASSERT_EQ(endpoints->size(), 3u);
  EXPECT_EQ((*endpoints)[0].text, "10.0.0.7:50052");
  EXPECT_EQ((*endpoints)[0].name, "") << "is an address already";
  EXPECT_EQ((*endpoints)[1].text, "planning.galen:50052");
  EXPECT_EQ((*endpoints)[1].name, "planning.galen");
  EXPECT_EQ((*endpoints)[1].port, "50052");
  EXPECT_EQ((*endpoints)[2].name, "");
}

TEST(Endpoints, WhatOnlyGrpcUnderstandsIsLeftToIt) {
  for (const char* target : {"unix:/run/galen", "dns:///planning:50052", "planning", "planning:",
                             ":50052", "planning:http", "planning:123456", "::1", "fd00::7"}) {
    const auto endpoints = EndpointsIn(target);
    ASSERT_THAT(endpoints, IsOk());
    EXPECT_EQ((*endpoints)[0].text, target);
    EXPECT_EQ((*endpoints)[0].name, "") << target;
  }
}

TEST(Endpoints, OneThatIsMissingIsRefused) {
  for (const char* target : {"", ",", "a:1,", ",a:1", "a:1,,b:1", " "}) {
    EXPECT_THAT(EndpointsIn(target),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("address is missing")))
        << target;
  }
}

TEST(Resolve, GivesTheAddressesOfAName) {
  EXPECT_THAT(Resolve(EndpointsIn("localhost:7")->front()).value(), Contains("127.0.0.1:7"));
}

TEST(Resolve, SaysWhichNameHasNone) {
  // RFC 6761: no name under "invalid" exists.
  EXPECT_THAT(Resolve(EndpointsIn("planning.invalid:7")->front()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("planning.invalid:7")));
}

}  // namespace
}  // namespace galen::rpc
