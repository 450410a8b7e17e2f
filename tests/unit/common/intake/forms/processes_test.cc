#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms_testing.h"

namespace galen::intake::processes_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHeading[] = "PID PPID USER STAT WCHAN ELAPSED RSS %CPU COMMAND COMMAND\n";

TEST(ProcessList, ColumnsOfAuxAreFoundByTheirHeadings) {
  EXPECT_EQ(
      TextOf(
          "ps",
          "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"
          "root           1  0.0  0.0 167584 13116 ?        Ss   Feb01   0:09 /sbin/init splash\n"
          "ada         4711 99.7  1.2 9000000 99999 pts/0    Dl+  10:02 120:01 /usr/bin/python3 "
          "train.py --x\n"),
      absl::StrCat(kHeading,
                   "1 - root Ss - - 13116 0.0 init /sbin/init splash\n"
                   "4711 - ada Dl+ - - 99999 99.7 python3 /usr/bin/python3 train.py --x\n"));
}

TEST(ProcessList, ParentsOfTheFullFormatAreKnownAndItsStatesAreNot) {
  constexpr char kFull[] =
      "UID          PID    PPID  C STIME TTY          TIME CMD\n"
      "root           1       0  0 Feb01 ?        00:00:09 /sbin/init\n"
      "ada         4711     900 12 10:02 pts/0    02:00:01 python3 train.py\n";
  EXPECT_THAT(TextOf("ps", kFull), HasSubstr("4711 900 ada - - - - 12 python3 python3 train.py\n"));
  EXPECT_TRUE(IsPartial("ps", kFull));
}

TEST(ProcessList, ColumnsOfTheChecksOwnFormStay) {
  constexpr char kOwn[] =
      "    PID    PPID USER     STAT WCHAN                            ELAPSED   RSS %CPU COMMAND   "
      "      COMMAND\n"
      "      1       0 root     Ss   ep_poll                          1539052 13540  0.0 systemd   "
      "      /sbin/init\n"
      "     77       2 root     D    msleep                             99999     0  1.5 nv_queue  "
      "      [nv_queue]\n";
  EXPECT_EQ(TextOf("ps", kOwn),
            absl::StrCat(kHeading,
                         "1 0 root Ss ep_poll 1539052 13540 0.0 systemd /sbin/init\n"
                         "77 2 root D msleep 99999 0 1.5 nv_queue [nv_queue]\n"));
  EXPECT_FALSE(IsPartial("ps", kOwn));
}

TEST(ProcessList, AnElapsedTimeBecomesSeconds) {
  EXPECT_THAT(
      TextOf("ps", "PID PPID STAT ELAPSED %CPU CMD\n9 1 R 2-03:04:05 1.0 x\n8 1 R 01:02 0.0 y\n"),
      HasSubstr("9 1 - R - 183845 - 1.0 x x\n8 1 - R - 62 - 0.0 y y\n"));
  // The checks would take a young process without a load as idle.
  EXPECT_THAT(TextOf("ps", "PID PPID STAT ELAPSED CMD\n9 1 R 01:02 x\n"),
              HasSubstr("9 1 - R - - - - x x\n"));
}

TEST(ProcessList, AStartOfFiveWordsIsOneColumn) {
  EXPECT_THAT(TextOf("ps",
                     "  PID                  STARTED STAT CMD\n"
                     "   42 Mon Jan  6 12:00:00 2025 Ds   /bin/x y\n"),
              HasSubstr("42 - - Ds - - - - x /bin/x y\n"));
}

TEST(ProcessList, ShapeOrCommandTellTheColumnsIfTheHeadingIsMissing) {
  constexpr char kAux[] =
      "ada  4711 99.7  1.2 9000000 99999 pts/0 Dl+  10:02 120:01 python3 train.py\n"
      "ada  4720  0.0  0.0    9000   700 pts/1 S+   10:03   0:00 grep train\n";
  EXPECT_THAT(TextOf("ps", kAux, "ps aux | grep train"),
              HasSubstr("4711 - ada Dl+ - - 99999 99.7 python3 python3 train.py\n"));
  EXPECT_TRUE(IsPartial("ps", kAux));
  EXPECT_THAT(TextOf("ps", "root 4711 1 0 10:02 ? 00:00:01 sshd: ada [priv]\n"),
              HasSubstr("4711 1 root - - - - 0 sshd sshd: ada [priv]\n"));
  EXPECT_THAT(TextOf("ps", "4711 D python3\n", "ps -eo pid,stat,comm | grep ' D'"),
              HasSubstr("4711 - - D - - - - python3 python3\n"));
}

TEST(ProcessList, KernelThreadsAreLeftOutIfTheirParentIsUnknown) {
  const std::string text =
      TextOf("ps",
             "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\n"
             "root  77  0.0  0.0   0   0 ?   D    Feb01 0:00 [jbd2/sda1-8]\n"
             "root  78  0.0  0.0   0   0 ?   Dl   Feb01 0:00 [python3]\n"
             "ada   79  0.0  0.0   0   0 ?   Z    Feb01 0:00 [python3] <defunct>\n");
  EXPECT_THAT(text, Not(HasSubstr("jbd2")));
  EXPECT_THAT(text, HasSubstr("78 - root Dl - - 0 0.0 python3 [python3]\n"));
  EXPECT_THAT(text, HasSubstr("79 - ada Z "));
}

TEST(ProcessList, TheStuckThreadOfAProcessIsKept) {
  const std::string text = TextOf("ps",
                                  "UID PID PPID LWP S CMD\n"
                                  "ada 10 1 10 S python3 a.py\n"
                                  "ada 10 1 11 D python3 a.py\n"
                                  "ada 10 1 12 S python3 a.py\n");
  EXPECT_EQ(text, absl::StrCat(kHeading, "10 1 ada D - - - - python3 python3 a.py\n"));
}

TEST(ProcessList, ATreeIsNotPartOfTheCommand) {
  EXPECT_THAT(TextOf("ps", "PID TTY STAT TIME COMMAND\n 5 ? S 0:00  |   \\_ python3 b.py\n"),
              HasSubstr("5 - - S - - - - python3 python3 b.py\n"));
}

TEST(ProcessList, OtherTextsAreRefused) {
  EXPECT_TRUE(IsRefused("ps", "error: unsupported SysV option\n"));
  EXPECT_TRUE(IsRefused("ps", "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\n"));
}

}  // namespace
}  // namespace galen::intake::processes_test
