// One step at a time from an object to the requested state.
#include "services/gateway/kubernetes/reconciler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/retry_hint.h"
#include "services/gateway/kubernetes/diagnosis_object.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/kubernetes/world.h"

namespace galen::gateway::kubernetes {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using galen::v1::Diagnosis;
using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kName[] = "tenants/acme/diagnoses/kube-uid-slow";

class ReconcilerTest : public ::testing::Test {
 protected:
  Reconciler Make(const Reconciler::Options& options = {}) {
    return Reconciler({*client_,
                       mesh_,
                       clock_,
                       [](const std::string& tenant, Diagnosis& diagnosis) {
                         EXPECT_EQ(tenant, "acme");
                         diagnosis.mutable_report()->mutable_primary_cause()->clear_severity();
                       },
                       {{"kubeflow", "training.kubeflow.org/job-name", {}, {}}}},
                      options);
  }
  Reconciler::Outcome Step(Reconciler& reconciler, const std::string& name = "slow") {
    return reconciler.Step(cluster_.Get(name), Cancellation::Never());
  }
  std::string StateOf(const std::string& name = "slow") const {
    return TextAt(cluster_.Get(name), {"status", "state"});
  }
  std::string ReasonOf(const std::string& name = "slow") const {
    const Json object = cluster_.Get(name);
    return object["status"]["conditions"][0]["reason"];
  }

