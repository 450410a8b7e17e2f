#include "common/log_analysis/scan/byte_scan.h"

#include <gtest/gtest.h>

#include <string>

namespace galen::log_scan {
namespace {

TEST(ByteScan, CountsEveryNewlineOfATextOfAnySize) {
  for (std::size_t size : {0, 1, 15, 31, 32, 63, 64, 65, 127, 128, 1000, 8127, 8128, 40000}) {
    EXPECT_EQ(CountNewlines(std::string(size, '\n')), size);
    EXPECT_EQ(CountNewlines(std::string(size, 'n')), 0u);
    EXPECT_FALSE(LookAtBytes(std::string(size, '\n')).needs_cleaning);
  }
}

TEST(ByteScan, TellsTheBytesThatHaveToGo) {
  for (const char odd : {'\0', '\r', '\x1b'}) {
    for (std::size_t at = 0; at < 200; ++at) {
      std::string text(200, 'x');
      text[at] = odd;
      ASSERT_TRUE(LookAtBytes(text).needs_cleaning) << at;
    }
  }
  std::string all;
  for (int c = 1; c < 256; ++c) {
    if (c != '\r' && c != '\x1b') all += static_cast<char>(c);
  }
  EXPECT_FALSE(LookAtBytes(all).needs_cleaning);
}

}  // namespace
}  // namespace galen::log_scan
