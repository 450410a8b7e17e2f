#include "common/log_sources/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen::log_sources {
namespace site_test {

using galen::testing::IsOk;
using galen::testing::Scratch;
using galen::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using Code = absl::StatusCode;

constexpr char kFile[] = R"(log_sources:
  - name: site
    address: loki+https://loki:3100
    key_file: loki.key
    headers_file: /etc/galen/headers
  - {name: search, address: 'opensearch+https://es:9200/logs-*?query=job:train', ca_file: ca.pem}
)";

TEST(SiteSourcesTest, PeopleNameASourceAndAQuery) {
  const Scratch scratch;
  const auto sources = LoadSiteSources(scratch.Write("site.yaml", kFile));
  ASSERT_THAT(sources, IsOk());
  ASSERT_THAT(*sources, SizeIs(2));
  EXPECT_TRUE(IsSourceName("site?query={a=\"b\"}"));
  EXPECT_FALSE(IsSourceName("loki+http://loki:3100?query={}"));
  EXPECT_FALSE(IsSourceName("kubernetes:ml"));
  const auto found = FindSiteSource(*sources, "site?query={a=\"b\"}");
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->address.query, "{a=\"b\"}");
  EXPECT_EQ(found->address.url, "https://loki:3100");
  EXPECT_EQ(found->files.key, scratch / "loki.key");
  EXPECT_EQ(found->files.headers, "/etc/galen/headers");
  const auto usual = FindSiteSource(*sources, "search");
  ASSERT_THAT(usual, IsOk());
  EXPECT_EQ(usual->address.query, "job:train");
  EXPECT_EQ(usual->ca_file, scratch / "ca.pem");
}

TEST(SiteSourcesTest, ANameThatIsNotThereIsRefusedWithThoseThatAre) {
  const auto sources = ParseSiteSources(kFile, "site.yaml");
  ASSERT_THAT(sources, IsOk());
  EXPECT_THAT(FindSiteSource(*sources, "other").status(),
              StatusIs(Code::kNotFound, HasSubstr("they are site, search")));
  EXPECT_THAT(FindSiteSource(*sources, "site").status(),
              StatusIs(Code::kInvalidArgument, HasSubstr("is missing")));
  EXPECT_THAT(FindSiteSource(*sources, "site?q=x").status(),
              StatusIs(Code::kInvalidArgument, HasSubstr("write ?query=")));
}

TEST(SiteSourcesTest, MistakesNameTheirLine) {
  for (const char* const text :
       {"log_sources:\n  - {name: a b, address: 'loki+https://l'}\n",
        "log_sources:\n  - {name: a, address: 'http://l'}\n", "log_sources:\n  - {name: a}\n",
        "log_sources:\n  - {name: a, address: 'loki+https://l', url: x}\n"}) {
    EXPECT_THAT(ParseSiteSources(text, "site.yaml").status(),
                StatusIs(Code::kInvalidArgument, HasSubstr("site.yaml:2")))
        << text;
  }
  EXPECT_THAT(ParseSiteSources("log_sources:\n  - {name: a, address: 'loki+https://l'}\n"
                               "  - {name: a, address: 'loki+https://m'}\n",
                               "site.yaml")
                  .status(),
              StatusIs(Code::kInvalidArgument, HasSubstr("site.yaml:3: name: a is there twice")));
}

}  // namespace site_test
}  // namespace galen::log_sources
