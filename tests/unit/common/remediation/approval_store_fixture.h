#ifndef TESTS_UNIT_COMMON_REMEDIATION_APPROVAL_STORE_FIXTURE_H_
#define TESTS_UNIT_COMMON_REMEDIATION_APPROVAL_STORE_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/remediation/approval_store.h"
#include "common/store/store.h"
#include "galen/v1/diagnosis.pb.h"
#include "tests/testing/fake_clock.h"

namespace galen::remediation {

// A report with one cause on two nodes.
inline galen::v1::Diagnosis ADiagnosis(const std::string& name = "tenants/acme/diagnoses/d1") {
  galen::v1::Diagnosis diagnosis;
  diagnosis.set_name(name);
  galen::v1::Report& report = *diagnosis.mutable_report();
  report.set_outcome(galen::v1::Report::CAUSE_CONFIRMED);
  galen::v1::Cause& cause = *report.mutable_primary_cause();
  cause.set_label("GPU.PCIE.FELL_OFF_BUS");
  cause.set_mitigation("Drain the node and reset the GPU.");
  for (const char* node : {"n1", "n2"}) {
    galen::v1::Device& device = *cause.add_devices();
    device.set_node(node);
    device.set_device("gpu:3");
    device.set_serial("4711");
  }
  return diagnosis;
}

class ActionsTest : public ::testing::Test {
 protected:
  std::vector<galen::v1::Action> List() {
    return approvals_.List(diagnosis_, clock_.Now()).value();
  }
  ApprovalStore::Decision Approval(const galen::v1::Action& action) {
    return {action.name(), action.etag(), "key/ana", "seen", kUsualLifetime, true};
  }
  absl::StatusOr<galen::v1::Action> Decide(const ApprovalStore::Decision& decision) {
    return approvals_.Decide(diagnosis_, decision, clock_.Now());
  }
  absl::StatusOr<galen::v1::Action> Consume(const galen::v1::Action& action,
                                            const std::string& run = "run-1") {
    return approvals_.Consume(action.name(), action.content_hash(), run, clock_.Now());
  }

  galen::testing::FakeClock clock_;
  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  ApprovalStore approvals_{store_->records()};
  galen::v1::Diagnosis diagnosis_ = ADiagnosis();
};

}  // namespace galen::remediation

#endif  // TESTS_UNIT_COMMON_REMEDIATION_APPROVAL_STORE_FIXTURE_H_
