#include "services/gateway/webhooks/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/webhooks/senders.h"

namespace galen::gateway::webhooks {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kNow = 1'794'972'100;
const absl::Time kNowTime = absl::FromUnixSeconds(kNow);

// `body` as the sender of `scheme` would send it at `sent`.
http::Request Signed(const Scheme& scheme, const Key& key, const std::string& body,
                     std::int64_t sent = kNow) {
  http::Request request = Post(body);
  const std::string id = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W";
  const std::string signature = Sign(scheme, key, id, absl::StrCat(sent), body).value();
  if (!scheme.id_header.empty()) request.headers.Add(scheme.id_header, id);
  if (!scheme.timestamp_header.empty()) {
    request.headers.Add(scheme.timestamp_header, absl::StrCat(sent));
  }
  if (scheme.query.empty()) {
    request.headers.Add(scheme.header, signature);
  } else {
    request.target = absl::StrCat("/hooks/in?a=b&", scheme.query, "=", signature);
  }
  return request;
}

// Every shipped scheme except ed25519: a public key cannot sign.
class EveryScheme : public ::testing::TestWithParam<std::pair<std::string, std::string>> {
 protected:
  const Scheme& scheme_ = SchemeOf(GetParam().first, GetParam().second);
  const Key key_ = Key::Make(scheme_, kSecret).value();
  const std::string body_ = "{\"a\": \"\xc3\xa4\", \"b\": [1, 2]}\n";
};

class TimedScheme : public EveryScheme {};

std::vector<std::pair<std::string, std::string>> Schemes(bool timed) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [name, sender] : ShippedSenders()) {
    for (const Scheme& scheme : sender.schemes) {
      if (scheme.kind == Scheme::Kind::kEd25519) continue;
      if (timed && scheme.timestamp_header.empty()) continue;
      all.emplace_back(name, scheme.name);
    }
  }
  return all;
}

std::string NameOfScheme(const ::testing::TestParamInfo<std::pair<std::string, std::string>>& of) {
  return absl::StrReplaceAll(absl::StrCat(of.param.first, "_", of.param.second), {{"-", "_"}});
}

INSTANTIATE_TEST_SUITE_P(Shipped, EveryScheme, ::testing::ValuesIn(Schemes(false)), NameOfScheme);
INSTANTIATE_TEST_SUITE_P(Shipped, TimedScheme, ::testing::ValuesIn(Schemes(true)), NameOfScheme);

TEST_P(EveryScheme, TakesWhatItsSenderSigned) {
  EXPECT_THAT(Verify(scheme_, {&key_, 1}, Signed(scheme_, key_, body_), kNowTime), IsOk());
  EXPECT_THAT(Verify(scheme_, {&key_, 1}, Signed(scheme_, key_, ""), kNowTime), IsOk());
}

TEST_P(EveryScheme, RefusesEachTamperedByte) {
  const http::Request good = Signed(scheme_, key_, body_);
  std::mt19937 random(7);
  std::uniform_int_distribution<int> bits(1, 255);
  const auto expect_refused = [&](const http::Request& bad, const std::string& what) {
    EXPECT_THAT(Verify(scheme_, {&key_, 1}, bad, kNowTime),
                StatusIs(absl::StatusCode::kUnauthenticated, Not(HasSubstr(std::string(kSecret)))))
        << what;
  };
  const auto each_byte = [&](const std::string& text, const auto& put) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      std::string tampered = text;
      tampered[at] = static_cast<char>(tampered[at] ^ bits(random));
      // Hexadecimal digits and the words before a token may have either case.
      if (absl::AsciiStrToLower(tampered) == absl::AsciiStrToLower(text)) continue;
      put(tampered, absl::StrCat("byte ", at));
      put(text.substr(0, at), absl::StrCat("cut at ", at));
    }
    put(text + "0", "one byte more");
  };
  if (scheme_.kind != Scheme::Kind::kToken) {
    each_byte(good.body, [&](const std::string& tampered, const std::string& where) {
      http::Request bad = good;
      bad.body = tampered;
      expect_refused(bad, absl::StrCat("body, ", where));
    });
  }
  for (const auto& [name, value] : good.headers.all()) {
    each_byte(value, [&, name = name](const std::string& tampered, const std::string& where) {
      http::Request bad = good;
      bad.headers.Set(name, tampered);
      expect_refused(bad, absl::StrCat(name, ", ", where));
    });
  }
  if (!scheme_.query.empty()) {
    const std::size_t begin = good.target.rfind('=') + 1;
    each_byte(good.target.substr(begin),
              [&](const std::string& tampered, const std::string& where) {
                http::Request bad = good;
                bad.target = good.target.substr(0, begin) + tampered;
                expect_refused(bad, absl::StrCat("query, ", where));
              });
  }
}

