#include "services/node/cut.h"

#include <gtest/gtest.h>

#include <string>

namespace galen::node {
namespace {

constexpr char kLinks[] =
    "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\n\t Link 0: 25 GB/s\n\t Link 1: 25 GB/s\n";

TEST(Cut, ALineThatEndsIsWhole) {
  EXPECT_FALSE(IsCut(""));
  EXPECT_FALSE(IsCut("one\n"));
  EXPECT_FALSE(IsCut("{\"a\": [1]}"));
  EXPECT_FALSE(IsCut("<log></log>"));
  EXPECT_FALSE(IsCut(std::string("python\0train.py\0", 16)));
}

TEST(Cut, ALastLineThatIsBuiltAndEndsAsAnEarlierOneIsWhole) {
  const std::string links = kLinks;
  EXPECT_FALSE(IsCut(links + "\t Link 2: 25 GB/s"));
  EXPECT_FALSE(IsCut(
      "00:05.0 SCSI storage controller [0100]: Red Hat, Inc. Virtio block [1af4:1042] (rev 01)\n"
      "00:06.0 Communication controller [0780]: Red Hat, Inc. Virtio socket [1af4:1053] (rev 01)"));
  EXPECT_FALSE(IsCut("layer: InfiniBand\r\nlayer: InfiniBand"));
  EXPECT_FALSE(IsCut("copy 90.50\nadd  89.09\ntriad 82.18"));
}

TEST(Cut, ALastLineWithANumberForEachNameIsWhole) {
  EXPECT_FALSE(IsCut("Tcp: InSegs OutSegs InErrs\nTcp: 12 -1 0"));
  EXPECT_TRUE(IsCut("Tcp: InSegs OutSegs InErrs\nTcp: 12 -1"));
  EXPECT_TRUE(IsCut("Tcp: InSegs OutSegs\nUdp: 12 -1"));
  EXPECT_TRUE(IsCut("log: one two\nlog: 3 fo"));
}

TEST(Cut, ALastLineThatEndsEarlierIsCut) {
  const std::string links = kLinks;
  for (const char* last :
       {"\t", "\t Link", "\t Link 2", "\t Link 2:", "\t Link 2: ", "\t Link 2: 25",
        "\t Link 2: 25 G", "\t Link 2: 25 GB", "\t Link 2: 25 GB/"}) {
    EXPECT_TRUE(IsCut(links + last)) << last;
  }
  EXPECT_TRUE(IsCut("layer: InfiniBand\nlayer: Infini"));
  EXPECT_TRUE(IsCut("LMC: 0\nRate: 4"));
  EXPECT_TRUE(IsCut("copy 90.50\nadd  89.09\ntriad 82.1"));
  EXPECT_TRUE(IsCut("Max processes 4096 4096 processes\nMax open files 1024 10"));
  EXPECT_TRUE(IsCut("one line"));
}

TEST(Cut, AFileOfOneValueNeedsNoNewline) {
  EXPECT_FALSE(IsCutFile("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE"));
  EXPECT_FALSE(IsCutFile("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999"));
  EXPECT_TRUE(IsCutFile("/proc/cmdline", "BOOT_IMAGE=/vmlinuz ro iomm"));
  EXPECT_FALSE(IsCutFile("/proc/cmdline", "BOOT_IMAGE=/vmlinuz ro iommu=pt\n"));
  EXPECT_TRUE(IsCutFile("/sys/fs/pstore/dmesg-erst-1", "Panic#1 Part1\n<4>[ 12.5"));
}

}  // namespace
}  // namespace galen::node
