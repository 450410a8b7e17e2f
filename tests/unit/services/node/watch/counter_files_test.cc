#include "services/node/watch/counter_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "temp_root.h"

namespace galen::node {
namespace {

using ::testing::ElementsAre;

std::vector<CounterSpec> Specs(absl::string_view text) {
  auto specs = ParseWatchList(text, "test");
  EXPECT_TRUE(specs.ok()) << specs.status();
  return *std::move(specs);
}

std::vector<std::uint64_t> Read(CounterFiles& files) {
  std::vector<std::uint64_t> values(files.series().size());
  files.Read(absl::MakeSpan(values));
  return values;
}

TEST(CounterFiles, AFileOfOneNumberIsRead) {
  const TempRoot root;
  root.Write("/sys/n", "42\n");
  CounterFiles files(Specs("/sys/n value"), root.path());
  files.Discover();
  EXPECT_THAT(Read(files), ElementsAre(42u));
  root.Write("/sys/n", "43\n");
  EXPECT_THAT(Read(files), ElementsAre(43u));
}

TEST(CounterFiles, RowsAreFoundByTheirFirstWord) {
  const TempRoot root;
  root.Write("/proc/vmstat", "pgfault 7\noom_kill 1\npgfault_other 9\n");
  CounterFiles files(Specs("/proc/vmstat oom_kill\n/proc/vmstat pgfault\n"), root.path());
  files.Discover();
  EXPECT_THAT(Read(files), ElementsAre(1u, 7u));
}

TEST(CounterFiles, LinesBehindThoseOfManyProcessorsAreRead) {
  const TempRoot root;
  std::string stat;
  for (int i = 0; i < 900; ++i) {
    stat += "cpu" + std::to_string(i) + " 123456789 12345 1234567 1234567890 0 0 0 0 0 0\n";
  }
  root.Write("/proc/stat", stat + "ctxt 42\nprocs_blocked 3\n");
  CounterFiles files(Specs("/proc/stat ctxt\n/proc/stat procs_blocked"), root.path());
  files.Discover();
  EXPECT_THAT(Read(files), ElementsAre(42u, 3u));
}

TEST(CounterFiles, PressureIsReadBehindItsEqualSign) {
  const TempRoot root;
  root.Write("/proc/p",
             "some avg10=0.50 avg60=1.00 avg300=2.00 total=123\nfull avg10=0.00 avg60=0.00 "
             "avg300=0.00 total=45\n");
  CounterFiles files(Specs("/proc/p some:4\n/proc/p full:4\n"), root.path());
  files.Discover();
  EXPECT_THAT(Read(files), ElementsAre(123u, 45u));
}

TEST(CounterFiles, PairsAreReadBelowTheirNames) {
  const TempRoot root;
  root.Write("/proc/s", "Ip: A B\nIp: 1 2\nTcp: A Retrans C\nTcp: 5 6 7\n");
  CounterFiles files(Specs("/proc/s Tcp/Retrans\n/proc/s Ip/B\n/proc/s Tcp/Missing\n"),
                     root.path());
  files.Discover();
  EXPECT_THAT(Read(files), ElementsAre(6u, 2u));
}

TEST(CounterFiles, EveryRowOfATableIsACounterNamedByItsWord) {
  const TempRoot root;
  root.Write("/proc/d", " 259 0 nvme0n1 10 0 20\n 259 1 nvme1n1 30 0 40\n");
  CounterFiles files(Specs("/proc/d *:5@3"), root.path());
  files.Discover();
  EXPECT_THAT(Read(files), ElementsAre(20u, 40u));
  EXPECT_EQ(files.series()[1].row, "nvme1n1");
}

TEST(CounterFiles, HeadLinesOfATableAreNoRows) {
  const TempRoot root;
  root.Write("/proc/net/dev",
             "Inter-|   Receive |  Transmit\n face |bytes packets|bytes packets\n"
             "    lo: 11 12 13\n  eth0: 21 22 23\n");
  CounterFiles files(Specs("/proc/net/dev *:2"), root.path());
  files.Discover();
  EXPECT_THAT(Read(files), ElementsAre(12u, 22u));
  EXPECT_EQ(files.series()[1].row, "eth0");
}

TEST(CounterFiles, ARowThatIsGoneIsUnknownAndTheRestKeepTheirPlaces) {
  const TempRoot root;
  root.Write("/proc/t", "a: 1\nb: 2\nc: 3\n");
  CounterFiles files(Specs("/proc/t *:1"), root.path());
  files.Discover();
  root.Write("/proc/t", "a: 4\nc: 5\n");
  std::vector<std::uint64_t> values(3);
  EXPECT_FALSE(files.Read(absl::MakeSpan(values)));
  files.Discover();
  EXPECT_THAT(Read(files), ElementsAre(4u, kUnknownCount, 5u));
}

TEST(CounterFiles, ADeviceThatComesLaterComesBehind) {
  const TempRoot root;
  root.Write("/sys/b/n", "1\n");
  CounterFiles files(Specs("/sys/*/n value event c f count dev:{1} 1 1s"), root.path());
  files.Discover();
  root.Write("/sys/a/n", "2\n");
  files.Discover();
  EXPECT_THAT(Read(files), ElementsAre(1u, 2u));
  EXPECT_EQ(files.series()[1].device, "dev:a");
}

TEST(CounterFiles, AFileThatIsGoneOrNoNumberIsUnknown) {
  const TempRoot root;
  root.Write("/sys/n", "5\n");
  root.Write("/sys/bad", "none\n");
  root.Write("/sys/huge", "99999999999999999999999999\n");
  CounterFiles files(Specs("/sys/n value\n/sys/bad value\n/sys/huge value\n"), root.path());
  files.Discover();
  EXPECT_EQ(files.series().size(), 1u);
  root.Write("/sys/n", "");
  EXPECT_THAT(Read(files), ElementsAre(kUnknownCount));
}

TEST(CounterFiles, MoreFilesThanAllowedAreLeftOutAndCounted) {
  const TempRoot root;
  for (const char* name : {"/sys/a", "/sys/b", "/sys/c"}) root.Write(name, "1\n");
  CounterFiles files(Specs("/sys/* value"), root.path(), /*max_files=*/2);
  files.Discover();
  EXPECT_EQ(files.file_count(), 2u);
  EXPECT_EQ(files.left_out(), 1u);
}

TEST(CounterFiles, GarbageIsReadWithoutHarm) {
  const TempRoot root;
  std::string garbage;
  for (int i = 0; i < 100000; ++i) garbage += static_cast<char>((i * 7919) % 256);
  root.Write("/proc/g", garbage);
  CounterFiles files(Specs("/proc/g *:1\n/proc/g *:2@3\n/proc/g a/b\n"), root.path());
  files.Discover();
  Read(files);
  root.Write("/proc/g", std::string(100000, ':'));
  Read(files);
}

TEST(StarsOf, TellsWhatEachStarStandsFor) {
  EXPECT_THAT(StarsOf("/sys/*/ports/*/x", "/sys/mlx5_0/ports/1/x"), ElementsAre("mlx5_0", "1"));
  EXPECT_THAT(StarsOf("/sys/mc/mc*/n", "/sys/mc/mc3/n"), ElementsAre("3"));
}

}  // namespace
}  // namespace galen::node
