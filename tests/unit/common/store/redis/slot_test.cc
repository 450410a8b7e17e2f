#include "common/store/redis/slot.h"

#include <gtest/gtest.h>

namespace galen::store::redis {
namespace {

// The test value of CRC-16/XMODEM, and slots as CLUSTER KEYSLOT of Redis 7.0 gives them.
TEST(SlotTest, CountsAsRedisDoes) {
  EXPECT_EQ(Crc16("123456789"), 0x31c3);
  EXPECT_EQ(SlotOf("foo"), 12182);
  EXPECT_EQ(SlotOf(""), 0);
}

TEST(SlotTest, WhatStandsInTheFirstBracesDecides) {
  EXPECT_EQ(SlotOf("galen:{b17}:head:x"), SlotOf("b17"));
  EXPECT_EQ(SlotOf("{user1000}.following"), SlotOf("{user1000}.followers"));
  EXPECT_EQ(SlotOf("foo{bar}{zap}"), SlotOf("bar"));
  EXPECT_EQ(SlotOf("foo{{bar}}zap"), SlotOf("{bar"));
}

TEST(SlotTest, EmptyOrOpenBracesDecideNothing) {
  EXPECT_NE(SlotOf("foo{}{bar}"), SlotOf("bar"));
  EXPECT_NE(SlotOf("foo{bar"), SlotOf("bar"));
}

}  // namespace
}  // namespace galen::store::redis
