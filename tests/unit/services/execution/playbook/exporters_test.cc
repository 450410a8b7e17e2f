// Holds every default metric of the exporters against what Galen reads of it, or why it reads
// nothing, and makes the page docs/telemetry-metrics.md of that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/telemetry/rules.h"
#include "services/execution/playbook/playbook_catalogue.h"
#include "tests/testing/status_matchers.h"

namespace galen::playbook {
namespace exporters_test {

using galen::testing::IsOk;
using ::testing::IsEmpty;

constexpr char kPage[] = GALEN_SOURCE_DIR "/docs/telemetry-metrics.md";

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Exporter {
  std::string title;
  std::string source;
  std::vector<std::string> metrics;
};

std::vector<Exporter> Exporters() {
  std::vector<Exporter> exporters;
  const std::string text =
      ReadFile(GALEN_SOURCE_DIR "/tests/unit/services/execution/playbook/exporters.txt");
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (line[0] == '#') continue;
    if (absl::ConsumePrefix(&line, "@ ")) {
      const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(" | ", 1));
      exporters.push_back({parts.front(), parts.back(), {}});
      continue;
    }
    for (const absl::string_view metric : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
      exporters.back().metrics.emplace_back(metric);
    }
  }
  return exporters;
}

class ExportersTest : public ::testing::Test {
 protected:
  ExportersTest() {
    auto rules = telemetry::LoadRules({GALEN_SOURCE_DIR "/knowledge"});
    EXPECT_THAT(rules, IsOk());
    rules_ = *std::move(rules);
    auto catalogue = LoadPlaybooks({GALEN_SOURCE_DIR "/knowledge"});
    EXPECT_THAT(catalogue, IsOk());
    std::map<std::string, std::set<std::string>> of_quantity;
    for (const Playbook& playbook : catalogue->playbooks) {
      for (const Step& step : playbook.steps) {
        for (const std::string& name : step.of) {
          of_quantity[name].insert(absl::StrCat("`", step.check, "`: ", step.finding));
        }
      }
    }
    const std::string warnings = ReadFile(GALEN_SOURCE_DIR "/knowledge/warning/rules.yaml");
    for (const absl::string_view rest : absl::StrSplit(warnings, "measure: ")) {
      of_quantity[std::string(rest.substr(0, rest.find_first_of(",} \n")))].insert("early warning");
    }
    // The quantities for throughput and its course (services/execution/playbook/examine.cc).
    for (const char* name : {"throughput", "step_time", "training_step"}) {
      of_quantity[name].insert("throughput of the job");
    }
    for (const telemetry::Quantity& quantity : rules_.quantities) {
      for (const telemetry::MetricOf& of : quantity.metrics) {
        const std::set<std::string>& by = of_quantity[quantity.name];
        read_[of.metric].insert(by.begin(), by.end());
      }
    }
    for (const telemetry::Naming& naming : rules_.names) {
      read_[naming.metric].insert("names of machines");
    }
  }

  telemetry::Rules rules_;
  std::map<std::string, std::set<std::string>> read_;  // by metric: by what
};

TEST_F(ExportersTest, EveryDefaultMetricIsReadOrWaived) {
  std::vector<std::string> neither;
  std::size_t count = 0;
  for (const Exporter& exporter : Exporters()) {
    for (const std::string& metric : exporter.metrics) {
      ++count;
      const auto read = read_.find(metric);
      const bool is_read = read != read_.end() && !read->second.empty();
      if (!is_read && rules_.WaiverOf(metric) == nullptr) neither.push_back(metric);
    }
  }
  EXPECT_GT(count, 900U);
  EXPECT_THAT(neither, IsEmpty());
}

TEST_F(ExportersTest, EveryDefaultMetricIsOfAFamily) {
  for (const Exporter& exporter : Exporters()) {
    for (const std::string& metric : exporter.metrics) {
      EXPECT_NE(rules_.FamilyOf(metric), nullptr) << metric;
    }
  }
}

TEST_F(ExportersTest, ThePageSaysWhatReadsEachMetric) {
  std::string page =
      "# Metrics of exporters, and what reads them\n\n"
      "Made by a test (`ExportersTest`) from the exporters' own lists "
      "(`tests/unit/services/execution/playbook/exporters.txt`), the quantities of "
      "`knowledge/telemetry/sources.yaml`, and the playbooks and warnings over them. A metric of "
      "an "
      "exporter's default set that nothing reads has a reason there, or the test fails.\n";
  for (const Exporter& exporter : Exporters()) {
    absl::StrAppend(&page, "\n## ", exporter.title, "\n\n", exporter.source,
                    "\n\n| metric | read by |\n|---|---|\n");
    std::map<std::string, int> waived;
    for (const std::string& metric : exporter.metrics) {
      const auto read = read_.find(metric);
      if (read != read_.end() && !read->second.empty()) {
        absl::StrAppend(&page, "| `", metric, "` | ", absl::StrJoin(read->second, "; "), " |\n");
      } else if (const telemetry::Waiver* waiver = rules_.WaiverOf(metric); waiver != nullptr) {
        ++waived[waiver->why];
      }
    }
    for (const auto& [why, count] : waived) {
      absl::StrAppend(&page, "| ", count, " more | waived: ", why, " |\n");
    }
  }
  if (std::getenv("GALEN_UPDATE_GOLDENS") != nullptr) std::ofstream(kPage) << page;
  EXPECT_EQ(ReadFile(kPage), page)
      << "run playbook_test with GALEN_UPDATE_GOLDENS=1 and commit the page";
}

}  // namespace exporters_test
}  // namespace galen::playbook
