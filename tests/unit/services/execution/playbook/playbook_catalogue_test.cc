#include "services/execution/playbook/playbook_catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/knowledge/load.h"
#include "common/telemetry/rules.h"
#include "services/execution/playbook/lint.h"
#include "services/execution/playbook/series_tests.h"
#include "tests/testing/status_matchers.h"

namespace galen::playbook {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kOne[] = R"(
playbooks:
  - name: power
    title: Power
    when: It is hot.
    queries:
      - {name: total_power, promql: 'sum(DCGM_FI_DEV_POWER_USAGE)', unit: W}
    steps:
      - {check: telemetry.gpu_health, finding: temp_peak_c, test: highest, of: [gpu_temperature]}
      - check: telemetry.retransmits
        finding: outlier_host
        test: differs
        of: [rdma_retransmissions]
        over: node
        combine: sum
        numbers: {least: 2}
        collect: the counters
)";

absl::Status Add(absl::string_view text) {
  PlaybookCatalogue catalogue;
  return AddTo(catalogue, text, "a.yaml");
}

TEST(PlaybookCatalogueTest, AStepIsReadWithAllThatItSays) {
  PlaybookCatalogue catalogue;
  ASSERT_THAT(AddTo(catalogue, kOne, "a.yaml"), IsOk());
  ASSERT_THAT(catalogue.playbooks, SizeIs(1));
  const auto steps = catalogue.StepsOf("telemetry.retransmits");
  ASSERT_THAT(steps, SizeIs(1));
  EXPECT_EQ(steps[0]->over, Over::kNode);
  EXPECT_EQ(steps[0]->combine, Combine::kSum);
  EXPECT_EQ(steps[0]->numbers.at("least"), 2);
  EXPECT_EQ(steps[0]->collect, "the counters");
  ASSERT_NE(catalogue.FindQuery("total_power"), nullptr);
  EXPECT_EQ(catalogue.FindQuery("other"), nullptr);
}

TEST(PlaybookCatalogueTest, APlaybookOfTheSameNameReplacesTheOneBefore) {
  PlaybookCatalogue catalogue;
  ASSERT_THAT(AddTo(catalogue, kOne, "a.yaml"), IsOk());
  ASSERT_THAT(AddTo(catalogue, R"(
playbooks:
  - name: power
    steps:
      - {check: telemetry.ecc_rate, finding: correctable_per_s, test: rate, of: [gpu_ecc_correctable]}
)",
                    "b.yaml"),
              IsOk());
  EXPECT_THAT(catalogue.playbooks, SizeIs(1));
  EXPECT_THAT(catalogue.StepsOf("telemetry.gpu_health"), IsEmpty());
  EXPECT_THAT(catalogue.StepsOf("telemetry.ecc_rate"), SizeIs(1));
}

TEST(PlaybookCatalogueTest, MistakesNameTheirLineAndWhatToDo) {
  const struct {
    const char* text;
    const char* said;
  } kCases[] = {
      {"playbook:\n", "playbook: unknown; there are playbooks"},
      {"playbooks:\n  - name: a\n", "has a name and steps"},
      {"playbooks:\n  - name: a\n    steps:\n      - {check: c, finding: f, test: nothing}\n",
       "a.yaml:4: test: \"nothing\" is unknown; the tests are highest"},
      {"playbooks:\n  - name: a\n    steps:\n      - {check: c, finding: f, test: highest}\n",
       "of: highest takes 1"},
      {"playbooks:\n  - name: a\n    steps:\n      - {check: c, finding: f, test: highest, of: "
       "[x], "
       "numbers: {least: 1}}\n",
       "highest has no least"},
      {"playbooks:\n  - name: a\n    steps:\n      - {check: c, finding: f, test: differs, of: "
       "[x], "
       "numbers: {most_share: 7}}\n",
       "most_share: must be 0.01 to 0.5"},
      {"playbooks:\n  - name: a\n    steps:\n      - {check: c, finding: f, test: highest, of: "
       "[x], "
       "over: rack}\n",
       "over: write device, node or job"},
      {"playbooks:\n  - name: a\n    steps:\n      - {check: c, test: highest, of: [x]}\n",
       "finding: is missing"},
      {"playbooks:\n  - name: a\n    queries:\n      - {name: q}\n", "has a name and promql"},
  };
  for (const auto& [text, said] : kCases) {
    EXPECT_THAT(Add(text), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(said))) << text;
  }
}

