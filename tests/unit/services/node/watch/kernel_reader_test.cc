#include "services/node/watch/kernel_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace galen::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A device that returns what the test sets: a record, or an errno.
struct Device {
  struct Answer {
    std::string record;
    int error = 0;
  };
  std::deque<Answer> answers;

  ReadRecord read() {
    return [this](char* buffer, std::size_t size) -> ssize_t {
      const Answer answer = answers.empty() ? Answer{"", EAGAIN} : answers.front();
      if (!answers.empty()) answers.pop_front();
      errno = answer.error;
      if (answer.error != 0) return -1;
      const std::size_t length = std::min(size, answer.record.size());
      std::memcpy(buffer, answer.record.data(), length);
      return static_cast<ssize_t>(length);
    };
  }
};

struct Heard {
  std::vector<std::string> lines;
  std::int64_t lost = 0;
  absl::Status status;
};

Heard Read(KernelReader& reader) {
  Heard heard;
  heard.status = reader.Read([&](absl::string_view line) { heard.lines.emplace_back(line); },
                             [&](std::int64_t lost) { heard.lost += lost; });
  return heard;
}

TEST(Kmsg, EachRecordIsALineWithoutItsDictionary) {
  Device device{{{"6,10,5000,-;eth0: up\n SUBSYSTEM=net\n"}, {"3,11,6000,-;NVRM: Xid\n"}}};
  const auto reader = ReadKmsg(host::FileDescriptor(), device.read());
  const Heard heard = Read(*reader);
  EXPECT_THAT(heard.lines, ElementsAre("6,10,5000,-;eth0: up", "3,11,6000,-;NVRM: Xid"));
  EXPECT_EQ(heard.lost, 0);
  EXPECT_TRUE(heard.status.ok());
}

TEST(Kmsg, AnOverrunIsToldByTheGapInTheNumbers) {
  Device device{{{"6,10,1,-;a\n"}, {"", EPIPE}, {"6,15,2,-;b\n"}}};
  const auto reader = ReadKmsg(host::FileDescriptor(), device.read());
  const Heard heard = Read(*reader);
  EXPECT_THAT(heard.lines, ElementsAre("6,10,1,-;a", "6,15,2,-;b"));
  EXPECT_EQ(heard.lost, 4);
}

TEST(Kmsg, NumbersThatNoKernelReachesAreNotAddedUp) {
  Device device{{{"6,1,1,-;a\n"},
                 {"6,18446744073709551615,2,-;b\n"},
                 {"6,-3,3,-;no\n"},
                 {"6,5,4,-;c\n"},
                 {"6,9223372036854775807,5,-;d\n"}}};
  const auto reader = ReadKmsg(host::FileDescriptor(), device.read());
  const Heard heard = Read(*reader);
  EXPECT_EQ(heard.lines.size(), 4u);
  EXPECT_GT(heard.lost, 0);
}

TEST(Kmsg, InterruptedAndOversizedReadsAreTriedAgain) {
  Device device{{{"", EINTR}, {"", EINVAL}, {"6,1,1,-;a\n"}}};
  const auto reader = ReadKmsg(host::FileDescriptor(), device.read());
  EXPECT_THAT(Read(*reader).lines, ElementsAre("6,1,1,-;a"));
}

TEST(Kmsg, ADeviceThatFailsIsAnErrorAndOneThatSaysGarbageIsNot) {
  Device device{{{"garbage"}, {",,,"}, {"6,x,1,-;a"}}};
  const auto reader = ReadKmsg(host::FileDescriptor(), device.read());
  EXPECT_THAT(Read(*reader).lines, IsEmpty());
  device.answers = {{"", EBADF}};
  EXPECT_EQ(Read(*reader).status.code(), absl::StatusCode::kUnavailable);
}

TEST(Kmsg, AKernelThatPrintsWithoutEndIsReadInParts) {
  Device device;
  for (int i = 0; i < 1500; ++i) device.answers.push_back({"6," + std::to_string(i) + ",1,-;a\n"});
  const auto reader = ReadKmsg(host::FileDescriptor(), device.read());
  EXPECT_EQ(Read(*reader).lines.size(), 1000u);
  EXPECT_EQ(Read(*reader).lines.size(), 500u);
}

TEST(LineOfRecord, EscapesBecomeWhatTheyStandFor) {
  EXPECT_EQ(LineOfRecord("6,1,2,-;a\\x41b\\x0ac\\x5c"), "6,1,2,-;aAb c\\");
  EXPECT_EQ(LineOfRecord("6,1,2,-;a\\x4"), "6,1,2,-;a\\x4");
  EXPECT_EQ(LineOfRecord("6,1,2,-;a\\xzz"), "6,1,2,-;a\\xzz");
}

TEST(Copies, OnlyWhatIsNewIsTold) {
  std::string log = "<6>[    1.0] old\n";
  const auto reader = ReadCopies([&]() -> absl::StatusOr<std::string> { return log; });
  EXPECT_THAT(Read(*reader).lines, IsEmpty());
  log += "<3>[    2.0] new\n<3>[    3.0] newer\n";
  EXPECT_THAT(Read(*reader).lines, ElementsAre("[    2.0] new", "[    3.0] newer"));
  EXPECT_THAT(Read(*reader).lines, IsEmpty());
}

TEST(Copies, ALogThatWentRoundLostLines) {
  std::string log = "<6>[    1.0] old\n";
  const auto reader = ReadCopies([&]() -> absl::StatusOr<std::string> { return log; });
  log = "<6>[    9.0] later\n";
  const Heard heard = Read(*reader);
  EXPECT_THAT(heard.lines, ElementsAre("[    9.0] later"));
  EXPECT_GE(heard.lost, 1);
}

}  // namespace
}  // namespace galen::node
