#include "common/intake/forms/pasted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::intake::pasted_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TypedCommand, FindsTheProgramWhereverItStands) {
  for (const char* command :
       {"df -hT /data", "sudo df -hT /data", "ssh n1 df -hT /data", "LC_ALL=C /bin/df -hT /data",
        "cd /; df -hT /data && date", "ssh n1 'df -hT /data'", "bash -c \"df -hT /data\"",
        "df -hT /data 2>/dev/null", "df -hT /data 2> err.txt", "df -hT /data 2>&1 | cat"}) {
    const TypedCommand typed(command, "df");
    EXPECT_TRUE(typed.known()) << command;
    EXPECT_THAT(typed.arguments(), ElementsAre("-hT", "/data")) << command;
    EXPECT_FALSE(typed.filtered()) << command;
  }
  const TypedCommand other("vdf -h", "df");
  EXPECT_FALSE(other.known());
  EXPECT_THAT(other.arguments(), IsEmpty());
}

TEST(TypedCommand, KnowsWhatStandsBehindAPipe) {
  EXPECT_TRUE(TypedCommand("df -h | grep shm", "df").filtered());
  EXPECT_FALSE(TypedCommand("df -h | grep shm", "df").rewritten());
  EXPECT_TRUE(TypedCommand("df -h | grep -c shm", "df").rewritten());
  EXPECT_TRUE(TypedCommand("df -h | awk '{print $1}'", "df").rewritten());
  EXPECT_TRUE(TypedCommand("df -h | tail -1 | sort | uniq -c", "df").rewritten());
  EXPECT_TRUE(TypedCommand("df -h | sort -u", "df").distinct());
  EXPECT_FALSE(TypedCommand("df -h | sort -u", "df").rewritten());
  EXPECT_FALSE(TypedCommand("df -h; ls | grep x", "df").filtered());
}

TEST(TypedCommand, ReadsOptions) {
  const TypedCommand typed("nvidia-smi -i 4 --query-gpu=name,uuid --format csv -lms", "nvidia-smi");
  EXPECT_EQ(typed.ValueOf({"-i", "--id"}), "4");
  EXPECT_EQ(typed.ValueOf({"--query-gpu"}), "name,uuid");
  EXPECT_EQ(typed.ValueOf({"--format"}), "csv");
  EXPECT_EQ(typed.ValueOf({"--loop"}), std::nullopt);
  EXPECT_TRUE(typed.HasLetter('l'));
  EXPECT_FALSE(typed.HasLetter('q'));
  EXPECT_THAT(typed.operands(), ElementsAre("4", "csv"));
}

TEST(PastedLines, HaveNeitherEndsNorTimesOfACiService) {
  EXPECT_THAT(PastedLines("2025-10-07T04:52:14.6630722Z /dev/sda1  1G \r\n\n b\n"),
              ElementsAre("/dev/sda1  1G", "", " b"));
  EXPECT_THAT(PastedLines("2025-10-07T04:52:14Z x"), ElementsAre("2025-10-07T04:52:14Z x"));
}

TEST(Readable, TextIsMadeFitAndBinaryDataIsRefused) {
  EXPECT_EQ(Readable("x", "a\xC2\xA0\x1b[31mb\x1b[0m\xff\n").value(), "a b\xEF\xBF\xBD\n");
  EXPECT_FALSE(Readable("x", " \n\t\r\n").ok());
  EXPECT_FALSE(Readable("x", absl::string_view("a\0b", 3)).ok());
  EXPECT_FALSE(Readable("x", "\x01\x02\x03\x04\x05z").ok());
}

}  // namespace
}  // namespace galen::intake::pasted_test