TEST(PlaybookCatalogueTest, ShippedPlaybooksFitTheRestOfTheKnowledge) {
  const auto catalogue = LoadPlaybooks({GALEN_SOURCE_DIR "/knowledge"});
  const auto rules = telemetry::LoadRules({GALEN_SOURCE_DIR "/knowledge"});
  const auto knowledge = knowledge::Load({GALEN_SOURCE_DIR "/knowledge"}, {});
  ASSERT_THAT(catalogue, IsOk());
  ASSERT_THAT(rules, IsOk());
  ASSERT_THAT(knowledge, IsOk());
  EXPECT_THAT(Lint(*catalogue, *rules, **knowledge), IsEmpty());
}

TEST(PlaybookCatalogueTest, WhatFitsNothingIsTold) {
  const auto rules = telemetry::LoadRules({GALEN_SOURCE_DIR "/knowledge"});
  const auto knowledge = knowledge::Load({GALEN_SOURCE_DIR "/knowledge"}, {});
  ASSERT_THAT(rules, IsOk());
  ASSERT_THAT(knowledge, IsOk());
  PlaybookCatalogue catalogue;
  ASSERT_THAT(AddTo(catalogue, R"(
playbooks:
  - name: wrong
    steps:
      - {check: telemetry.nothing, finding: f, test: highest, of: [gpu_power]}
      - {check: telemetry.gpu_health, finding: nothing, test: highest, of: [gpu_power]}
      - {check: telemetry.gpu_health, finding: busy_at_idle_power, test: highest, of: [gpu_power]}
      - {check: telemetry.gpu_health, finding: temp_peak_c, test: highest, of: [nothing]}
      - {check: telemetry.gpu_health, finding: temp_peak_c, test: highest, of: [gpu_power], points_to: [NO.SUCH.LABEL]}
      - {check: telemetry.gpu_health, finding: temp_peak_c, test: highest, of: [gpu_power],
         points_to: [USER_APPLICATION.TRAINING.MOE_ROUTING_IMBALANCE]}
)",
                    "w.yaml"),
              IsOk());
  const std::vector<std::string> faults = Lint(catalogue, *rules, **knowledge);
  for (const char* const said :
       {"w.yaml:5: check: telemetry.nothing is not in the catalogue",
        "w.yaml:6: finding: telemetry.gpu_health declares no nothing",
        "w.yaml:7: test: highest gives float, and busy_at_idle_power is declared as bool",
        "w.yaml:8: of: nothing is neither a quantity", "w.yaml:9: points_to: NO.SUCH.LABEL",
        "w.yaml:10: points_to: no rule of USER_APPLICATION.TRAINING.MOE_ROUTING_IMBALANCE",
        "playbooks: none answers check telemetry.throughput"}) {
    EXPECT_THAT(faults, Contains(HasSubstr(said)));
  }
}

TEST(PlaybookCatalogueTest, ASiteAddsAPlaybookWithoutCode) {
  std::string site = ::testing::TempDir() + "/playbooksXXXXXX";
  ASSERT_NE(mkdtemp(site.data()), nullptr);
  std::filesystem::create_directories(site + "/playbooks");
  std::ofstream(site + "/playbooks/own.yaml") << kOne;
  const auto catalogue = LoadPlaybooks({GALEN_SOURCE_DIR "/knowledge", site});
  std::filesystem::remove_all(site);
  ASSERT_THAT(catalogue, IsOk());
  EXPECT_NE(catalogue->FindQuery("total_power"), nullptr);
  EXPECT_THAT(LoadPlaybooks({site}), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST(SeriesTestsTest, TheDocumentNamesEveryTestAsItIs) {
  std::ifstream in(GALEN_SOURCE_DIR "/docs/telemetry.md");
  std::stringstream text;
  text << in.rdbuf();
  for (const playbook::SeriesTest& test : SeriesTests()) {
    EXPECT_THAT(text.str(), HasSubstr(absl::StrCat("| `", test.name, "` | ", test.measures, " | ",
                                                   test.says, " |")));
  }
}

TEST(SeriesTestsTest, EveryTestSaysWhatItFindsAndEveryNumberWhereItIsFrom) {
  for (const playbook::SeriesTest& test : SeriesTests()) {
    EXPECT_FALSE(test.says.empty()) << test.name;
    EXPECT_EQ(FindSeriesTest(test.name), &test);
    for (const NumberSpec& number : test.numbers) {
      EXPECT_FALSE(number.says.empty()) << test.name << " " << number.name;
      EXPECT_GE(number.usual, number.least) << test.name << " " << number.name;
      EXPECT_LE(number.usual, number.most) << test.name << " " << number.name;
    }
  }
  EXPECT_EQ(FindSeriesTest("nothing"), nullptr);
}

}  // namespace
}  // namespace galen::playbook
