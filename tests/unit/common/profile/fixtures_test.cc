// Holds every trace, dump and answer of ../shared/fixtures against numbers that a short Python
// script worked out of the same files, apart from this code: unions of intervals by a sweep over
// all of their ends.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/profile/job.h"
#include "common/profile/picture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/common/profile/profile_testing.h"

namespace galen::profile {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Fixtures(const std::string& path) {
  return std::string(GALEN_SOURCE_DIR) + "/../shared/fixtures/" + path;
}

struct Expected {
  std::int64_t events;
  std::size_t steps;  // 0: no GPU
  bool marked;
  // Nanoseconds: wall, compute, exposed, memory, host, idle, communication, kernels.
  std::vector<std::int64_t> split;
  const char* family;  // the longest
};

const std::map<std::string, Expected>& Table() {
  static const auto* const table = new std::map<std::string, Expected>{
      {"compare-base.json",
       {33, 2, true, {222447000, 428000, 0, 1254000, 24000, 220741000, 0, 1682000}, "memory_copy"}},
      {"compare-test.json",
       {34,
        2,
        true,
        {222447000, 428000, 0, 1254000, 553000, 220212000, 0, 1682000},
        "memory_copy"}},
      {"cuda-event-sync-multistream.json",
       {149, 1, false, {19506000, 369000, 0, 3000, 607000, 18527000, 0, 372000}, "gemm"}},
      {"cupti-profiler.json.gz", {4222, 0, false, {}, ""}},
      {"distributed-sampled-rank0.json.gz",
       {4855,
        2,
        true,
        {1230240000, 210320000, 336983000, 353000, 235383000, 447201000, 396199000, 607844000},
        "collectives"}},
      {"distributed-sampled-rank1.json.gz",
       {4720,
        2,
        true,
        {1238543000, 271973000, 303523000, 4554000, 259359000, 399134000, 379053000, 667530000},
        "collectives"}},
      {"inference-rank1.json",
       {54, 1, false, {1629000, 30000, 0, 0, 1434000, 165000, 0, 30000}, "gemm"}},
      {"mi250-minitoy-rocm62.json",
       {220, 2, true, {9337364, 110881, 0, 38161, 8432762, 755560, 0, 149042}, "memory_copy"}},
      {"simple-add-et.json",
       {111, 1, false, {108919000, 16000, 0, 0, 95805000, 13098000, 0, 16000}, "elementwise"}},
      {"simple-add.json",
       {1348,
        1,
        false,
        {16025575000, 10670000, 0, 39088000, 15963892000, 11925000, 0, 49816000},
        "memory_copy"}},
      {"triton-example.json",
       {71, 1, true, {13336315805, 1760, 0, 0, 1403641, 13334910404, 0, 1760}, "inductor"}},
  };
  return *table;
}

TEST(Fixtures, EveryTraceIsSplitAsCountedApart) {
  if (!fs::exists(Fixtures("pytorch-trace"))) GTEST_SKIP() << "../shared/fixtures is not here";
  std::set<std::string> there;
  for (const auto& entry : fs::directory_iterator(Fixtures("pytorch-trace"))) {
    there.insert(entry.path().filename().string());
  }
  std::cout << absl::StrFormat("%-36s %7s %10s %8s %8s %8s %8s %8s  %s\n", "trace", "events",
                               "wall ms", "compute", "exposed", "memory", "host", "idle",
                               "longest family");
  for (const std::string& file : there) {
    const auto expected = Table().find(file);
    ASSERT_NE(expected, Table().end()) << file << ": no line speaks of it";
    const auto job = ReadJob({Fixtures("pytorch-trace/" + file)}, Shipped());
    ASSERT_TRUE(job.ok()) << file << ": " << job.status();
    const TraceReport& trace = job->traces.at(0);
    EXPECT_EQ(trace.events, expected->second.events) << file;
    if (expected->second.steps == 0) {
      EXPECT_TRUE(trace.devices.empty()) << file;
      EXPECT_THAT(trace.remarks, ElementsAre(HasSubstr("no operation of a GPU"))) << file;
      std::cout << absl::StrFormat("%-36s %7d  no operation of a GPU\n", file, trace.events);
      continue;
    }
    ASSERT_EQ(trace.devices.size(), 1u) << file;
    const DeviceReport& device = trace.devices[0];
    const Split& s = device.total;
    EXPECT_THAT((std::vector<std::int64_t>{s.wall, s.compute, s.exposed, s.memory, s.host, s.idle,
                                           s.communication, s.kernels}),
                ::testing::ElementsAreArray(expected->second.split))
        << file;
    EXPECT_EQ(device.steps.size(), expected->second.steps) << file;
    EXPECT_EQ(device.marked, expected->second.marked) << file;
    const std::string& family = Shipped().all()[device.families.at(0).family].name;
    EXPECT_EQ(family, expected->second.family) << file;
    const auto share = [&](std::int64_t part) {
      return 100.0 * static_cast<double>(part) / static_cast<double>(s.wall);
    };
    std::cout << absl::StrFormat("%-36s %7d %10.3f %7.2f%% %7.2f%% %7.2f%% %7.2f%% %7.2f%%  %s\n",
                                 file, trace.events, static_cast<double>(s.wall) * 1e-6,
                                 share(s.compute), share(s.exposed), share(s.memory), share(s.host),
                                 share(s.idle), family);
    EXPECT_NE(Picture(*job), "") << file;
  }
  EXPECT_EQ(there.size(), Table().size());
}

// Both are samples of one run of 128 ranks: parts are missing, so that collectives cannot be
// matched.
TEST(Fixtures, TwoRanksOfOneRunAreCompared) {
  if (!fs::exists(Fixtures("pytorch-trace"))) GTEST_SKIP() << "../shared/fixtures is not here";
  const auto job = ReadJob({Fixtures("pytorch-trace/distributed-sampled-rank0.json.gz"),
                            Fixtures("pytorch-trace/distributed-sampled-rank1.json.gz")},
                           Shipped());
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(job->ranks.slowest.has_value());
  EXPECT_EQ(job->ranks.ranks[*job->ranks.slowest].who, "rank 1");
  EXPECT_EQ(job->ranks.lateness, Lateness::kComputes);
  EXPECT_FALSE(job->ranks.certain);
  EXPECT_NEAR(job->ranks.ahead, 271973.0 / 210320 - 1, 1e-4);
  EXPECT_EQ(job->ranks.matched, 0u);
}

TEST(Fixtures, EveryDumpAndAnswerIsReadAndSaid) {
  if (!fs::exists(Fixtures("pytorch-flight-recorder"))) {
    GTEST_SKIP() << "../shared/fixtures is not here";
  }
  const auto job = ReadJob({Fixtures("pytorch-flight-recorder"), Fixtures("nccl-ras")}, Shipped());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(job->troubles, ::testing::IsEmpty());
  ASSERT_EQ(job->hangs.size(), 3u);
  const std::map<std::string, std::set<int>> missing = {
      {"gpu_error_2nd", {9, 14}}, {"lock_gil_1st", {9, 14}}, {"lock_gil_2nd", {10, 15}}};
  for (const Hang& hang : job->hangs) {
    const std::string name = fs::path(hang.directory).filename().string();
    EXPECT_EQ(hang.ranks.size(), 16u) << name;
    EXPECT_EQ(hang.verdict.missing, missing.at(name)) << name;
    EXPECT_THAT(hang.verdict.without_dump, ::testing::IsEmpty()) << name;
    std::cout << name << ": " << absl::StrJoin(hang.verdict.reasons, "; ") << "\n";
  }
  EXPECT_EQ(job->answers.size(), 7u);
  for (const RasAnswer& answer : job->answers) {
    std::cout << answer.file << ": " << absl::StrJoin(answer.report.Sentences(), "; ") << "\n";
  }
}

TEST(Job, WhatIsKeptOfAllTracesHasALimit) {
  const std::string root = ::testing::TempDir() + "galen-profile-limit";
  fs::create_directories(root);
  std::vector<std::string> paths;
  for (int rank = 0; rank < 3; ++rank) {
    paths.push_back(absl::StrCat(root, "/rank", rank, ".json"));
    std::ofstream(paths.back()) << TraceText(
        {StepMark(1, 0, 100), Kernel("ncclDevKernel_AllReduce", 0, 9, 10, 40)});
  }
  JobOptions options;
  options.met = 2;
  options.drawn = 1;
  const auto job = ReadJob(paths, Shipped(), options);
  fs::remove_all(root);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->traces[1].devices[0].met.size(), 1u);
  EXPECT_THAT(job->traces[2].devices[0].met, ::testing::IsEmpty());
  EXPECT_THAT(job->traces[2].remarks, ElementsAre(HasSubstr("are not compared")));
  EXPECT_EQ(job->ranks.matched, 0u);
  EXPECT_EQ(job->traces[0].devices[0].drawn.streams.size(), 1u);
  EXPECT_THAT(job->traces[1].devices[0].drawn.streams, ::testing::IsEmpty());
  EXPECT_THAT(Picture(*job), HasSubstr("ProfilerStep#1"));
}

TEST(Job, WhatIsNotThereOrNoTraceIsNamed) {
  EXPECT_EQ(ReadJob({"/nowhere"}, Shipped()).status().code(), absl::StatusCode::kNotFound);
  const auto read = ReadJob({std::string(GALEN_SOURCE_DIR) + "/README.md"}, Shipped());
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("is not a trace"));
}

}  // namespace
}  // namespace galen::profile
