// Claims about launchers' reports of the end of a process.
#include "common/log_analysis/triage/process_end.h"

#include "gtest/gtest.h"

namespace galen::triage {
namespace {

struct ExitCase {
  const char* line;
  int rank;  // -1: none
  int code;  // -999: none
  int signal;
};

TEST(ProcessEnd, LaunchersTellHowAProcessEnded) {
  for (const ExitCase& one : {
           ExitCase{"failed (exitcode: -11) local_rank: 3 (pid: 99) of binary: python", 3, -999,
                    11},
           ExitCase{"  exitcode  : 1 (pid: 1234)", -1, 1, 0},
           ExitCase{"srun: error: n1: task 7: Exited with exit code 137", 7, 137, 9},
           ExitCase{"srun: error: n1: task 2: Segmentation fault (core dumped)", 2, -999, 11},
           ExitCase{"train.sh: line 4:  4711 Killed                  python train.py", -1, -999, 9},
       }) {
    const auto exit = FindExit(one.line);
    ASSERT_TRUE(exit.has_value()) << one.line;
    EXPECT_EQ(exit->rank.value_or(-1), one.rank) << one.line;
    EXPECT_EQ(exit->exit_code.value_or(-999), one.code) << one.line;
    EXPECT_EQ(exit->signal.value_or(-1), one.signal) << one.line;
  }
  EXPECT_FALSE(FindExit("nothing ended here").has_value());
}

}  // namespace
}  // namespace galen::triage
