#include "bench/eval/suite/talk/spoken_number.h"

#include "gtest/gtest.h"

namespace galen::talk {
namespace {

struct Spoken {
  const char* text;
  int value;  // -1: none
};

class SpokenNumberTest : public ::testing::TestWithParam<Spoken> {};

TEST_P(SpokenNumberTest, IsReadAsPeopleSayIt) {
  const auto number = ReadNumber(GetParam().text);
  EXPECT_EQ(number.has_value() ? number->value : -1, GetParam().value) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Ports, SpokenNumberTest,
    ::testing::Values(
        Spoken{"22", 22}, Spoken{"2222 please", 2222}, Spoken{"twenty-two", 22},
        Spoken{"twenty-two twenty-two", 2222}, Spoken{"two two two two", 2222},
        Spoken{"double two zero one", 2201}, Spoken{"two thousand two hundred and two", 2202},
        Spoken{"sixty-five thousand five hundred and thirty-five", 65535},
        Spoken{"five zero zero two two", 50022}, Spoken{"eight thousand and eighty", 8080},
        Spoken{"hundred", -1}, Spoken{"nothing", -1}, Spoken{"", -1}, Spoken{"12345678", -1},
        Spoken{"10.0.0.1", -1}, Spoken{"12:30", -1}, Spoken{"3/4", -1}, Spoken{"2nd", -1}));

TEST(SpokenNumber, SaysWhereItEnds) {
  const auto number = ReadNumber("twenty-two on both");
  ASSERT_TRUE(number.has_value());
  EXPECT_EQ(number->end, 10u);
}

}  // namespace
}  // namespace galen::talk
