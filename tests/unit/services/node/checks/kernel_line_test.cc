#include "services/node/checks/system/kernel_line.h"

#include <string>

#include "gtest/gtest.h"

namespace galen::node {
namespace {

constexpr absl::string_view kText = "NVRM: something";

struct Form {
  std::string line;
  std::string time;  // RFC 3339 in UTC; empty: none
  double uptime = -1;
};

class KernelLineForms : public ::testing::TestWithParam<Form> {};

TEST_P(KernelLineForms, GiveTheirTimeAndMessage) {
  const KernelLine line = ParseKernelLine(GetParam().line);
  EXPECT_EQ(line.message, kText);
  EXPECT_EQ(line.time.has_value(), !GetParam().time.empty());
  if (line.time.has_value()) {
    EXPECT_EQ(absl::FormatTime(absl::RFC3339_full, *line.time, absl::UTCTimeZone()),
              GetParam().time);
  }
  EXPECT_EQ(line.uptime_s.value_or(-1), GetParam().uptime);
}

INSTANTIATE_TEST_SUITE_P(
    All, KernelLineForms,
    ::testing::Values(
        Form{"2024-05-06T07:08:09,250000+02:00 NVRM: something", "2024-05-06T05:08:09.25+00:00"},
        Form{"2024-05-06T07:08:09.250000+00:00 NVRM: something", "2024-05-06T07:08:09.25+00:00"},
        Form{"2024-05-06T07:08:09+0000 gpu-7 kernel: NVRM: something", "2024-05-06T07:08:09+00:00"},
        Form{"kern  :err   : 2024-05-06T07:08:09,5+00:00 NVRM: something",
             "2024-05-06T07:08:09.5+00:00"},
        Form{"[Mon May  6 07:08:09 2024] NVRM: something", "2024-05-06T07:08:09+00:00"},
        Form{"[   12.500000] NVRM: something", "", 12.5},
        Form{"<3>[   12.500000] NVRM: something", "", 12.5},
        Form{"6,1234,12500000,-;NVRM: something", "", 12.5},
        Form{"May  6 07:08:09 gpu-7 kernel: [   12.500000] NVRM: something", "", 12.5},
        Form{"10.0.0.7: kern:     err: [2024-05-06T07:08:09.250000Z]: NVRM: something",
             "2024-05-06T07:08:09.25+00:00"},
        Form{"{\"stream\":\"stderr\",\"log\": \"NVRM: something", ""},
        Form{"NVRM: something", ""}));

TEST(KernelLine, TakesAnythingAsAMessage) {
  for (const std::string& line :
       {std::string(), std::string("\0\xff\xfe", 3), std::string("2024-99-99T99:99:99 x"),
        std::string("[not a time] x"), std::string(5000, '[')}) {
    EXPECT_FALSE(ParseKernelLine(line).time.has_value());
  }
}

}  // namespace
}  // namespace galen::node
