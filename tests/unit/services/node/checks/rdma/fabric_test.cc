#include "services/node/checks/rdma/fabric.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/services/node/checks/real_knowledge.h"

namespace galen::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RdmaFabric, SoundFabricsHaveNoNarrowLink) {
  GALEN_NEED_FIXTURES();
  for (const char* name : {"azure-hdr-fabric.txt", "topograph-example.out"}) {
    const auto report = ParseIbnetdiscover(Fixture(std::string("ibnetdiscover/") + name));
    ASSERT_TRUE(report.ok()) << name << report.status();
    EXPECT_GT(report->switches, 1) << name;
    EXPECT_GT(report->links.size(), 10U) << name;
    EXPECT_THAT(NarrowLinks(*report), IsEmpty()) << name;
  }
  const auto ports = ParseIbnetdiscover(Fixture("ibnetdiscover/osc-test3.out"));
  ASSERT_TRUE(ports.ok()) << ports.status();
}

TEST(RdmaFabric, AReportThatBreaksOffHasWhatItHas) {
  GALEN_NEED_FIXTURES();
  const auto report = ParseIbnetdiscover(Fixture("ibnetdiscover/topograph-example-bad.out"));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->adapters, 1);
  EXPECT_THAT(report->links, IsEmpty());
}

TEST(RdmaFabric, ALinkWithFewerLanesIsNamed) {
  const auto report = ParseIbnetdiscover(
      "Switch 3 \"S-1\" # \"a\"\n[1] \"H-1\"[1](1) # \"x\" lid 1 4xHDR\n"
      "[2] \"H-2\"[1](2) # \"x\" lid 2 1xHDR s=1\n[3] \"H-3\"[1](3) # \"x\" lid 3 4xHDR\n");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(NarrowLinks(*report), ElementsAre("S-1[2] 1xHDR"));
}

TEST(RdmaFabric, HostsOnSplitterCablesAreNotHeldAgainstTrunks) {
  const auto report = ParseIbnetdiscover(
      "Switch 5 \"S-1\" # \"a\"\n[1] \"H-1\"[1](1) # \"x\" lid 1 2xNDR\n"
      "[2] \"H-2\"[1](2) # \"x\" lid 2 2xNDR\n[3] \"S-2\"[1] # \"b\" lid 3 4xNDR\n"
      "[4] \"S-2\"[2] # \"b\" lid 3 4xNDR\n[5] \"S-2\"[3] # \"b\" lid 3 2xNDR\n");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(NarrowLinks(*report), ElementsAre("S-1[5] 2xNDR"));
  const auto ports = ParseIbnetdiscover(
      "SW 1 1 0x1 2x NDR - CA 2 1 0x2\nSW 1 2 0x1 4x NDR - SW 3 1 0x3\n"
      "SW 1 3 0x1 4x NDR - SW 3 2 0x3\n");
  ASSERT_TRUE(ports.ok()) << ports.status();
  EXPECT_THAT(NarrowLinks(*ports), IsEmpty());
}

TEST(RdmaFabric, ASwitchWithAFaultyFanIsFound) {
  GALEN_NEED_FIXTURES();
  const auto faults = [](const char* name) {
    const auto fields = ParseIbswinfo(Fixture(std::string("ibswinfo/") + name));
    EXPECT_TRUE(fields.ok()) << name << fields.status();
    return fields.ok() ? SwitchFaults(*fields) : std::vector<std::string>();
  };
  EXPECT_THAT(faults("test1.out"), ElementsAre("fan status ERROR"));
  EXPECT_THAT(faults("test2.out"), IsEmpty());
  EXPECT_THAT(faults("test1-missing.out"), IsEmpty());  // missing values are unknown
}

TEST(RdmaFabric, HostileTextIsRefused) {
  for (const std::string& text :
       {std::string(), std::string(1 << 20, '['), std::string("\0|", 2)}) {
    EXPECT_FALSE(ParseIbnetdiscover(text).ok());
    EXPECT_FALSE(ParseIbswinfo(text).ok());
  }
}

}  // namespace
}  // namespace galen::node
