#include "common/base/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace galen {
namespace {

TEST(Wire, FieldsOfEachKindAreRead) {
  // 1: varint 300; 2: "ab"; 3: a double, 1.5; 4: a float, -2.
  const std::string bytes(
      "\x08\xac\x02\x12\x02"
      "ab\x19\0\0\0\0\0\0\xf8\x3f\x25\0\0\0\xc0",
      21);
  Wire wire(bytes);
  WireField field;
  ASSERT_TRUE(wire.Next(field));
  EXPECT_EQ(field.number, 1U);
  EXPECT_EQ(field.value, 300U);
  ASSERT_TRUE(wire.Next(field));
  EXPECT_EQ(field.bytes, "ab");
  ASSERT_TRUE(wire.Next(field));
  EXPECT_EQ(field.Double(), 1.5);
  ASSERT_TRUE(wire.Next(field));
  EXPECT_EQ(field.Float(), -2.0F);
  EXPECT_FALSE(wire.Next(field));
  EXPECT_FALSE(wire.broken());
}

TEST(Wire, WhatIsNoMessageIsBroken) {
  for (const std::string& bytes : {std::string("\x12\x05"
                                               "ab"),
                                   std::string("\x19\0\0", 3), std::string("\x80"),
                                   std::string("\x0b"), std::string(12, '\xff')}) {
    Wire wire(bytes);
    WireField field;
    EXPECT_FALSE(wire.Next(field));
    EXPECT_TRUE(wire.broken());
    EXPECT_FALSE(wire.Next(field));
  }
}

}  // namespace
}  // namespace galen