  FakeCluster cluster_;
  FakeOrchestrator orchestrator_;
  FakeRates rates_;
  galen::testing::FakeClock clock_;
  Mesh mesh_{orchestrator_, rates_};
  const std::unique_ptr<kube::Client> client_ = cluster_.api.Connect();
};

TEST_F(ReconcilerTest, CreatesReadsAndReportsUntilItIsOver) {
  Reconciler reconciler = Make();
  cluster_.Put(AnObject("slow"));
  Reconciler::Outcome outcome = Step(reconciler);
  EXPECT_FALSE(outcome.done);
  EXPECT_THAT(outcome.problem, IsOk());
  EXPECT_EQ(StateOf(), "Pending");
  EXPECT_EQ(outcome.object, cluster_.Get("slow"));
  EXPECT_THAT(rates_.taken, ElementsAre("acme starts"));
  // Nothing is new, so nothing is written.
  outcome = Step(reconciler);
  EXPECT_FALSE(outcome.object.has_value());
  EXPECT_EQ(cluster_.patches(), 1);
  orchestrator_.Become(kName, [](Diagnosis& d) { d.set_state(Diagnosis::RUNNING); });
  Step(reconciler);
  EXPECT_EQ(StateOf(), "Running");
  orchestrator_.Become(kName, [](Diagnosis& d) {
    d.set_state(Diagnosis::SUCCEEDED);
    d.mutable_report()->mutable_primary_cause()->set_label("GPU.MEMORY");
    d.mutable_report()->mutable_primary_cause()->set_severity("of no concern to a customer");
  });
  EXPECT_TRUE(Step(reconciler).done);
  EXPECT_EQ(StateOf(), "Succeeded");
  EXPECT_EQ(TextAt(cluster_.Get("slow"), {"status", "cause"}), "GPU.MEMORY");
  EXPECT_EQ(TextAt(cluster_.Get("slow"), {"status", "severity"}), "");
  // And never again.
  const std::size_t calls = orchestrator_.calls().size();
  EXPECT_TRUE(Step(reconciler).done);
  EXPECT_THAT(orchestrator_.calls(), SizeIs(calls));
  EXPECT_THAT(orchestrator_.diagnoses(), SizeIs(1));
}

TEST_F(ReconcilerTest, SeveralOfThemMakeOneDiagnosis) {
  Reconciler here = Make();
  Reconciler there = Make();
  cluster_.Put(AnObject("slow"));
  const Json seen = cluster_.Get("slow");
  EXPECT_THAT(here.Step(seen, Cancellation::Never()).problem, IsOk());
  // The other replica saw it before this was written: its own write is refused, and repeated later.
  const Reconciler::Outcome outcome = there.Step(seen, Cancellation::Never());
  EXPECT_THAT(outcome.problem, IsOk());
  EXPECT_FALSE(outcome.done);
  EXPECT_EQ(cluster_.patches(), 1);
  EXPECT_THAT(orchestrator_.diagnoses(), SizeIs(1));
}

TEST_F(ReconcilerTest, BelievesNothingThatSomebodyWroteIntoTheStatus) {
  Reconciler reconciler = Make();
  Json object = AnObject("slow");
  object["status"] = {{"diagnosis", "tenants/other/diagnoses/secret"}, {"state", "Running"}};
  cluster_.Put(object);
  EXPECT_THAT(Step(reconciler).problem, IsOk());
  EXPECT_EQ(DiagnosisOf(cluster_.Get("slow")), kName);
  for (const std::string& call : orchestrator_.calls()) {
    EXPECT_THAT(call, HasSubstr("tenants/acme"));
  }
}

TEST_F(ReconcilerTest, WaitsForATenantThatTheNamespaceHasNot) {
  Reconciler reconciler = Make();
  for (const char* label : {"", "NO TENANT", "*"}) {
    cluster_.spaces["team-a"] = {{"galen.io/tenant", label}};
    cluster_.Put(AnObject("slow"));
    const Reconciler::Outcome outcome = Step(reconciler);
    EXPECT_FALSE(outcome.done);
    EXPECT_EQ(StateOf(), "Waiting");
    EXPECT_EQ(ReasonOf(), "NoTenant");
    EXPECT_THAT(TextAt(cluster_.Get("slow"), {"status", "summary"}),
                HasSubstr("galen.io/tenant=TENANT"));
  }
  EXPECT_THAT(orchestrator_.calls(), IsEmpty());
  cluster_.spaces["team-a"] = {{"galen.io/tenant", "acme"}};
  EXPECT_THAT(Step(reconciler).problem, IsOk());
  EXPECT_EQ(StateOf(), "Pending");
}

TEST_F(ReconcilerTest, ANamespaceWithoutALabelMayHaveATenantOfTheSite) {
  Reconciler reconciler = Make({.default_tenant = "acme"});
  cluster_.spaces["team-a"] = Json::object();
  cluster_.Put(AnObject("slow"));
  Step(reconciler);
  EXPECT_EQ(DiagnosisOf(cluster_.Get("slow")), kName);
}

TEST_F(ReconcilerTest, RefusesForGoodWhatIsNoIncident) {
  Reconciler reconciler = Make();
  cluster_.Put(AnObject("slow", {{"description", "x"}, {"bundle", "/etc"}}));
  EXPECT_TRUE(Step(reconciler).done);
  EXPECT_EQ(StateOf(), "Refused");
  EXPECT_EQ(ReasonOf(), "InvalidIncident");
  EXPECT_THAT(orchestrator_.calls(), IsEmpty());
  // Also where the orchestrator says so.
  orchestrator_.FailWith(absl::InvalidArgumentError("incident.description: too long"));
  cluster_.Put(AnObject("other"));
  EXPECT_TRUE(Step(reconciler, "other").done);
  EXPECT_THAT(TextAt(cluster_.Get("other"), {"status", "summary"}), HasSubstr("too long"));
}

TEST_F(ReconcilerTest, SaysWhyItWaitsAndForHowLong) {
  Reconciler reconciler = Make();
  cluster_.Put(AnObject("slow"));
  orchestrator_.FailWith(absl::UnavailableError("orchestrator is away"));
  Reconciler::Outcome outcome = Step(reconciler);
  EXPECT_THAT(outcome.problem, StatusIs(absl::StatusCode::kUnavailable, _));
  EXPECT_EQ(ReasonOf(), "Unavailable");
  orchestrator_.FailWith(absl::OkStatus());
  rates_.wait = absl::Seconds(42);
  outcome = Step(reconciler);
  EXPECT_EQ(ReasonOf(), "Limited");
  EXPECT_EQ(outcome.wait, absl::Seconds(42));
  rates_.wait = absl::ZeroDuration();
  EXPECT_THAT(Step(reconciler).problem, IsOk());
  EXPECT_EQ(StateOf(), "Pending");
}

TEST_F(ReconcilerTest, MakesADiagnosisAnewThatTheStoreLost) {
  Reconciler reconciler = Make();
  Json object = AnObject("slow");
  object["status"] = {{"diagnosis", kName}, {"state", "Running"}};
  cluster_.Put(object);
  Step(reconciler);
  EXPECT_THAT(orchestrator_.calls(),
              ElementsAre(absl::StrCat("GetDiagnosis ", kName), "CreateDiagnosis tenants/acme"));
  EXPECT_EQ(StateOf(), "Pending");
}

TEST_F(ReconcilerTest, LooksLessOftenAtWhatStandsStill) {
  Reconciler reconciler = Make();
  cluster_.Put(AnObject("slow"));
  Step(reconciler);
  const auto set = [&](absl::Duration ago) {
    orchestrator_.Become(kName, [&](Diagnosis& d) {
      d.mutable_update_time()->set_seconds(absl::ToUnixSeconds(clock_.Now() - ago));
    });
    return Step(reconciler).wait;
  };
  EXPECT_EQ(set(absl::Seconds(2)), absl::Seconds(1));
  EXPECT_EQ(set(absl::Seconds(50)), absl::Seconds(5));
  EXPECT_EQ(set(absl::Hours(5)), absl::Seconds(15));
}

Json Worker(const std::string& name, const std::string& node) {
  return {{"metadata", {{"name", name}, {"labels", {{"training.kubeflow.org/job-name", "llama"}}}}},
          {"spec",
           {{"nodeName", node},
            {"containers",
             {{{"name", "a"}, {"resources", {{"limits", {{"nvidia.com/gpu", "8"}}}}}}}}}}};
}

TEST_F(ReconcilerTest, LooksAtTheNodesOfTheJobThatIsNamed) {
  Reconciler reconciler = Make();
  cluster_.pods = {Worker("llama-0", "gpu-4"), Worker("llama-1", "gpu-3")};
  cluster_.Put(AnObject("slow", {{"description", "x"}, {"job", "llama"}}));
  EXPECT_THAT(Step(reconciler).problem, IsOk());
  const Diagnosis made = orchestrator_.diagnoses().at(kName);
  EXPECT_THAT(made.incident().nodes(), ElementsAre("gpu-3", "gpu-4"));
  EXPECT_EQ(made.incident().workload().launcher(), "kubeflow");
  // In its own namespace alone.
  EXPECT_THAT(cluster_.api.lines(), Contains(HasSubstr("/api/v1/namespaces/team-a/pods?")));
  // A job without pods does not mean every node.
  cluster_.Put(AnObject("other", {{"description", "x"}, {"job", "gone"}}));
  EXPECT_TRUE(Step(reconciler, "other").done);
  EXPECT_EQ(ReasonOf("other"), "JobNotFound");
  EXPECT_THAT(orchestrator_.diagnoses(), SizeIs(1));
}

TEST_F(ReconcilerTest, AnObjectThatIsDeletedEndsItsDiagnosisOnlyWhereThatIsSaid) {
  Reconciler leaves = Make();
  Reconciler cancels = Make({.cancel_deleted = true});
  cluster_.Put(AnObject("slow"));
  Step(leaves);
  const Json object = cluster_.Get("slow");
  cluster_.Remove("slow");
  EXPECT_TRUE(leaves.Deleted(object, Cancellation::Never()).done);
  EXPECT_EQ(orchestrator_.diagnoses().at(kName).state(), Diagnosis::PENDING);
  EXPECT_TRUE(cancels.Deleted(object, Cancellation::Never()).done);
  EXPECT_EQ(orchestrator_.diagnoses().at(kName).state(), Diagnosis::CANCELLED);
  // There is nothing to cancel for an object that never got a diagnosis.
  EXPECT_TRUE(cancels.Deleted(AnObject("never"), Cancellation::Never()).done);
  orchestrator_.FailWith(absl::UnavailableError("away"));
  EXPECT_FALSE(cancels.Deleted(object, Cancellation::Never()).done);
}

TEST_F(ReconcilerTest, AStepForAnObjectThatWentIsTheLast) {
  Reconciler reconciler = Make();
  cluster_.Put(AnObject("slow"));
  const Json object = cluster_.Get("slow");
  cluster_.Remove("slow");
  EXPECT_TRUE(reconciler.Step(object, Cancellation::Never()).done);
}

}  // namespace
}  // namespace galen::gateway::kubernetes
