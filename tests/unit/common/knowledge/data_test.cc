#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hs.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/knowledge/load.h"
#include "knowledge_files.h"
#include "shipped.h"
#include "tests/testing/status_matchers.h"

namespace galen::knowledge {
namespace {

using ::galen::testing::IsOk;
using ::testing::Contains;
using ::testing::IsEmpty;

const std::string& Directory() {
  static const std::string* const kDirectory = new std::string(GALEN_SOURCE_DIR "/knowledge");
  return *kDirectory;
}

TEST(ShippedKnowledge, LintsWithoutErrorOrWarning) {
  std::vector<Problem> problems;
  const auto base = Parse({Directory()}, problems);
  ASSERT_THAT(base, IsOk());
  EXPECT_THAT(Lines(problems), IsEmpty());
  EXPECT_THAT(Lines(Lint(*base)), IsEmpty());
}

TEST(ShippedKnowledge, HoldsTheWholeTaxonomy) {
  int main = 0;
  int sub = 0;
  int leaves = 0;
  for (const v1::Label& label : Shipped().base().labels()) {
    if (label.parent().empty()) {
      ++main;
    } else if (IsLeaf(label)) {
      ++leaves;
      EXPECT_FALSE(label.title().empty() || label.description().empty()) << label.label();
      EXPECT_FALSE(label.symptoms().empty() || label.sources().empty()) << label.label();
      EXPECT_FALSE(label.mitigation().empty()) << label.label();
    } else {
      ++sub;
      EXPECT_FALSE(label.first_checks().empty()) << label.label();
    }
  }
  EXPECT_EQ(main, 6);
  EXPECT_EQ(sub, 50);
  EXPECT_EQ(leaves, 172);
}

TEST(ShippedKnowledge, HoldsTheCatalogues) {
  const v1::KnowledgeBase& base = Shipped().base();
  EXPECT_GE(base.checks_size(), 117);
  EXPECT_EQ(base.error_codes_size(), 176 + 399);
  EXPECT_GE(base.hardware_size(), 19);
  EXPECT_EQ(base.incidents_size(), 102);
  EXPECT_GE(base.signals_size(), 116 + 193);
}

TEST(ShippedKnowledge, EveryLeafHasAPassiveCheckThatCanDecideIt) {
  for (const v1::Label& label : Shipped().base().labels()) {
    if (!IsLeaf(label)) continue;
    EXPECT_FALSE(Shipped().ChecksFor(label).empty()) << label.label();
  }
}

// A finding is evidence to the reasoner if it is an event, or if its check declares when it is
// abnormal; all others are context, and context confirms nothing.
bool CanBeEvidence(const v1::Rule& rule) {
  const v1::FindingSpec* spec = Shipped().FindFinding(rule.check(), rule.finding());
  if (spec == nullptr || absl::StartsWith(rule.check(), "history.")) return false;
  bool limits = false;
  for (const v1::FindingSpec& each : Shipped().FindCheck(rule.check())->findings()) {
    limits = limits || each.has_abnormal();
  }
  return spec->type() == "event" || spec->has_abnormal() || !limits;
}

TEST(ShippedKnowledge, EveryLeafCanBeConfirmedByMoreThanContext) {
  for (const v1::Label& label : Shipped().base().labels()) {
    if (!IsLeaf(label)) continue;
    EXPECT_TRUE(std::any_of(label.confirm().begin(), label.confirm().end(), CanBeEvidence))
        << label.label();
  }
}

TEST(ShippedKnowledge, EverySignalPatternCompilesInHyperscan) {
  for (const v1::SignalPattern& signal : Shipped().base().signals()) {
    hs_database_t* database = nullptr;
    hs_compile_error_t* error = nullptr;
    const hs_error_t result =
        hs_compile(signal.pattern().c_str(), HS_FLAG_MULTILINE | HS_FLAG_SINGLEMATCH, HS_MODE_BLOCK,
                   nullptr, &database, &error);
    EXPECT_EQ(result, HS_SUCCESS) << signal.id() << ": " << (error ? error->message : "");
    if (error != nullptr) hs_free_compile_error(error);
    hs_free_database(database);
  }
}

TEST(ShippedKnowledge, TellsAContainersDriverFromTheHosts) {
  const v1::Label* label = Shipped().FindLabel("SYSTEM_SOFTWARE.DRIVER.USER_KERNEL_VERSION_SKEW");
  ASSERT_NE(label, nullptr);
  EXPECT_THAT(Shipped().ChecksFor(*label), Contains("container.libraries"));
  EXPECT_THAT(label->secondary_effects(), Contains("Xid 119"));
  for (const v1::Rule& rule : label->refute()) EXPECT_NE(rule.check(), "gpu.driver");
  const v1::FindingSpec* skew = Shipped().FindFinding("container.libraries", "driver_skew");
  ASSERT_NE(skew, nullptr);
  EXPECT_EQ(skew->abnormal().op(), v1::Rule::EQ);
  EXPECT_EQ(skew->abnormal().value(), "true");
}

TEST(ShippedKnowledge, FaultsAreAbnormalAndContextIsNot) {
  const auto limited = [](absl::string_view check, absl::string_view finding) {
    const v1::FindingSpec* spec = Shipped().FindFinding(check, finding);
    EXPECT_NE(spec, nullptr) << check << " " << finding;
    return spec != nullptr && spec->has_abnormal();
  };
  EXPECT_TRUE(limited("gpu.ecc", "dram_uncorrectable_volatile"));
  EXPECT_TRUE(limited("gpu.row_remap", "pending"));
  EXPECT_TRUE(limited("gpu.nvlink_status", "links_inactive"));
  EXPECT_TRUE(limited("system.kernel_log", "xid"));
  EXPECT_TRUE(limited("nccl.env", "names_absent_device"));
  EXPECT_TRUE(limited("system.disk", "used_pct"));
  EXPECT_FALSE(limited("gpu.ecc", "dram_uncorrectable_aggregate"));  // of its whole life
  EXPECT_FALSE(limited("gpu.ecc", "ecc_mode"));
  EXPECT_FALSE(limited("gpu.driver", "module_version"));
  EXPECT_FALSE(limited("system.kernel_log", "first_event"));
}

TEST(ShippedKnowledge, KnowsModelsByTheProductNameOfTheDriver) {
  const auto model = [](absl::string_view product) {
    const v1::Hardware* hardware = Shipped().FindHardware(product);
    return hardware == nullptr ? std::string("none") : hardware->model();
  };
  EXPECT_EQ(model("NVIDIA H100 80GB HBM3"), "H100-SXM5-80GB");
  EXPECT_EQ(model("NVIDIA H100 PCIe"), "H100-PCIe-80GB");
  EXPECT_EQ(model("NVIDIA A100-SXM4-40GB"), "A100-SXM4-40GB");
  EXPECT_EQ(model("NVIDIA A100-SXM4-80GB"), "A100-SXM4-80GB");
  EXPECT_EQ(model("NVIDIA A100 80GB PCIe"), "A100-PCIe-80GB");
  EXPECT_EQ(model("Tesla V100-SXM2-32GB"), "V100-SXM2");
  EXPECT_EQ(model("NVIDIA H200"), "H200-SXM-141GB");
  EXPECT_EQ(model("NVIDIA H20"), "H20-96GB");
  EXPECT_EQ(model("NVIDIA B200"), "B200-SXM-180GB");
  EXPECT_EQ(model("NVIDIA GB200"), "GB200-186GB");
  EXPECT_EQ(model("AMD Instinct MI300X"), "MI300X-192GB");
  EXPECT_EQ(model("NVIDIA GeForce RTX 3060"), "none");
  EXPECT_EQ(Shipped().FindHardware("NVIDIA H100 80GB HBM3")->facts().at("nvlinks"), 18);
}

TEST(ShippedKnowledge, KnowsErrorCodes) {
  ASSERT_NE(Shipped().FindErrorCode("xid", 48), nullptr);
  EXPECT_EQ(Shipped().FindErrorCode("xid", 79)->severity(), "critical");
  EXPECT_NE(Shipped().FindErrorCode("sxid", 20034), nullptr);
  EXPECT_EQ(Shipped().FindErrorCode("xid", 100000), nullptr);
}

}  // namespace
}  // namespace galen::knowledge
