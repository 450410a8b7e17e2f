#include "services/gateway/http/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::gateway::http {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

Response Json(std::string body) {
  Response response;
  response.headers.Add("Content-Type", "application/json");
  response.body = std::move(body);
  return response;
}

TEST(Answer, HasItsLengthAndItsBody) {
  const std::string bytes = WholeAnswer(Json("{}"), {.keep_alive = true}, 1024);
  EXPECT_EQ(bytes,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
}

TEST(Answer, ToHeadHasTheLengthOfTheBodyAndNoBody) {
  const std::string bytes = WholeAnswer(Json("{}"), {.head = true, .keep_alive = true}, 1024);
  EXPECT_THAT(bytes, HasSubstr("Content-Length: 2\r\n"));
  EXPECT_THAT(bytes, EndsWith("\r\n\r\n"));
}

TEST(Answer, OfNoContentHasNeitherLengthNorBody) {
  Response response;
  response.status = 204;
  EXPECT_EQ(WholeAnswer(std::move(response), {.keep_alive = true}, 1024),
            "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST(Answer, AValueCannotBeginAnotherField) {
  Response response;
  response.headers.Add("X-Name", "a\r\nSet-Cookie: b\x01");
  const std::string bytes = WholeAnswer(std::move(response), {.keep_alive = true}, 1024);
  EXPECT_THAT(bytes, HasSubstr("X-Name: a  Set-Cookie: b \r\n"));
}

TEST(Answer, IsCompressedWhereThatIsTakenAndWorthIt) {
  const std::string text(10'000, 'a');
  const std::string packed = WholeAnswer(Json(text), {.keep_alive = true, .gzip = true}, 1024);
  EXPECT_THAT(packed, HasSubstr("Content-Encoding: gzip\r\n"));
  EXPECT_THAT(packed, HasSubstr("Vary: Accept-Encoding\r\n"));
  EXPECT_LT(packed.size(), 500u);
  const std::string plain = WholeAnswer(Json(text), {.keep_alive = true}, 1024);
  EXPECT_THAT(plain, HasSubstr("Vary: Accept-Encoding\r\n"));
  EXPECT_THAT(plain, EndsWith(text));
  EXPECT_THAT(WholeAnswer(Json("{}"), {.keep_alive = true, .gzip = true}, 1024),
              Not(HasSubstr("gzip")));
}

TEST(Answer, StreamedToHttp10HasNoChunksAndEndsWithTheConnection) {
  const AnswerForm form{.http_1_0 = true};
  EXPECT_THAT(StreamHead({}, form), Not(HasSubstr("chunked")));
  EXPECT_THAT(StreamHead({}, form), HasSubstr("Connection: close"));
  EXPECT_EQ(BodyPiece("abc", form), "abc");
  EXPECT_EQ(EndOfBody(form), "");
}

TEST(Answer, StreamedIsInChunks) {
  const AnswerForm form{.keep_alive = true};
  EXPECT_THAT(StreamHead({}, form), HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_EQ(BodyPiece(std::string(17, 'x'), form), "11\r\n" + std::string(17, 'x') + "\r\n");
  EXPECT_EQ(EndOfBody(form), "0\r\n\r\n");
  // An empty chunk would end the body.
  EXPECT_EQ(BodyPiece("", form), "");
}

}  // namespace
}  // namespace galen::gateway::http