TEST_P(EveryScheme, RefusesWhatMissesAHeaderOrHasOneTwice) {
  const http::Request good = Signed(scheme_, key_, body_);
  for (const auto& [name, value] : good.headers.all()) {
    http::Request without = good;
    without.headers = {};
    for (const auto& [other, text] : good.headers.all()) {
      if (other != name) without.headers.Add(other, text);
    }
    EXPECT_FALSE(Verify(scheme_, {&key_, 1}, without, kNowTime).ok()) << name;
    http::Request twice = good;
    twice.headers.Add(name, value);
    EXPECT_FALSE(Verify(scheme_, {&key_, 1}, twice, kNowTime).ok()) << name;
  }
  EXPECT_FALSE(Verify(scheme_, {&key_, 1}, Post(body_), kNowTime).ok());
}

TEST_P(EveryScheme, TakesEachSecretOfARotationAndNoOther) {
  const std::string other = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
  const std::vector<Key> both = {Key::Make(scheme_, other).value(), key_};
  EXPECT_THAT(Verify(scheme_, both, Signed(scheme_, both[0], body_), kNowTime), IsOk());
  EXPECT_THAT(Verify(scheme_, both, Signed(scheme_, both[1], body_), kNowTime), IsOk());
  EXPECT_FALSE(Verify(scheme_, {&key_, 1}, Signed(scheme_, both[0], body_), kNowTime).ok());
  EXPECT_FALSE(Verify(scheme_, {}, Signed(scheme_, key_, body_), kNowTime).ok());
}

TEST_P(TimedScheme, RefusesWhatWasSignedLongAgoOrAhead) {
  const std::int64_t window = absl::ToInt64Seconds(scheme_.tolerance);
  for (const std::int64_t off : {std::int64_t{0}, window - 1, 1 - window}) {
    EXPECT_THAT(Verify(scheme_, {&key_, 1}, Signed(scheme_, key_, body_, kNow + off), kNowTime),
                IsOk())
        << off;
  }
  for (const std::int64_t off : {-window, window, -window - 1, window * 100, -kNow}) {
    EXPECT_THAT(
        Verify(scheme_, {&key_, 1}, Signed(scheme_, key_, body_, kNow + off), kNowTime),
        StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("away from the gateway's time")))
        << off;
  }
}

TEST(SignatureTest, RefusesATimeThatIsNoNumberEvenWhenItIsSigned) {
  const Scheme& scheme = SchemeOf("slack", "signature");
  const Key key = Key::Make(scheme, kSecret).value();
  for (const char* const time :
       {"", " 1794972100", "+1794972100", "1794972100.0", "0x6afd", "17949721001794972100", "-1"}) {
    http::Request request = Post("x");
    request.headers.Add(scheme.timestamp_header, time);
    request.headers.Add(scheme.header, Sign(scheme, key, "", time, "x").value());
    EXPECT_FALSE(Verify(scheme, {&key, 1}, request, kNowTime).ok()) << time;
  }
}

