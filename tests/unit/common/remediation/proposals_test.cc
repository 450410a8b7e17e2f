// Proposed actions; Galen carries one out itself only if a check examined the node.
#include "common/remediation/proposals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/common/remediation/approval_store_fixture.h"

namespace galen::remediation {
namespace {

using ::testing::IsEmpty;

NodeActions Offered() {
  return {{{"kubernetes.cordon", NodeAction::Do::kCordon, "", "", "Cordon ${node}.", {"GPU"}},
           {"kubernetes.taint",
            NodeAction::Do::kTaint,
            "galen.io/faulty",
            "NoSchedule",
            "Taint ${node} with ${label}.",
            {"GPU.PCIE"}}},
          5};
}

galen::v1::Diagnosis Checked() {
  galen::v1::Diagnosis diagnosis = ADiagnosis();
  for (const char* id : {"gpu.presence@n1", "signal/xid@n2"}) {
    diagnosis.mutable_report()->mutable_primary_cause()->add_evidence_ids(id);
  }
  return diagnosis;
}

std::vector<std::string> RunsOf(const galen::v1::Diagnosis& diagnosis) {
  std::vector<std::string> runs;
  for (const galen::v1::Action& action : ProposedBy(diagnosis, Offered())) {
    if (action.run().empty()) continue;
    runs.push_back(absl::StrCat(action.run(), " ", action.target().node(), ": ", action.text()));
    EXPECT_EQ(action.target().device(), "");
  }
  return runs;
}

TEST(ProposedBy, OffersWhatIsForTheCauseOnNodesThatAChecksEvidenceNames) {
  EXPECT_THAT(RunsOf(Checked()),
              ::testing::ElementsAre("kubernetes.cordon n1: Cordon n1.",
                                     "kubernetes.taint n1: Taint n1 with GPU.PCIE.FELL_OFF_BUS."));
  // In addition to the actions for people.
  EXPECT_EQ(ProposedBy(Checked(), Offered()).size(), 4u);
  EXPECT_EQ(ProposedBy(Checked(), {}).size(), 2u);
}

TEST(ProposedBy, OffersNothingForWhatSomebodyBroughtOrWhatACustomerMends) {
  galen::v1::Diagnosis bundle = Checked();
  bundle.mutable_incident()->set_bundle("capture");
  EXPECT_THAT(RunsOf(bundle), IsEmpty());
  galen::v1::Diagnosis customer = Checked();
  customer.mutable_report()->mutable_primary_cause()->set_owner("customer");
  EXPECT_THAT(RunsOf(customer), IsEmpty());
  galen::v1::Diagnosis other = Checked();
  other.mutable_report()->mutable_primary_cause()->set_label("GPUX.FAN");
  EXPECT_THAT(RunsOf(other), IsEmpty());
  galen::v1::Diagnosis open = Checked();
  open.mutable_report()->set_outcome(galen::v1::Report::NO_CAUSE_CONFIRMED);
  EXPECT_THAT(RunsOf(open), IsEmpty());
}

TEST(ContentHash, IsOfWhatIsDoneToo) {
  galen::v1::Action action = ProposedBy(Checked(), Offered())[0];
  const std::string hash = ContentHash(action);
  action.set_run("kubernetes.taint");
  EXPECT_NE(ContentHash(action), hash);
}

}  // namespace
}  // namespace galen::remediation
