// Claims about reading JSON token by token.
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/profile/json_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/common/profile/profile_testing.h"

namespace galen::profile {
namespace {

using ::testing::HasSubstr;
using Token = JsonStream::Token;

// Tokens as a line: "{ k:a n:1 }".
std::string Tokens(absl::string_view text, std::size_t piece = 1000) {
  JsonStream stream(InPieces(text, piece));
  std::string line;
  while (true) {
    switch (stream.Next()) {
      case Token::kBeginObject:
        line += "{ ";
        break;
      case Token::kEndObject:
        line += "} ";
        break;
      case Token::kBeginArray:
        line += "[ ";
        break;
      case Token::kEndArray:
        line += "] ";
        break;
      case Token::kKey:
        absl::StrAppend(&line, "k:", stream.text(), " ");
        break;
      case Token::kText:
        absl::StrAppend(&line, "t:", stream.text(), " ");
        break;
      case Token::kNumber:
        absl::StrAppend(&line, "n:", stream.text(), " ");
        break;
      case Token::kOther:
        absl::StrAppend(&line, "o:", stream.text(), " ");
        break;
      case Token::kEnd:
        return line + "end";
      case Token::kBroken:
        return line + "broken";
    }
  }
}

TEST(JsonStream, GivesTheTokensHoweverTheTextIsTruncated) {
  const char* text = R"( {"a" : [1, -2.5e3 ,"x\n\u00e9\"\\",true , null,{}, []],"b":{"c":NaN}} )";
  const char* expected =
      "{ k:a [ n:1 n:-2.5e3 t:x\n\xC3\xA9\"\\ o:true o:null { } [ ] ] k:b { k:c o:NaN } } end";
  for (const std::size_t piece : {1, 2, 3, 7, 1000}) EXPECT_EQ(Tokens(text, piece), expected);
}

TEST(JsonStream, WhatIsNoJsonBreaks) {
  EXPECT_EQ(Tokens(""), "broken");
  EXPECT_EQ(Tokens("{\"a\""), "{ broken");
  EXPECT_EQ(Tokens("{\"a\":"), "{ k:a broken");
  EXPECT_EQ(Tokens("[1,,2]"), "[ n:1 broken");
  EXPECT_EQ(Tokens("[1}"), "[ n:1 broken");
  EXPECT_EQ(Tokens("{1:2}"), "{ broken");
  EXPECT_EQ(Tokens("[12"), "[ broken");
  EXPECT_EQ(Tokens("[\"ab"), "[ broken");
}

TEST(JsonStream, ALongTextIsKeptUpToItsLimit) {
  const std::string text = absl::StrCat("[\"", std::string(1 << 20, 'x'), "\",7]");
  JsonStream stream(InPieces(text, 4096));
  EXPECT_EQ(stream.Next(), Token::kBeginArray);
  EXPECT_EQ(stream.Next(), Token::kText);
  EXPECT_EQ(stream.text().size(), JsonStream::kMostText);
  EXPECT_EQ(stream.Next(), Token::kNumber);
  EXPECT_EQ(stream.bytes(), static_cast<std::int64_t>(text.size()));
}

TEST(JsonStream, NestingHasALimit) {
  const std::string deep(JsonStream::kMostDepth, '[');
  JsonStream stream(InPieces(deep, 1000));
  for (std::size_t i = 0; i < JsonStream::kMostDepth; ++i) {
    ASSERT_EQ(stream.Next(), Token::kBeginArray);
  }
  const std::string deeper(JsonStream::kMostDepth + 1, '[');
  JsonStream broken(InPieces(deeper, 1000));
  Token last = Token::kBeginArray;
  while (last == Token::kBeginArray) last = broken.Next();
  EXPECT_EQ(last, Token::kBroken);
  EXPECT_THAT(broken.trouble(), HasSubstr("64 levels"));
}

TEST(JsonStream, AValueIsPassedOver) {
  const std::string text = R"({"a":{"b":[1,{"c":"]}"}]},"d":2})";
  JsonStream stream(InPieces(text, 5));
  EXPECT_EQ(stream.Next(), Token::kBeginObject);
  EXPECT_EQ(stream.Next(), Token::kKey);
  EXPECT_TRUE(stream.SkipValue());
  EXPECT_EQ(stream.Next(), Token::kKey);
  EXPECT_EQ(stream.text(), "d");
  EXPECT_TRUE(stream.SkipValue());
  EXPECT_EQ(stream.Next(), Token::kEndObject);
  EXPECT_EQ(stream.Next(), Token::kEnd);
}

TEST(JsonStream, WhatTheSourceSaysIsTheTrouble) {
  bool given = false;
  JsonStream stream([&]() -> absl::StatusOr<absl::string_view> {
    if (given) return absl::DataLossError("the packed form is damaged");
    given = true;
    return absl::string_view("[1, ");
  });
  EXPECT_EQ(stream.Next(), Token::kBeginArray);
  EXPECT_EQ(stream.Next(), Token::kNumber);
  EXPECT_EQ(stream.Next(), Token::kBroken);
  EXPECT_EQ(stream.trouble(), "the packed form is damaged");
}

}  // namespace
}  // namespace galen::profile
