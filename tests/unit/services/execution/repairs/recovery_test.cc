// A repair helped if a check finds so, and not if no check answers.
#include "services/execution/repairs/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::execution {
namespace {

using galen::v1::CheckResult;
using ::testing::HasSubstr;

const std::vector<remediation::RunAction::Recovery> kPromise = {
    {"gpu.clocks", "user_setting_changed", "false"}};

galen::v1::Device Target() {
  galen::v1::Device target;
  target.set_node("n1");
  target.set_device("gpu:3");
  target.set_pci_address("0000:3b:00.0");
  return target;
}

CheckResult Clocks(const std::string& pci, bool changed, const std::string& device = "gpu:3") {
  CheckResult result;
  result.set_check("gpu.clocks");
  result.set_node("n1");
  galen::v1::Finding& finding = *result.add_findings();
  finding.set_name("user_setting_changed");
  finding.set_bool_value(changed);
  finding.mutable_subject()->set_node("n1");
  finding.mutable_subject()->set_device(device);
  finding.mutable_subject()->set_pci_address(pci);
  return result;
}

TEST(RecoveryTest, IsWhatTheCheckFindsOfThatVeryDevice) {
  EXPECT_TRUE(RecoveryOf(kPromise, Target(), {Clocks("0000:3b:00.0", false)}).all);
  const Recovered not_yet = RecoveryOf(kPromise, Target(), {Clocks("0000:3b:00.0", true)});
  EXPECT_FALSE(not_yet.all);
  EXPECT_THAT(not_yet.text, HasSubstr("finds user_setting_changed true, and not false"));
  // Another GPU that is well, also one that took its number since.
  EXPECT_FALSE(RecoveryOf(kPromise, Target(), {Clocks("0000:86:00.0", false)}).all);
  // Without an address, the place identifies the GPU.
  EXPECT_TRUE(RecoveryOf(kPromise, Target(), {Clocks("", false)}).all);
  EXPECT_FALSE(RecoveryOf(kPromise, Target(), {Clocks("", false, "gpu:4")}).all);
}

TEST(RecoveryTest, SilenceIsNone) {
  EXPECT_FALSE(RecoveryOf(kPromise, Target(), {}).all);
  CheckResult error;
  error.set_check("gpu.clocks");
  error.set_node("n1");
  error.set_status(CheckResult::ERROR);
  error.set_message("nvidia-smi hangs");
  const Recovered silent = RecoveryOf(kPromise, Target(), {error});
  EXPECT_FALSE(silent.all);
  EXPECT_THAT(silent.text, HasSubstr("nvidia-smi hangs"));
  CheckResult unknown = Clocks("0000:3b:00.0", false);
  unknown.mutable_findings(0)->clear_value();
  EXPECT_FALSE(RecoveryOf(kPromise, Target(), {unknown}).all);
  CheckResult elsewhere = Clocks("0000:3b:00.0", false);
  elsewhere.set_node("n2");
  EXPECT_FALSE(RecoveryOf(kPromise, Target(), {elsewhere}).all);
}

TEST(RecoveryTest, OfSeveralPromisesAllHaveToBeKept) {
  std::vector<remediation::RunAction::Recovery> two = kPromise;
  two.push_back({"gpu.smi_health", "hung", "false"});
  EXPECT_FALSE(RecoveryOf(two, Target(), {Clocks("0000:3b:00.0", false)}).all);
}

}  // namespace
}  // namespace galen::execution
