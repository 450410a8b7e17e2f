#include "services/node/truncation.h"

#include <gtest/gtest.h>

#include <string>

namespace galen::node {
namespace {

constexpr char kLinks[] =
    "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\n\t Link 0: 25 GB/s\n\t Link 1: 25 GB/s\n";

TEST(Truncated, ALineThatEndsIsWhole) {
  EXPECT_FALSE(IsTruncated(""));
  EXPECT_FALSE(IsTruncated("one\n"));
  EXPECT_FALSE(IsTruncated("{\"a\": [1]}"));
  EXPECT_FALSE(IsTruncated("<log></log>"));
  EXPECT_FALSE(IsTruncated(std::string("python\0train.py\0", 16)));
}

TEST(Truncated, ALastLineThatIsBuiltAndEndsAsAnEarlierOneIsWhole) {
  const std::string links = kLinks;
  EXPECT_FALSE(IsTruncated(links + "\t Link 2: 25 GB/s"));
  EXPECT_FALSE(IsTruncated(
      "00:05.0 SCSI storage controller [0100]: Red Hat, Inc. Virtio block [1af4:1042] (rev 01)\n"
      "00:06.0 Communication controller [0780]: Red Hat, Inc. Virtio socket [1af4:1053] (rev 01)"));
  EXPECT_FALSE(IsTruncated("layer: InfiniBand\r\nlayer: InfiniBand"));
  EXPECT_FALSE(IsTruncated("copy 90.50\nadd  89.09\ntriad 82.18"));
}

TEST(Truncated, ALastLineWithANumberForEachNameIsWhole) {
  EXPECT_FALSE(IsTruncated("Tcp: InSegs OutSegs InErrs\nTcp: 12 -1 0"));
  EXPECT_TRUE(IsTruncated("Tcp: InSegs OutSegs InErrs\nTcp: 12 -1"));
  EXPECT_TRUE(IsTruncated("Tcp: InSegs OutSegs\nUdp: 12 -1"));
  EXPECT_TRUE(IsTruncated("log: one two\nlog: 3 fo"));
}

TEST(Truncated, ALastLineThatEndsEarlierIsTruncated) {
  const std::string links = kLinks;
  for (const char* last :
       {"\t", "\t Link", "\t Link 2", "\t Link 2:", "\t Link 2: ", "\t Link 2: 25",
        "\t Link 2: 25 G", "\t Link 2: 25 GB", "\t Link 2: 25 GB/"}) {
    EXPECT_TRUE(IsTruncated(links + last)) << last;
  }
  EXPECT_TRUE(IsTruncated("layer: InfiniBand\nlayer: Infini"));
  EXPECT_TRUE(IsTruncated("LMC: 0\nRate: 4"));
  EXPECT_TRUE(IsTruncated("copy 90.50\nadd  89.09\ntriad 82.1"));
  EXPECT_TRUE(IsTruncated("Max processes 4096 4096 processes\nMax open files 1024 10"));
  EXPECT_TRUE(IsTruncated("one line"));
}

TEST(Truncated, AFileOfOneValueNeedsNoNewline) {
  EXPECT_FALSE(IsTruncatedFile("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE"));
  EXPECT_FALSE(IsTruncatedFile("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999"));
  EXPECT_TRUE(IsTruncatedFile("/proc/cmdline", "BOOT_IMAGE=/vmlinuz ro iomm"));
  EXPECT_FALSE(IsTruncatedFile("/proc/cmdline", "BOOT_IMAGE=/vmlinuz ro iommu=pt\n"));
  EXPECT_TRUE(IsTruncatedFile("/sys/fs/pstore/dmesg-erst-1", "Panic#1 Part1\n<4>[ 12.5"));
}

}  // namespace
}  // namespace galen::node
