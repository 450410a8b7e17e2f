// Compares XPlane, the format of JAX's profiler, with the output of xprof's trace viewer for the
// same trace.
#include "common/profile/xplane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "common/profile/job.h"
#include "common/profile/read_trace.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/profile/profile_testing.h"

namespace galen::profile {
namespace xplane_test {

namespace fs = std::filesystem;

using galen::testing::IsOk;
using ::testing::SizeIs;

// A message's field of bytes, and one of a number.
std::string Message(int field, const std::string& bytes) {
  std::string wire(1, static_cast<char>(field << 3 | 2));
  for (std::size_t size = bytes.size();; size >>= 7) {
    wire += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
    if (size <= 0x7f) break;
  }
  return wire + bytes;
}
std::string Number(int field, std::uint64_t value) {
  std::string wire(1, static_cast<char>(field << 3));
  for (;; value >>= 7) {
    wire += static_cast<char>((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    if (value <= 0x7f) return wire;
  }
}
std::string Named(std::uint64_t id, const std::string& name) {
  return Number(1, id) + Message(2, Number(1, id) + Message(2, name));
}

// Two runs of jit_step on one stream, a copy of no program in the first and between them.
std::string Made() {
  const auto event = [](std::uint64_t id, std::uint64_t begin_us, std::uint64_t us,
                        std::uint64_t group) {
    const std::string stat = group == 0 ? ""
                                        : Message(4, Number(1, 1) + Number(7, 2)) +
                                              Message(4, Number(1, 3) + Number(4, group));
    return Message(
        4, Number(1, id) + Number(2, begin_us * 1'000'000) + Number(3, us * 1'000'000) + stat);
  };
  const std::string line = Number(1, 1) + Message(2, "Stream #7(Kernel)") + Number(3, 5000) +
                           event(1, 0, 5, 7) + event(2, 6, 2, 0) + event(1, 12, 10, 7) +
                           event(2, 30, 5, 0) + event(1, 40, 20, 8);
  return Message(1, Message(2, "/device:GPU:0") + Message(3, line) +
                        Message(4, Named(1, "gemm_kernel")) + Message(4, Named(2, "MemcpyD2D")) +
                        Message(5, Named(1, "hlo_module")) + Message(5, Named(2, "jit_step")) +
                        Message(5, Named(3, "group_id")));
}

absl::StatusOr<Trace> Read(const std::string& bytes) {
  auto source = XplaneAsTrace(bytes);
  if (!source.ok()) return source.status();
  return ReadTrace(*std::move(source), Shipped());
}

TEST(XplaneTest, StreamsAndRunsOfProgramsAreRead) {
  ASSERT_TRUE(LooksLikeXplane(Made()));
  const auto trace = Read(Made());
  ASSERT_THAT(trace, IsOk());
  ASSERT_THAT(trace->devices, SizeIs(1));
  const Device& gpu = trace->devices[0];
  EXPECT_EQ(gpu.name, "GPU 0");
  ASSERT_THAT(gpu.streams, SizeIs(1));
  ASSERT_THAT(gpu.streams[0].spans, SizeIs(5));
  EXPECT_EQ(gpu.streams[0].spans[2].begin, 17'000);
  EXPECT_EQ(gpu.streams[0].spans[2].end, 27'000);
  ASSERT_THAT(gpu.modules, SizeIs(2));
  EXPECT_EQ(gpu.modules[0].when.begin, 5'000);
  EXPECT_EQ(gpu.modules[0].when.end, 27'000);
  EXPECT_EQ(gpu.modules[1].when.begin, 45'000);
}

TEST(XplaneTest, WhatIsDamagedEndsAndHarmsNobody) {
  const std::string whole = Made();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::string cut = whole.substr(0, size);
    const auto trace = Read(cut);
    if (trace.ok()) {
      EXPECT_LE(trace->devices.size(), 1U);
    }
    for (const char byte : {'\xff', '\x00', '\x7a'}) {
      std::string changed = whole;
      if (size < changed.size()) changed[size] = byte;
      static_cast<void>(Read(changed));
    }
  }
}

TEST(XplaneTest, ARealTraceIsReadAsTheViewersFileIs) {
  const fs::path folder = fs::path(GALEN_SOURCE_DIR) / "../shared/profiles";
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not here";
  const auto xplane = ReadJob({(folder / "jax-conv-mi300.xplane.pb").string()}, Shipped());
  const auto viewer = ReadJob({(folder / "jax-conv-mi300.trace.json").string()}, Shipped());
  ASSERT_THAT(xplane, IsOk());
  ASSERT_THAT(viewer, IsOk());
  ASSERT_THAT(xplane->traces, SizeIs(1)) << ::testing::PrintToString(xplane->troubles);
  ASSERT_THAT(viewer->traces, SizeIs(1));
  const TraceReport& a = xplane->traces[0];
  const TraceReport& b = viewer->traces[0];
  // Only one of the two files in the folder is read.
  const auto both = FilesOf({folder.string()});
  ASSERT_THAT(both, IsOk());
  int of_jax = 0;
  for (const std::string& file : *both)
    of_jax += file.find("jax-conv") == std::string::npos ? 0 : 1;
  EXPECT_EQ(of_jax, 1);
  ASSERT_EQ(a.devices.size(), b.devices.size());
  for (std::size_t i = 0; i < a.devices.size(); ++i) {
    EXPECT_EQ(a.devices[i].name, b.devices[i].name);
    EXPECT_EQ(a.devices[i].steps.size(), b.devices[i].steps.size()) << a.devices[i].name;
    // A step is known on every GPU that ran a program.
    EXPECT_GE(b.devices[i].steps.size(), 1U) << a.devices[i].name;
    EXPECT_NEAR(static_cast<double>(a.devices[i].total.compute),
                static_cast<double>(b.devices[i].total.compute), 1000);
  }
}

}  // namespace xplane_test
}  // namespace galen::profile
