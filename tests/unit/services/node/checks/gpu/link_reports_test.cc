#include "services/node/checks/gpu/link_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::node {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;
using ::testing::Pair;
using ::testing::SizeIs;

TEST(LinkStatus, TellsActiveLinksFromInactiveOnes) {
  const auto gpus = ParseLinkStatus(
      "GPU 3: NVIDIA A100-SXM4-80GB (UUID: GPU-33)\n"
      "\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n\t Link 2: 26.562 GB/s\n");
  ASSERT_THAT(gpus, SizeIs(1));
  EXPECT_EQ(gpus[0].index, 3);
  EXPECT_EQ(gpus[0].uuid, "GPU-33");
  EXPECT_THAT(gpus[0].links, ElementsAre(Pair(0, true), Pair(1, false), Pair(2, true)));
}

TEST(LinkStatus, KnowsTheSentencesThatStandForLinks) {
  const auto gpus = ParseLinkStatus(
      "GPU 0: NVIDIA L40S (UUID: GPU-0)\nDevice does not have or support Nvlink\n"
      "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n"
      "Nvlink queries are not supported for Devices in MIG mode\n"
      "GPU 2: NVIDIA A100 80GB PCIe (UUID: GPU-2)\n"
      "NVML: Unable to retrieve Nvlink information as all links are inActive\n");
  ASSERT_THAT(gpus, SizeIs(3));
  EXPECT_TRUE(gpus[0].not_supported);
  EXPECT_TRUE(gpus[1].not_supported);
  EXPECT_FALSE(gpus[2].not_supported);
  EXPECT_TRUE(gpus[2].all_inactive);
}

TEST(LinkStatus, ReadsChipToChipLinksToo) {
  const auto gpus = ParseLinkStatus(
      "GPU 0: NVIDIA GH200 480GB (UUID: GPU-0)\n\t C2C Link 0: 44.7 GB/s\n\t C2C Link 1: N/A\n");
  ASSERT_THAT(gpus, SizeIs(1));
  EXPECT_THAT(gpus[0].links, ElementsAre(Pair(0, true), Pair(1, false)));
}

TEST(LinkStatus, IgnoresLinesBeforeAnyGpuAndBoundsTheLinks) {
  EXPECT_THAT(ParseLinkStatus("Link 0: 25 GB/s\nnonsense\n"), SizeIs(0));
  std::string many = "GPU 0: X (UUID: GPU-0)\n";
  for (int i = 0; i < 5000; ++i) many += "Link " + std::to_string(i) + ": 25 GB/s\n";
  EXPECT_LE(ParseLinkStatus(many)[0].links.size(), 256u);
}

TEST(LinkErrors, ReadsBothSetsOfCounters) {
  const auto gpus = ParseLinkErrors(
      "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-0)\n"
      "\t Link 0: Replay Errors: 3\n\t Link 0: Recovery Errors: 2\n\t Link 0: CRC Errors: 17\n\n"
      "GPU 1: NVIDIA GB200 (UUID: GPU-1)\n"
      "\t Link 5: Tx packets: 99\n\t Link 5: Malformed packet Errors: 4\n"
      "\t Link 5: Total link recovery events: 6\n\t Link 5: Effective BER: 3e-13\n");
  ASSERT_THAT(gpus, SizeIs(2));
  const LinkErrors& old = gpus[0].links.at(0);
  EXPECT_THAT(old.replay, Optional(3));
  EXPECT_THAT(old.recovery, Optional(2));
  EXPECT_THAT(old.crc, Optional(17));
  EXPECT_EQ(old.effective_ber, std::nullopt);
  const LinkErrors& newer = gpus[1].links.at(5);
  EXPECT_THAT(newer.recovery, Optional(6));
  EXPECT_THAT(newer.effective_ber, Optional(3e-13));
  EXPECT_EQ(newer.crc, std::nullopt);
  EXPECT_EQ(newer.other, 1);
}

}  // namespace
}  // namespace galen::node
