// Keys and headers: read from files, sent to no other server, shown to nobody.
#include "common/http/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen::http {
namespace credentials_test {

using galen::testing::IsOk;
using galen::testing::Scratch;
using galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

using Code = absl::StatusCode;

std::vector<std::string> Lines(const Headers& headers) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : headers) {
    lines.push_back(absl::StrCat(name, ": ", value.Reveal()));
  }
  return lines;
}

TEST(CredentialsTest, AreReadFromFiles) {
  const Scratch scratch;
  const std::string key = scratch.Write("key", "Basic dXNlcg==\n");
  const std::string headers =
      scratch.Write("headers", "# the tenant\nX-Scope-OrgID: team-a|team-b\n\nX-Api-Key:  k1 \r\n");
  const auto credentials = ReadCredentials("--prometheus", key, headers);
  ASSERT_THAT(credentials, IsOk());
  EXPECT_EQ(credentials->key_header, "Authorization: Basic ");
  EXPECT_EQ(credentials->key.Reveal(), "dXNlcg==");
  EXPECT_THAT(Lines(credentials->headers),
              ElementsAre("X-Scope-OrgID: team-a|team-b", "X-Api-Key: k1"));
  EXPECT_THAT(ReadCredentials("--prometheus", "", "/nowhere").status(),
              StatusIs(Code::kNotFound, HasSubstr("--prometheus headers file /nowhere")));
  EXPECT_THAT(ReadCredentials("x", scratch.Write("two", "a\nb"), "").status(),
              StatusIs(Code::kInvalidArgument, HasSubstr("not one line")));
}

TEST(CredentialsTest, AHeaderThatTheTransportSetsOrThatBreaksTheRequestIsRefused) {
  for (const char* const text :
       {"", "# nothing", "no header", "Host: elsewhere", "authorization: Bearer x",
        "X-A:", "X-A: a\x01b", "X A: b", ": x", "Transfer-Encoding: chunked"}) {
    EXPECT_THAT(ParseHeaders(text, "file").status(),
                StatusIs(Code::kInvalidArgument, HasSubstr("file")))
        << text;
  }
  std::string many;
  for (int i = 0; i < 17; ++i) absl::StrAppend(&many, "X-", i, ": 1\n");
  EXPECT_THAT(ParseHeaders(many, "file").status(),
              StatusIs(Code::kInvalidArgument, HasSubstr("more than 16")));
}

TEST(CredentialsTest, TheTenantMayGoUnencryptedAndASecretMayNot) {
  const Headers tenant = {{"X-Scope-OrgID", Secret("a")}};
  const Headers secret = {{"X-Api-Key", Secret("a")}};
  EXPECT_THAT(CheckServer("Loki", "http://loki:3100", Secret(), tenant), IsOk());
  EXPECT_THAT(CheckServer("Loki", "https://loki:3100", Secret("k"), secret), IsOk());
  EXPECT_THAT(CheckServer("Loki", "http://127.0.0.1:3100", Secret("k"), secret), IsOk());
  EXPECT_THAT(CheckServer("Loki", "http://loki:3100", Secret(), secret),
              StatusIs(Code::kInvalidArgument, HasSubstr("X-Api-Key would go out unencrypted")));
  EXPECT_THAT(CheckServer("Loki", "http://loki:3100 x", Secret(), {}),
              StatusIs(Code::kInvalidArgument, HasSubstr("Loki")));
}

TEST(CredentialsTest, ShowNobodyASecret) {
  const Headers headers = {{"X-Api-Key", Secret("hidden")}, {"X-Scope-OrgID", Secret("team-a")}};
  EXPECT_EQ(WithoutSecrets("key1 and hidden of team-a", Secret("key1"), headers),
            "[key] and [key] of team-a");
}

TEST(CredentialsTest, EachFileBelongsToOneServer) {
  const auto two = PairFiles(2, {"none", "b.key"}, {}, "--key", "--headers");
  ASSERT_THAT(two, IsOk());
  ASSERT_THAT(*two, SizeIs(2));
  EXPECT_EQ((*two)[0].key, "");
  EXPECT_EQ((*two)[1].key, "b.key");
  EXPECT_THAT(PairFiles(2, {"a.key"}, {}, "--key", "--headers").status(),
              StatusIs(Code::kInvalidArgument, HasSubstr("--key: 1 file for 2 sources")));
  EXPECT_THAT(PairFiles(1, {}, {"a", "b"}, "--key", "--headers").status(),
              StatusIs(Code::kInvalidArgument, HasSubstr("--headers: 2 files for 1 source")));
}

}  // namespace credentials_test
}  // namespace galen::http
