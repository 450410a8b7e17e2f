#include "services/advisor/learning/known_mismatches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/knowledge/load.h"
#include "services/advisor/learning/signs.h"
#include "tests/testing/status_matchers.h"

namespace galen::advisor {
namespace known_mismatches_test {

using ::galen::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kKnowledge = GALEN_SOURCE_DIR "/knowledge";

const KnownMismatches& Shipped() {
  static const auto known =
      new absl::StatusOr<KnownMismatches>(KnownMismatches::Load({kKnowledge}));
  EXPECT_TRUE(known->ok()) << known->status();
  return **known;
}

std::vector<std::string> Names(const JobFacts& facts) {
  std::vector<std::string> names;
  for (const KnownMismatch* each : Shipped().Find(facts)) names.push_back(each->name);
  return names;
}

TEST(KnownMismatches, AreFoundWhenAJobIsRegistered) {
  const std::string h100 = "NVIDIA H100 80GB HBM3";
  const std::string a100 = "NVIDIA A100-SXM4-80GB";
  EXPECT_THAT(Names({.needs = {"fp8"}, .gpu = a100}), ElementsAre("fp8_without_units"));
  EXPECT_THAT(Names({.needs = {"fp8"}, .gpu = h100}), IsEmpty());
  EXPECT_THAT(Names({.needs = {"bf16"}, .gpu = "Tesla V100-SXM2-32GB"}),
              ElementsAre("bf16_without_units"));
  EXPECT_THAT(Names({.versions = {{"cuda", {"11.7"}}}, .gpu = h100}),
              ElementsAre("cuda_has_no_code_for_hopper"));
  EXPECT_THAT(Names({.versions = {{"cuda", {"12.4"}}}, .gpu = "NVIDIA B200"}),
              ElementsAre("cuda_has_no_code_for_blackwell"));
  EXPECT_THAT(Names({.versions = {{"driver", {"525.85.12"}}}}), ElementsAre("driver_525_gsp"));
  EXPECT_THAT(Names({.versions = {{"driver", {"525.105.17"}}}}), IsEmpty());
  EXPECT_THAT(Names({.needs = {"all_to_all"}, .versions = {{"nccl", {"2.19.3"}}}}),
              ElementsAre("nccl_219_all_to_all"));
  EXPECT_THAT(Names({.versions = {{"nccl", {"2.19.3", "2.21.5"}}}}),
              ElementsAre("nccl_versions_differ"));
  EXPECT_THAT(Names({.versions = {{"driver", {"550.90.07"}}, {"fabric_manager", {"550.54.15"}}}}),
              ElementsAre("fabric_manager_unequal"));
  EXPECT_THAT(Names({.needs = {"gpudirect_rdma"}, .settings = {"acs_enabled"}}),
              ElementsAre("gpudirect_with_acs"));
}

// From CUDA 11 on a runtime runs on any driver of its major release.
TEST(KnownMismatches, ACudaAboveTheDriverIsAnErrorAcrossMajorReleasesAlone) {
  const auto names = [](const std::string& cuda, const std::set<std::string>& driver_cuda) {
    return Names({.versions = {{"cuda", {cuda}}, {"driver_cuda", driver_cuda}}});
  };
  EXPECT_THAT(names("12.4", {"12.4"}), IsEmpty());
  EXPECT_THAT(names("12.4.1", {"12.4"}), IsEmpty());  // the driver's version has no third part
  EXPECT_THAT(names("12", {"11.8"}), ElementsAre("cuda_above_driver"));
  EXPECT_THAT(names("12.4", {"13.0"}), IsEmpty());
  EXPECT_THAT(names("12.4", {"12.2"}), ElementsAre("cuda_minor_above_driver"));
  EXPECT_THAT(names("12.10", {"12.9"}), ElementsAre("cuda_minor_above_driver"));
  EXPECT_THAT(names("13.0", {"12.9"}), ElementsAre("cuda_above_driver"));
  EXPECT_THAT(names("10.2", {"10.1"}), ElementsAre("cuda_10_above_driver"));
  // One machine of the job with an older driver is enough.
  EXPECT_THAT(names("12.8", {"12.2", "13.0"}), ElementsAre("cuda_minor_above_driver"));
  for (const KnownMismatch* each : Shipped().all()) {
    if (absl::StrContains(each->name, "above_driver")) {
      EXPECT_EQ(each->error, each->name != "cuda_minor_above_driver");
    }
  }
}

TEST(KnownMismatches, HowAVersionWasBuiltMakesItNoOther) {
  EXPECT_THAT(Names({.versions = {{"nccl", {"2.21.5", "2.21.5+cuda12.4"}}}}), IsEmpty());
  EXPECT_THAT(Names({.versions = {{"nccl", {"2.21.5+cuda11.8", "2.20.5+cuda11.8"}}}}),
              ElementsAre("nccl_versions_differ"));
  EXPECT_THAT(Names({.needs = {"all_to_all"}, .versions = {{"nccl", {"2.19.4+cuda12.2"}}}}),
              IsEmpty());
}

TEST(KnownMismatches, GpusAreToldByWholeWords) {
  for (const char* gpu : {"NVIDIA A100-SXM4-80GB", "NVIDIA A100X", "A100", "NVIDIA A100 80GB PCIe",
                          "GRID A100D-80C", "NVIDIA A800-SXM4-80GB", "NVIDIA A30"}) {
    EXPECT_THAT(Names({.needs = {"fp8"}, .gpu = gpu}), ElementsAre("fp8_without_units")) << gpu;
  }
  for (const char* gpu : {"Tesla V100-SXM2-32GB", "Tesla V100S-PCIE-32GB"}) {
    EXPECT_THAT(Names({.needs = {"bf16"}, .gpu = gpu}), ElementsAre("bf16_without_units")) << gpu;
  }
  for (const char* gpu : {"NVIDIA H100 80GB HBM3", "NVIDIA H100XM-80C", "NVIDIA H200", "NVIDIA H20",
                          "NVIDIA GH200 480GB"}) {
    EXPECT_THAT(Names({.versions = {{"cuda", {"11.7"}}}, .gpu = gpu}),
                ElementsAre("cuda_has_no_code_for_hopper"))
        << gpu;
  }
  for (const char* gpu : {"NVIDIA L40S", "NVIDIA L40", "NVIDIA L4"}) {
    EXPECT_THAT(Names({.versions = {{"cuda", {"11.7"}}}, .gpu = gpu}),
                ElementsAre("cuda_has_no_code_for_ada"))
        << gpu;
  }
  // Nothing is known about these GPUs.
  for (const char* gpu : {"NVIDIA RTX A1000", "NVIDIA RTX A3000 Laptop GPU", "NVIDIA T400 4GB"}) {
    EXPECT_THAT(Names({.needs = {"fp8", "fp4", "bf16"}, .gpu = gpu}), IsEmpty()) << gpu;
  }
}

TEST(KnownMismatches, ErrorsStandBeforeWarnings) {
  EXPECT_THAT(Names({.needs = {"fp8", "gpudirect_rdma"},
                     .versions = {{"driver", {"525.60.13"}}, {"nccl", {"2.18", "2.20"}}},
                     .gpu = "NVIDIA A100-PCIE-40GB",
                     .settings = {"acs_enabled"}}),
              ElementsAre("fp8_without_units", "nccl_versions_differ", "driver_525_gsp",
                          "gpudirect_with_acs"));
}

// Facts that were not reported are unknown, and nobody is warned about unknown facts.
TEST(KnownMismatches, NothingHoldsOfWhatWasNotTold) {
  EXPECT_THAT(Names({}), IsEmpty());
  EXPECT_THAT(Names({.needs = {"fp8", "fp4", "bf16"}, .gpu = "A GPU that nobody knows"}),
              IsEmpty());
  EXPECT_THAT(Names({.versions = {{"cuda", {"12.4"}}}}), IsEmpty());
}

TEST(KnownMismatches, EveryRuleAndSignNamesACheckOfTheCatalogueAndItsSource) {
  const auto knowledge = knowledge::Load({kKnowledge}, {});
  ASSERT_TRUE(knowledge.ok()) << knowledge.status();
  ASSERT_GE(Shipped().size(), 15u);
  for (const KnownMismatch* each : Shipped().all()) {
    EXPECT_NE((*knowledge)->FindCheck(each->check), nullptr) << each->name << ": " << each->check;
    EXPECT_FALSE(each->source.empty() || each->advice.empty()) << each->name;
  }
  const auto signs = BuildUpSigns::Load({kKnowledge});
  ASSERT_TRUE(signs.ok()) << signs.status();
  ASSERT_GE(signs->all().size(), 8u);
  for (const BuildUpSign& each : signs->all()) {
    EXPECT_NE((*knowledge)->FindCheck(each.check), nullptr) << each.name << ": " << each.check;
  }
}

TEST(KnownMismatches, ASiteReplacesARuleByItsName) {
  const char gpus[] = "gpus:\n  - {match: X1, has: [fp8], source: s}\n";
  const auto parsed =
      KnownMismatches::Parse(gpus,
                             "mismatches:\n"
                             "  - {name: a, title: t, severity: error, all: ['gpu has fp8'], "
                             "check: c, advice: d, source: s}\n"
                             "  - {name: a, title: t, severity: warning, all: ['gpu lacks fp8'], "
                             "check: c, advice: d, source: s}\n");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->size(), 1u);
  EXPECT_THAT(parsed->Find({.gpu = "X1"}), IsEmpty());
}

TEST(KnownMismatches, SayWhatIsWrongWithARule) {
  const auto parse = [](const std::string& condition) {
    return KnownMismatches::Parse(
        "", "mismatches:\n  - {name: a, title: t, severity: error, all: ['" + condition +
                "'], check: c, advice: d, source: s}\n");
  };
  EXPECT_THAT(parse("needs acme"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"acme\" is not a need")));
  EXPECT_THAT(parse("version nccl 2.19"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("write >=2.19,<2.19.4")));
  EXPECT_THAT(parse("moon is full"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a condition")));
  EXPECT_THAT(KnownMismatches::Parse("", "mismatches:\n  - {name: a}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("advisor/mismatches.yaml:2")));
  EXPECT_THAT(KnownMismatches::Parse("gpus:\n  - {match: '(', has: [a], source: s}\n", ""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("match (")));
}

TEST(KnownMismatches, AFieldThatIsNoListIsNotTakenForAnEmptyOne) {
  EXPECT_THAT(KnownMismatches::Parse("gpus: A100\n", ""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("gpus.yaml:1: gpus: is no")));
  EXPECT_THAT(KnownMismatches::Parse("", "mismatches: {name: a}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("mismatches: is not a list")));
  EXPECT_THAT(BuildUpSigns::Parse("signs: {name: a}\n", "s.yaml"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("signs: is not a list")));
  EXPECT_TRUE(KnownMismatches::Parse("gpus:\n", "mismatches: []\n").ok());
  EXPECT_TRUE(BuildUpSigns::Parse("signs:\n", "s.yaml").ok());
}

TEST(Versions, AreOrderedByTheirNumbers) {
  EXPECT_LT(OrderVersions("2.9", "2.10"), 0);
  EXPECT_EQ(OrderVersions("2.19", "2.19.0"), 0);
  EXPECT_GT(OrderVersions("525.105.17", "525.85.12"), 0);
  EXPECT_LT(OrderVersions("2.1.0", "2.1.0.post1"), 0);
  EXPECT_EQ(OrderVersions("", ""), 0);
}

TEST(Signs, HaveLevelsByTheirValues) {
  const auto signs = BuildUpSigns::Load({kKnowledge});
  ASSERT_TRUE(signs.ok());
  const BuildUpSign& sign = signs->all().front();
  EXPECT_EQ(BuildUpSigns::LevelOf(sign, 9), 0);
  EXPECT_EQ(BuildUpSigns::LevelOf(sign, 10), 1);
  EXPECT_EQ(BuildUpSigns::LevelOf(sign, 1e9), 3);
  EXPECT_EQ(BuildUpSigns::LevelOf(sign, NAN), 0);
}

}  // namespace known_mismatches_test
}  // namespace galen::advisor
