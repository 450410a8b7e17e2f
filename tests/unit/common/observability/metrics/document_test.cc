// docs/observability.md lists the metrics. GALEN_UPDATE_GOLDENS=1 rewrites its generated part.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/observability/metrics/catalogue.h"

namespace galen::metrics {
namespace {

const std::string kBegin = "<!-- made by ctest -R MetricsDocument -->\n";
const std::string kEnd = "<!-- end -->\n";
const std::string kPath = absl::StrCat(GALEN_SOURCE_DIR, "/docs/observability.md");

std::string Table() {
  std::string table = "\n| metric | type | labels | of | |\n|---|---|---|---|---|\n";
  for (const Description& metric : Catalogue()) {
    absl::StrAppend(
        &table, "| `", metric.name, "` | ", TypeName(metric.type), " | ",
        metric.labels.empty()
            ? ""
            : absl::StrCat("`", absl::StrReplaceAll(metric.labels, {{",", "`, `"}}), "`"),
        " | ", metric.of, " | ", metric.help, " |\n");
  }
  return table + "\n";
}

TEST(MetricsDocument, IsThePageInDocs) {
  std::ifstream file(kPath, std::ios::binary);
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::size_t from = begin + kBegin.size();
  if (std::getenv("GALEN_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(kPath, std::ios::binary) << page.substr(0, from) << Table() << page.substr(end);
    return;
  }
  EXPECT_EQ(page.substr(from, end - from), Table()) << "run this test with GALEN_UPDATE_GOLDENS=1";
}

TEST(Catalogue, NamesThingsAsPrometheusAsks) {
  std::set<absl::string_view> names;
  for (const Description& metric : Catalogue()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_TRUE(absl::StartsWith(metric.name, "galen_") ||
                absl::StartsWith(metric.name, "process_"))
        << metric.name;
    EXPECT_EQ(absl::EndsWith(metric.name, "_total"), metric.type == MetricType::Counter)
        << metric.name;
    EXPECT_EQ(absl::EndsWith(metric.name, "_seconds") && metric.type != MetricType::Gauge,
              metric.type == MetricType::Histogram)
        << metric.name;
    EXPECT_FALSE(metric.help.empty()) << metric.name;
    EXPECT_FALSE(metric.of.empty()) << metric.name;
  }
}

}  // namespace
}  // namespace galen::metrics
