#include "services/node/checks/gpu/known_versions.h"

#include <gtest/gtest.h>

namespace galen::node {
namespace {

const std::vector<BadDriver> kList = {
    {.vendor = "nvidia", .first = "525", .fixed = "525.105.17", .defect = "gsp"},
    {.vendor = "nvidia", .first = "555.10", .fixed = "", .defect = "leak"}};

TEST(KnownVersions, CompareByNumbers) {
  EXPECT_LT(CompareReleases("525.85.12", "525.105.17"), 0);
  EXPECT_GT(CompareReleases("525.105.17", "525"), 0);
  EXPECT_EQ(CompareReleases("550.54.14", "550.54.14"), 0);
  EXPECT_EQ(CompareReleases("0x00000083", "0x83"), 0);
  EXPECT_GT(CompareReleases("0x84", "0x83"), 0);
}

TEST(KnownVersions, AReleaseBeforeTheFixedOneHasTheDefect) {
  EXPECT_EQ(KnownDefects(kList, "nvidia", "525.60.13"), "gsp");
  EXPECT_EQ(KnownDefects(kList, "nvidia", "525.85.12"), "gsp");
  EXPECT_EQ(KnownDefects(kList, "nvidia", "525.105.17"), "none");
  EXPECT_EQ(KnownDefects(kList, "nvidia", "525.147.05"), "none");
}

TEST(KnownVersions, WithoutAFixTheRestOfTheBranchHasIt) {
  EXPECT_EQ(KnownDefects(kList, "nvidia", "555.58.02"), "leak");
  EXPECT_EQ(KnownDefects(kList, "nvidia", "555.9"), "none");
}

TEST(KnownVersions, NobodyVouchesForABranchThatTheListDoesNotKnow) {
  EXPECT_EQ(KnownDefects(kList, "nvidia", "550.54.14"), std::nullopt);
  EXPECT_EQ(KnownDefects(kList, "amd", "525.60.13"), std::nullopt);
  EXPECT_EQ(KnownDefects(kList, "nvidia", ""), std::nullopt);
}

}  // namespace
}  // namespace galen::node
