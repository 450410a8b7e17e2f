// All objects of a cluster, from the watch to the last status.
#include "services/gateway/kubernetes/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/kubernetes/world.h"

namespace galen::gateway::kubernetes {
namespace {

using galen::v1::Diagnosis;
using ::testing::SizeIs;

std::string NameFor(int number) {
  return absl::StrCat("tenants/acme/diagnoses/kube-uid-d", number);
}

class ControllerTest : public ::testing::Test {
 protected:
  std::unique_ptr<Controller> Start() {
    return std::make_unique<Controller>(*client_, reconciler_, Controller::Options(),
                                        [](const std::string&) {});
  }
  void Finish(const std::string& name) {
    orchestrator_.Become(name, [](Diagnosis& d) { d.set_state(Diagnosis::SUCCEEDED); });
  }

  FakeCluster cluster_;
  FakeOrchestrator orchestrator_;
  FakeRates rates_;
  galen::testing::FakeClock clock_;
  Mesh mesh_{orchestrator_, rates_};
  const std::unique_ptr<kube::Client> client_ = cluster_.api.Connect();
  Reconciler reconciler_{{*client_, mesh_, clock_, [](const std::string&, Diagnosis&) {}, {}},
                         {.cancel_deleted = true,
                          .first_look = absl::Milliseconds(5),
                          .longest_look = absl::Milliseconds(5)}};
};

TEST_F(ControllerTest, ServesWhatIsThereAndWhatComes) {
  cluster_.Put(AnObject("d1"));
  const auto controller = Start();
  cluster_.Await("d1", "Pending");
  for (int i = 2; i <= 20; ++i) cluster_.Put(AnObject(absl::StrCat("d", i)));
  for (int i = 1; i <= 20; ++i) cluster_.Await(absl::StrCat("d", i), "Pending");
  for (int i = 1; i <= 20; ++i) Finish(NameFor(i));
  for (int i = 1; i <= 20; ++i) cluster_.Await(absl::StrCat("d", i), "Succeeded");
  EXPECT_THAT(orchestrator_.diagnoses(), SizeIs(20));
  while (controller->counts().followed > 0) std::this_thread::yield();
  EXPECT_EQ(controller->counts().problems, 0u);
}

TEST_F(ControllerTest, OneThatBeginsAnewMakesNothingTwice) {
  for (int i = 1; i <= 5; ++i) cluster_.Put(AnObject(absl::StrCat("d", i)));
  for (int times = 0; times < 3; ++times) {
    const auto controller = Start();
    for (int i = 1; i <= 5; ++i) cluster_.Await(absl::StrCat("d", i), "Pending");
  }
  {
    const auto here = Start();
    const auto there = Start();  // two at once, for a while
    for (int i = 1; i <= 5; ++i) Finish(NameFor(i));
    for (int i = 1; i <= 5; ++i) cluster_.Await(absl::StrCat("d", i), "Succeeded");
  }
  EXPECT_THAT(orchestrator_.diagnoses(), SizeIs(5));
}

TEST_F(ControllerTest, GoesOnWhenTheMeshIsBack) {
  orchestrator_.FailWith(absl::UnavailableError("away"));
  cluster_.Put(AnObject("d1"));
  const auto controller = Start();
  cluster_.Await("d1", "Waiting");
  orchestrator_.FailWith(absl::OkStatus());
  cluster_.Await("d1", "Pending");
  EXPECT_GT(controller->counts().problems, 0u);
}

TEST_F(ControllerTest, EndsTheDiagnosisOfAnObjectThatIsDeleted) {
  cluster_.Put(AnObject("d1"));
  const auto controller = Start();
  cluster_.Await("d1", "Pending");
  cluster_.Remove("d1");
  while (orchestrator_.diagnoses().at(NameFor(1)).state() != Diagnosis::CANCELLED) {
    std::this_thread::yield();
  }
  while (controller->counts().followed > 0) std::this_thread::yield();
}

}  // namespace
}  // namespace galen::gateway::kubernetes
