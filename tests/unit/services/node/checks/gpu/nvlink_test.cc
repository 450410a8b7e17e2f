#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "check_fixture.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kStatus[] = "nvidia-smi nvlink -s";

std::string Links(int index, absl::string_view product, int active, int inactive) {
  std::string text = absl::StrCat("GPU ", index, ": ", product, " (UUID: GPU-", index, ")\n");
  for (int i = 0; i < active; ++i) absl::StrAppend(&text, "\t Link ", i, ": 25 GB/s\n");
  for (int i = 0; i < inactive; ++i) {
    absl::StrAppend(&text, "\t Link ", active + i, ": <inactive>\n");
  }
  return text;
}

std::string AllInactive(int index, absl::string_view product) {
  return absl::StrCat("GPU ", index, ": ", product, " (UUID: GPU-", index,
                      ")\nNVML: Unable to retrieve Nvlink information as all links are inActive\n");
}

constexpr char kA100[] = "NVIDIA A100-SXM4-80GB";
constexpr char kPcie[] = "NVIDIA A100 80GB PCIe";

TEST(NvlinkStatus, AGpuWithoutAnyActiveLinkCountsAllOfThemInactive) {
  for (const std::string& bad : {Links(1, kA100, 0, 12), AllInactive(1, kA100)}) {
    FakeHost host;
    host.AddCommand(kStatus, Links(0, kA100, 12, 0) + bad + Links(2, kA100, 12, 0));
    const auto output = RunGpuCheck("gpu.nvlink_status", host);
    EXPECT_EQ(ValueOf(output, "links_inactive", "gpu:1"), "12");
    EXPECT_EQ(ValueOf(output, "links_expected", "gpu:1"), "12");
    EXPECT_EQ(ValueOf(output, "links_inactive", "gpu:0"), "0");
    EXPECT_EQ(MessageOf(output),
              "GPU 1: 12 of 12 NVLinks inactive; the other 2 GPUs: all 12 NVLinks active");
  }
}

TEST(NvlinkStatus, KnowsTheModelBetterThanItsSiblings) {
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::Hardware& model = *base.add_hardware();
  model.set_model("A100-SXM4-80GB");
  model.set_match("A100-SXM4-80GB");
  (*model.mutable_facts())["nvlinks"] = 12;
  FakeHost host;
  host.AddCommand(kStatus, Links(0, kA100, 8, 0) + Links(1, kA100, 8, 0));
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.nvlink_status", host, base), "links_inactive", "gpu:0"), "4");
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.nvlink_status", host), "links_inactive", "gpu:0"), "0");
}

TEST(NvlinkStatus, IsSkippedWhereThereIsNoNvlink) {
  FakeHost without;
  without.AddCommand(kStatus,
                     "GPU 0: NVIDIA L40S (UUID: GPU-0)\nDevice does not have or support Nvlink\n");
  EXPECT_THAT(RunGpuCheck("gpu.nvlink_status", without),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no GPU of this node")));
}

TEST(NvlinkStatus, ThatNoBridgeIsInstalledIsAFactAndNoFault) {
  FakeHost bare;
  bare.AddCommand(kStatus, AllInactive(0, kPcie) + AllInactive(1, kPcie));
  const auto output = RunGpuCheck("gpu.nvlink_status", bare);
  EXPECT_EQ(ValueOf(output, "bridge_installed", "gpu:0"), "false");
  EXPECT_EQ(ValueOf(output, "bridge_installed", "gpu:1"), "false");
  EXPECT_EQ(ValueOf(output, "links_inactive", "gpu:0"), "(none)");
  EXPECT_THAT(MessageOf(output), HasSubstr("no NVLink bridge"));
}

TEST(NvlinkStatus, ABoardWithABridgeIsOneHoweverItsNameIsWritten) {
  for (const char* board : {"NVIDIA A100-PCIE-40GB", "NVIDIA A30", "NVIDIA A40", "NVIDIA H100 NVL",
                            "NVIDIA A800 40GB Active"}) {
    FakeHost bare;
    bare.AddCommand(kStatus, Links(0, board, 0, 12) + Links(1, board, 0, 12));
    const auto output = RunGpuCheck("gpu.nvlink_status", bare, KnownModels());
    EXPECT_EQ(ValueOf(output, "bridge_installed", "gpu:0"), "false") << board;
    EXPECT_EQ(ValueOf(output, "links_inactive", "gpu:0"), "(none)") << board;
  }
  FakeHost rack;
  rack.AddCommand(kStatus,
                  Links(0, "NVIDIA GB200 NVL72", 0, 18) + Links(1, "NVIDIA GB200 NVL72", 0, 18));
  EXPECT_EQ(
      ValueOf(RunGpuCheck("gpu.nvlink_status", rack, KnownModels()), "links_inactive", "gpu:0"),
      "18");
}

TEST(NvlinkStatus, ALoneGpuMayHaveNothingToLinkTo) {
  for (const std::string& status : {Links(0, kA100, 0, 12), AllInactive(0, kA100)}) {
    FakeHost host;
    host.AddCommand(kStatus, status);
    EXPECT_THAT(RunGpuCheck("gpu.nvlink_status", host, KnownModels()),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         "no NVLink of the only GPU is active, and nothing tells whether it is "
                         "linked to any"));
  }
  // With one active link it is connected, and with another GPU present, it should be.
  FakeHost one;
  one.AddCommand(kStatus, Links(0, kA100, 1, 11));
  EXPECT_EQ(
      ValueOf(RunGpuCheck("gpu.nvlink_status", one, KnownModels()), "links_inactive", "gpu:0"),
      "11");
  FakeHost two;
  two.AddCommand(kStatus, Links(0, kA100, 0, 12) + AllInactive(1, kA100));
  const auto output = RunGpuCheck("gpu.nvlink_status", two, KnownModels());
  EXPECT_EQ(ValueOf(output, "links_inactive", "gpu:0"), "12");
  EXPECT_EQ(ValueOf(output, "links_inactive", "gpu:1"), "12");
  // A board that can have a bridge shows that none is installed.
  FakeHost bridge;
  bridge.AddCommand(kStatus, AllInactive(0, kPcie));
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.nvlink_status", bridge), "bridge_installed", "gpu:0"),
            "false");
}

