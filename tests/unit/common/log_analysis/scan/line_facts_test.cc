#include "common/log_analysis/scan/line_facts.h"

#include <gtest/gtest.h>

namespace galen::log_scan {
namespace {

TEST(FindRank, ReadsTheRankThatWroteTheLine) {
  const struct {
    const char* line;
    int rank;  // -1: none
  } kCases[] = {
      {"[rank3]:[E501 12:00:00.1 ProcessGroupNCCL.cpp:563] x", 3},
      {"[Rank 12] Watchdog caught collective operation timeout", 12},
      {"  rank      : 7 (local_rank: 3)", 7},
      {"host-1 rank: 3 lost", 3},
      {"rank=5 step=1", 5},
      {"Rank 4: out of memory", 4},
      {"[rank1]: rank: 2 did not answer", 1},
      {"local_rank: 3", -1},
      {"connect to rank 3 failed", -1},
      {"node-1:71:75 [6] NCCL INFO x", -1},
      {"rank 123456789", -1},
      {"frank: 3", -1},
      {"", -1},
  };
  for (const auto& c : kCases) EXPECT_EQ(FindRank(c.line).value_or(-1), c.rank) << c.line;
}

TEST(FindHost, ReadsTheHostThatWroteTheLine) {
  const struct {
    const char* line;
    const char* host;
  } kCases[] = {
      {"node-1:71:75 [0] NCCL WARN x", "node-1"},
      {"[1,3]<stdout>: n7:1:2 [3] NCCL INFO x", "n7"},
      {"May  1 12:00:00 gpu-07 kernel: x", "gpu-07"},
      {"2024-05-01T12:00:00+0800 a800-77 kernel: x", "a800-77"},
      {"May 11 12:00:00 gpu-07 slurmstepd[77]: x", "gpu-07"},
      {"vm-07-05: Performance Mode: True", "vm-07-05"},
      {"no host here", ""},
      {"", ""},
  };
  for (const auto& c : kCases) EXPECT_EQ(FindHost(c.line), c.host) << c.line;
}

}  // namespace
}  // namespace galen::log_scan
