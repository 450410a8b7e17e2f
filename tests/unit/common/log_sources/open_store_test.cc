#include "common/log_sources/open_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fake_stores.h"
#include "tests/testing/scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen::log_sources {
namespace open_store_test {

using galen::testing::IsOk;
using galen::testing::Scratch;
using galen::testing::StatusIs;
using ::testing::HasSubstr;

using Code = absl::StatusCode;
using Kind = StoreAddress::Kind;

TEST(StoreAddressTest, TheQueryStaysAsItIs) {
  const auto loki =
      ParseStoreAddress(R"(loki+https://loki:3100/prefix/?query={job="x"} |= "a?b&c%20")");
  ASSERT_THAT(loki, IsOk());
  EXPECT_EQ(loki->kind, Kind::kLoki);
  EXPECT_EQ(loki->url, "https://loki:3100/prefix");
  EXPECT_EQ(loki->query, R"({job="x"} |= "a?b&c%20")");
  const auto search = ParseStoreAddress("opensearch+https://es:9200/p/logs-*?query=a:b");
  ASSERT_THAT(search, IsOk());
  EXPECT_EQ(search->what, "OpenSearch");
  EXPECT_EQ(search->url, "https://es:9200/p");
  EXPECT_EQ(search->index, "logs-*");
  const auto pods = ParseStoreAddress("kubernetes+http://127.0.0.1:8001/ml?query=job-name=t");
  ASSERT_THAT(pods, IsOk());
  EXPECT_EQ(pods->url, "http://127.0.0.1:8001");
  EXPECT_EQ(pods->index, "ml");
  EXPECT_EQ(pods->query, "job-name=t");
  const auto own = ParseStoreAddress("kubernetes:ml/train-0");
  ASSERT_THAT(own, IsOk());
  EXPECT_EQ(own->url, "");
  EXPECT_EQ(own->pod, "train-0");
}

TEST(StoreAddressTest, WhatIsNoneIsRefusedWithTheRemedy) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"http://loki:3100", "begins with loki+http"},
           {"loki+http://loki:3100", "is missing; write ?query="},
           {"loki+http://loki:3100?q={}", "write ?query="},
           {"elasticsearch+http://es:9200", "write the index"},
           {"elasticsearch+http://es:9200/_cluster?query=x", "write the index"},
           {"kubernetes+http://127.0.0.1:8001", "write the namespace"},
           {"kubernetes:ml/a/b", "write the namespace"},
           {"kubernetes:ml/a?query=b=c", "write one of the two"}}) {
    EXPECT_THAT(ParseStoreAddress(text).status(), StatusIs(Code::kInvalidArgument, HasSubstr(why)))
        << text;
  }
}

TEST(OpenStoreTest, KeysAreNotSentUnencrypted) {
  const Scratch scratch;
  const http::CredentialFiles files = {scratch.Write("key", "k"), ""};
  const auto open = [&](const std::string& text) {
    return OpenStore(*ParseStoreAddress(text), files, "", Names()).status();
  };
  EXPECT_THAT(open("loki+https://loki?query={a=\"b\"}"), IsOk());
  EXPECT_THAT(open("loki+http://127.0.0.1:3100?query={a=\"b\"}"), IsOk());
  EXPECT_THAT(open("loki+http://loki:3100?query={a=\"b\"}"),
              StatusIs(Code::kInvalidArgument, HasSubstr("unencrypted")));
  EXPECT_THAT(open("elasticsearch+ftp://es/logs"),
              StatusIs(Code::kInvalidArgument, HasSubstr("write http:// or https://")));
  EXPECT_EQ(open("kubernetes+http://api:8001/ml").code(), Code::kInvalidArgument);
  EXPECT_THAT(open("kubernetes+http://127.0.0.1:8001/ml"), IsOk());
}

}  // namespace open_store_test
}  // namespace galen::log_sources
