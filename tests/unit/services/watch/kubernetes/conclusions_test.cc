// Conclusions from the event logs.
#include "services/watch/kubernetes/conclusions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/store/store.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::watch::kubernetes {
namespace {

using galen::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Event = galen::v1::DiagnosisEvent;

class ConclusionsTest : public ::testing::Test {
 protected:
  std::string Create(const std::string& id, const std::string& bundle = "",
                     const std::string& tenant = "provider") {
    const std::string name = "tenants/" + tenant + "/diagnoses/" + id;
    Event event;
    Stamp(event);
    event.mutable_created()->set_name(name);
    event.mutable_created()->set_request_id(id);
    event.mutable_created()->mutable_incident()->set_bundle(bundle);
    EXPECT_THAT(store_->events().Create(event), IsOk());
    return name;
  }
  void Append(const std::string& name, const std::function<void(Event&)>& change) {
    const auto lease = store_->events().AcquireLease(name, "test", clock_.Now(), absl::Hours(1000));
    ASSERT_THAT(lease, IsOk());
    const auto before = store_->events().Read(name, 0, 1000);
    Event event;
    Stamp(event);
    change(event);
    event.set_sequence(static_cast<std::int64_t>(before->size()) + 1);
    ASSERT_THAT(store_->events().Append(*lease, static_cast<std::int64_t>(before->size()), {event}),
                IsOk());
  }
  void Conclude(const std::string& name, const std::string& label) {
    Append(name, [&](Event& event) {
      galen::v1::Report& report = *event.mutable_concluded()->mutable_report();
      report.set_outcome(galen::v1::Report::CAUSE_CONFIRMED);
      report.mutable_primary_cause()->set_label(label);
      report.mutable_primary_cause()->add_devices()->set_node("n1");
    });
  }
  void Stamp(Event& event) {
    event.mutable_event_time()->set_seconds(absl::ToUnixSeconds(clock_.Now()));
  }
  static std::vector<std::string> LabelsOf(const Conclusions& conclusions) {
    std::vector<std::string> labels;
    for (const Conclusion& one : conclusions.All()) {
      for (const Fault& fault : one.faults) labels.push_back(fault.label);
    }
    return labels;
  }

  galen::testing::FakeClock clock_;
  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  Conclusions conclusions_{store_->events(), clock_, absl::Hours(24), "tenants/provider"};
};

TEST_F(ConclusionsTest, AreNotOfWhatSomebodyBrought) {
  Conclude(Create("bundle", "capture-of-a-machine"), "GPU.A");
  Conclude(Create("logs", "", "acme"), "GPU.B");  // no check of the node is cited
  Conclude(Create("reported"), "GPU.C");
  Conclude(Create("like-ours", "", "provider2"), "GPU.D");
  ASSERT_THAT(conclusions_.Scan(), IsOk());
  EXPECT_THAT(LabelsOf(conclusions_), ElementsAre("GPU.C"));
}

TEST_F(ConclusionsTest, AreThoseOfBeforeAndThoseThatCome) {
  Conclude(Create("before"), "GPU.A");
  const std::string runs = Create("runs");
  ASSERT_THAT(conclusions_.Scan(), IsOk());
  EXPECT_THAT(LabelsOf(conclusions_), ElementsAre("GPU.A"));
  Conclude(runs, "GPU.B");
  Conclude(Create("after"), "GPU.C");
  ASSERT_THAT(conclusions_.Scan(), IsOk());
  EXPECT_THAT(LabelsOf(conclusions_), ::testing::UnorderedElementsAre("GPU.A", "GPU.B", "GPU.C"));
}

TEST_F(ConclusionsTest, TheLastReportOfADiagnosisCounts) {
  const std::string name = Create("d");
  Conclude(name, "GPU.A");
  ASSERT_THAT(conclusions_.Scan(), IsOk());
  Append(name, [](Event& event) { event.mutable_feedback_received()->set_text("no"); });
  Conclude(name, "GPU.B");
  ASSERT_THAT(conclusions_.Scan(), IsOk());
  EXPECT_THAT(LabelsOf(conclusions_), ElementsAre("GPU.B"));
}

TEST_F(ConclusionsTest, AreForgottenInTime) {
  Conclude(Create("d"), "GPU.A");
  ASSERT_THAT(conclusions_.Scan(), IsOk());
  clock_.Advance(absl::Hours(25));
  Conclude(Create("new"), "GPU.B");
  ASSERT_THAT(conclusions_.Scan(), IsOk());
  EXPECT_THAT(LabelsOf(conclusions_), ElementsAre("GPU.B"));
}

TEST_F(ConclusionsTest, AreFoundBehindManyThatBeganLater) {
  const std::string runs = Create("runs");
  for (int i = 0; i < 600; ++i) Create(std::to_string(i));
  ASSERT_THAT(conclusions_.Scan(), IsOk());
  EXPECT_THAT(conclusions_.All(), IsEmpty());
  Conclude(runs, "GPU.A");
  ASSERT_THAT(conclusions_.Scan(), IsOk());
  EXPECT_THAT(conclusions_.All(), SizeIs(1));
}

}  // namespace
}  // namespace galen::watch::kubernetes