TEST(SignatureTest, FindsItsOwnAmongSeveralSignatures) {
  const Scheme& scheme = SchemeOf("pagerduty", "signature");
  const Key key = Key::Make(scheme, kSecret).value();
  const std::string good = Sign(scheme, key, "", "", "x").value();
  for (const std::string& header : {absl::StrCat("v1=", std::string(64, '0'), ",", good),
                                    absl::StrCat("v2=abc, ", good), absl::StrCat(good, ",v1=")}) {
    http::Request request = Post("x");
    request.headers.Add(scheme.header, header);
    EXPECT_THAT(Verify(scheme, {&key, 1}, request, kNowTime), IsOk()) << header;
  }
  http::Request many = Post("x");
  std::string header = good;
  for (int i = 0; i < 16; ++i) absl::StrAppend(&header, ",", good);
  many.headers.Add(scheme.header, header);
  EXPECT_THAT(Verify(scheme, {&key, 1}, many, kNowTime),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("more than 16")));
}

TEST(SignatureTest, TakesHexadecimalDigitsOfEitherCase) {
  const Scheme& scheme = SchemeOf("github", "signature");
  const Key key = Key::Make(scheme, kSecret).value();
  const std::string good = Sign(scheme, key, "", "", "x").value();
  http::Request request = Post("x");
  request.headers.Add(scheme.header,
                      absl::StrCat("sha256=", absl::AsciiStrToUpper(good.substr(7))));
  EXPECT_THAT(Verify(scheme, {&key, 1}, request, kNowTime), IsOk());
}

TEST(SignatureTest, RefusesBase64ThatOnlyDecodesToTheSame) {
  const Scheme& scheme = SchemeOf("standard-webhooks", "symmetric");
  const Key key = Key::Make(scheme, kSecret).value();
  http::Request request = Signed(scheme, key, "x");
  std::string header(request.headers.Get(scheme.header));
  ASSERT_EQ(header.back(), '=');
  header.pop_back();
  request.headers.Set(scheme.header, header);
  EXPECT_FALSE(Verify(scheme, {&key, 1}, request, kNowTime).ok());
}

TEST(SignatureTest, RefusesAnEmptySecretAndOneThatIsNotOfItsForm) {
  const Scheme& symmetric = SchemeOf("standard-webhooks", "symmetric");
  const Scheme& asymmetric = SchemeOf("standard-webhooks", "asymmetric");
  EXPECT_THAT(Key::Make(symmetric, ""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty")));
  EXPECT_THAT(Key::Make(symmetric, "whsec_"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("base64")));
  EXPECT_THAT(Key::Make(symmetric, "whsec_*"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("base64")));
  EXPECT_THAT(Key::Make(asymmetric, "whpk_AAAA"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("32 bytes")));
}

TEST(SignatureTest, KnowsASchemeThatCannotWork) {
  EXPECT_FALSE(CheckScheme({}).ok());
  EXPECT_FALSE(CheckScheme({.header = "X", .signs = "{timestamp}"}).ok());
  EXPECT_FALSE(CheckScheme({.header = "X", .signs = "{timestamp}{body}"}).ok());
  EXPECT_FALSE(CheckScheme({.header = "X", .signs = "{body}", .id_header = "Y"}).ok());
  EXPECT_FALSE(CheckScheme({.query = "token"}).ok());
  EXPECT_THAT(CheckScheme({.kind = Scheme::Kind::kToken, .query = "token"}), IsOk());
}

TEST(Token, IsTakenAsItIsAndPercentEncoded) {
  const Scheme scheme = {.kind = Scheme::Kind::kToken, .query = "token"};
  const Key key = Key::Make(scheme, "a+b/c=d %zz").value();
  const auto verify = [&](const std::string& presented) {
    http::Request request = Post("{}");
    request.target = "/hooks/in?token=" + presented;
    return Verify(scheme, {&key, 1}, request, kNowTime);
  };
  EXPECT_THAT(verify("a%2Bb%2Fc%3Dd%20%25zz"), IsOk());
  EXPECT_THAT(verify("a+b/c=d%20%25zz"), IsOk());
  // An invalid encoding is taken as it is.
  EXPECT_THAT(verify("a+b/c=d %zz"), IsOk());
  EXPECT_THAT(verify("a%20b/c=d%20%25zz"),
              StatusIs(absl::StatusCode::kUnauthenticated, ::testing::_));
}

}  // namespace
}  // namespace galen::gateway::webhooks