TEST(NvlinkStatus, ABridgeThatIsSeatedBadlyShowsInPartOfTheLinks) {
  FakeHost host;
  host.AddCommand(kStatus, Links(0, kPcie, 8, 4) + Links(1, kPcie, 8, 4) + AllInactive(2, kPcie));
  const auto output = RunGpuCheck("gpu.nvlink_status", host);
  EXPECT_EQ(ValueOf(output, "links_inactive", "gpu:0"), "4");
  EXPECT_EQ(ValueOf(output, "bridge_installed", "gpu:0"), "true");
  EXPECT_EQ(ValueOf(output, "links_inactive", "gpu:2"), "unknown");
}

TEST(NvlinkErrors, ACounterAtZeroHasNotGrownAndAnyOtherIsUnknown) {
  FakeHost host;
  host.AddCommand("nvidia-smi nvlink -e",
                  "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-0)\n\t Link 0: Replay Errors: 0\n"
                  "\t Link 0: CRC Errors: 0\n\t Link 1: Replay Errors: 7\n");
  const auto output = RunGpuCheck("gpu.nvlink_errors", host);
  EXPECT_EQ(ValueOf(output, "growing", "gpu:0/link:0"), "false");
  EXPECT_EQ(ValueOf(output, "growing", "gpu:0/link:1"), "unknown");
  EXPECT_EQ(ValueOf(output, "replay_errors", "gpu:0/link:1"), "7");
  EXPECT_EQ(ValueOf(output, "crc_errors", "gpu:0/link:1"), "unknown");
  EXPECT_EQ(MessageOf(output), "NVLink 1 of GPU 0: 7 replays; the other NVLink: no error counted");
}

TEST(NvlinkErrors, WhatNobodyCountsIsNotFreeOfErrors) {
  constexpr char kHeading[] = "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-0)\n";
  FakeHost none;
  none.AddCommand(
      "nvidia-smi nvlink -e",
      absl::StrCat(kHeading, "\t Link 0: Replay Errors: N/A\n\t Link 0: CRC Errors: N/A\n"));
  EXPECT_THAT(RunGpuCheck("gpu.nvlink_errors", none),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no error counter")));
  FakeHost one;
  one.AddCommand(
      "nvidia-smi nvlink -e",
      absl::StrCat(kHeading, "\t Link 0: Replay Errors: 0\n\t Link 1: CRC Errors: N/A\n"));
  const auto output = RunGpuCheck("gpu.nvlink_errors", one);
  EXPECT_EQ(ValueOf(output, "growing", "gpu:0/link:0"), "false");
  EXPECT_EQ(ValueOf(output, "growing", "gpu:0/link:1"), "unknown");
  EXPECT_EQ(MessageOf(output),
            "NVLink 1 of GPU 0: no counter can be read; the other NVLink: no error counted");
}

TEST(C2c, CountsLinksThatAreDown) {
  FakeHost host;
  host.AddCommand("nvidia-smi c2c -s",
                  "GPU 0: NVIDIA GH200 480GB (UUID: GPU-0)\n\t C2C Link 0: 44.712 GB/s\n"
                  "\t C2C Link 1: <inactive>\n");
  EXPECT_EQ(ValueOf(RunGpuCheck("gpu.c2c", host), "links_down", "gpu:0"), "1");
}

}  // namespace
}  // namespace galen::node
