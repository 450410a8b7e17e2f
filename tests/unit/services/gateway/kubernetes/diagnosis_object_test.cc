// A Diagnosis object and its diagnosis.
#include "services/gateway/kubernetes/diagnosis_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/kubernetes/world.h"

namespace galen::gateway::kubernetes {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using galen::v1::Diagnosis;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);  // 2023-11-14T22:13:20Z

TEST(RequestOfTest, IsTheIncidentOfTheSpec) {
  const auto request = RequestOf(AnObject("slow", Json::parse(R"({
        "description": "NCCL WARN Connect failed", "strategy": "taxonomy",
        "startTime": "2026-01-02T03:04:05Z", "nodes": ["gpu-1", "gpu-2"],
        "workload": {"name": "llama", "worldSize": 16, "attributes": {"team": "a"}},
        "environment": {"gpu": "H100"},
        "logs": [{"name": "rank0.log", "text": "line\nline", "node": "gpu-1", "rank": 0, "kind": "Job"}]
      })")),
                                 "acme");
  ASSERT_THAT(request, IsOk());
  EXPECT_EQ(request->parent(), "tenants/acme");
  EXPECT_EQ(request->diagnosis_id(), "kube-uid-slow");
  EXPECT_EQ(request->request_id(), "kube-uid-slow");
  EXPECT_EQ(request->diagnosis().strategy(), "taxonomy");
  const galen::v1::Incident& incident = request->diagnosis().incident();
  EXPECT_EQ(incident.description(), "NCCL WARN Connect failed");
  EXPECT_EQ(incident.start_time().seconds(), 1767323045);
  EXPECT_THAT(incident.nodes(), ElementsAre("gpu-1", "gpu-2"));
  EXPECT_EQ(incident.workload().world_size(), 16);
  EXPECT_EQ(incident.workload().attributes().at("team"), "a");
  EXPECT_EQ(incident.environment().gpu(), "H100");
  ASSERT_EQ(incident.logs_size(), 1);
  EXPECT_EQ(incident.logs(0).path(), "rank0.log");
  EXPECT_EQ(incident.logs(0).content(), "line\nline");
  EXPECT_EQ(incident.logs(0).rank(), 0);
  EXPECT_EQ(incident.logs(0).kind(), galen::v1::LogSource::JOB);
}

TEST(RequestOfTest, RefusesWhatIsNoIncidentAndWhatWouldReadAServersFiles) {
  for (const auto& [spec, says] : std::vector<std::pair<std::string, std::string>>{
           {R"({"description": 7})", "spec"},
           {R"({"description": "x", "nodes": {"gpu": 1}})", "spec"},
           {R"({"description": "x", "unheardOf": 1})", "unheardOf"},
           {R"({"description": "x", "startTime": "yesterday"})", "spec"},
           {R"({"description": "x", "bundle": "/etc"})", "spec.bundle"},
           {R"({"description": "x", "logs": [{"name": "/etc/passwd"}]})", "spec.logs"},
           {R"({"description": "x", "logs": [{"path": "/etc/passwd", "text": "a"}]})", "spec.logs"},
           {R"({"description": "x", "logs": {"name": "a"}})", "spec.logs"},
           {R"({"description": "x", "logs": [3]})", "spec.logs"}}) {
    EXPECT_THAT(RequestOf(AnObject("x", Json::parse(spec)), "acme"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(says)))
        << spec;
  }
  Json object = AnObject("x");
  object.erase("spec");
  EXPECT_THAT(RequestOf(object, "acme"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("spec")));
  for (const char* uid : {"", "../../tenants/other", "UPPER", "a b"}) {
    object = AnObject("x");
    object["metadata"]["uid"] = uid;
    EXPECT_EQ(DiagnosisIdOf(object), "") << uid;
    EXPECT_THAT(RequestOf(object, "acme"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("uid")));
  }
}

Diagnosis Concluded() {
  Diagnosis diagnosis;
  diagnosis.set_name("tenants/acme/diagnoses/kube-uid-slow");
  diagnosis.set_state(Diagnosis::SUCCEEDED);
  diagnosis.mutable_create_time()->set_seconds(1'700'000'000);
  diagnosis.mutable_update_time()->set_seconds(1'700'000'060);
  galen::v1::Report& report = *diagnosis.mutable_report();
  report.set_outcome(galen::v1::Report::CAUSE_CONFIRMED);
  report.set_headline("GPU 1 of gpu-7 has uncorrectable memory errors");
  report.set_owner("provider");
  galen::v1::Cause& cause = *report.mutable_primary_cause();
  cause.set_label("GPU.MEMORY.UNCORRECTABLE_ECC");
  cause.set_title("Uncorrectable ECC");
  cause.set_probability(0.97654);
  cause.set_severity("critical");
  for (const char* device : {"gpu:1", "gpu:2"}) {
    galen::v1::Device& at = *cause.add_devices();
    at.set_node("gpu-7");
    at.set_device(device);
  }
  report.add_other_causes()->set_label("SYSTEM.CLOCK");
  report.add_next_steps("replace the GPU");
  report.mutable_checks()->set_fail(3);
  return diagnosis;
}

TEST(StatusOfTest, SaysWhatWasConcluded) {
  const Json status = StatusOf(AnObject("slow"), Concluded(), kNow);
  EXPECT_EQ(status, Json::parse(R"({
    "observedGeneration": 1, "diagnosis": "tenants/acme/diagnoses/kube-uid-slow", "state": "Succeeded",
    "startTime": "2023-11-14T22:13:20Z", "completionTime": "2023-11-14T22:14:20Z",
    "summary": "GPU 1 of gpu-7 has uncorrectable memory errors",
    "cause": "GPU.MEMORY.UNCORRECTABLE_ECC", "title": "Uncorrectable ECC", "device": "gpu-7/gpu:1 +1",
    "severity": "critical", "probability": 0.98, "owner": "provider", "otherCauses": ["SYSTEM.CLOCK"],
    "nextSteps": ["replace the GPU"], "checks": {"pass": 0, "fail": 3, "skipped": 0, "error": 0},
    "conditions": [
      {"type": "Accepted", "status": "True", "reason": "Accepted", "observedGeneration": 1,
       "message": "tenants/acme/diagnoses/kube-uid-slow", "lastTransitionTime": "2023-11-14T22:13:20Z"},
      {"type": "Finished", "status": "True", "reason": "Succeeded", "observedGeneration": 1,
       "message": "GPU 1 of gpu-7 has uncorrectable memory errors", "lastTransitionTime": "2023-11-14T22:13:20Z"}]})"));
  EXPECT_TRUE(IsOver({{"status", status}}));
}

TEST(StatusOfTest, NamesEachStateAndWhichOnesAreTheLast) {
  for (const auto& [state, name, over] :
       std::vector<std::tuple<Diagnosis::State, std::string, bool>>{
           {Diagnosis::PENDING, "Pending", false},
           {Diagnosis::RUNNING, "Running", false},
           {Diagnosis::AWAITING_FEEDBACK, "AwaitingFeedback", false},
           {Diagnosis::SUCCEEDED, "Succeeded", true},
           {Diagnosis::FAILED, "Failed", true},
           {Diagnosis::CANCELLED, "Cancelled", true},
           {Diagnosis::ESCALATED, "Escalated", true}}) {
    Diagnosis diagnosis;
    diagnosis.set_state(state);
    diagnosis.mutable_error()->set_message("the store is full");
    const Json status = StatusOf(AnObject("slow"), diagnosis, kNow);
    EXPECT_EQ(status["state"], name);
    EXPECT_EQ(status["conditions"][1]["status"], over ? "True" : "False");
    EXPECT_EQ(status["conditions"][1]["reason"], name);
    EXPECT_EQ(IsOver({{"status", status}}), over);
    EXPECT_EQ(status.value("summary", "") == "the store is full", state == Diagnosis::FAILED);
  }
}

TEST(StatusOfTest, KeepsTheTimesOfWhatDidNotChange) {
  Json object = AnObject("slow");
  Diagnosis diagnosis = Concluded();
  diagnosis.set_state(Diagnosis::RUNNING);
  object["status"] = StatusOf(object, diagnosis, kNow);
  EXPECT_EQ(StatusOf(object, diagnosis, kNow + absl::Hours(1)), object["status"]);
  EXPECT_EQ(PatchTo(object, StatusOf(object, diagnosis, kNow + absl::Hours(1))), std::nullopt);
  diagnosis.set_state(Diagnosis::SUCCEEDED);
  const Json later = StatusOf(object, diagnosis, kNow + absl::Hours(1));
  EXPECT_EQ(later["conditions"][0]["lastTransitionTime"], "2023-11-14T22:13:20Z");
  EXPECT_EQ(later["conditions"][1]["lastTransitionTime"], "2023-11-14T23:13:20Z");
}

TEST(StatusOfTest, BoundsAndCleansWhatItRepeats) {
  Diagnosis diagnosis = Concluded();
  diagnosis.mutable_report()->set_headline("\x1b[31m" + std::string(100'000, 'a'));
  for (int i = 0; i < 100; ++i) diagnosis.mutable_report()->add_next_steps(std::string(5000, 'b'));
  const std::string text = StatusOf(AnObject("slow"), diagnosis, kNow).dump();
  EXPECT_LT(text.size(), 20'000u);
  EXPECT_THAT(text, Not(HasSubstr("\\u001b")));
}

TEST(PatchToTest, TakesOutWhatIsNoLongerSoAndNamesTheVersionThatWasSeen) {
  Json object = AnObject("slow");
  object["status"] = {{"state", "Succeeded"}, {"cause", "A.B"}};
  const auto patch = PatchTo(object, {{"state", "Running"}});
  ASSERT_TRUE(patch.has_value());
  EXPECT_EQ(
      *patch,
      Json::parse(
          R"({"metadata": {"resourceVersion": "1"}, "status": {"state": "Running", "cause": null}})"));
  object.merge_patch(*patch);
  EXPECT_EQ(object["status"], Json::parse(R"({"state": "Running"})"));
}

TEST(StatusRefusedTest, IsOverAndOneThatWaitsIsNot) {
  const Json object = AnObject("slow");
  const Json refused = StatusRefused(object, "InvalidIncident", "spec: no", kNow);
  EXPECT_TRUE(IsOver({{"status", refused}}));
  EXPECT_EQ(refused["conditions"][0]["status"], "False");
  EXPECT_EQ(refused["conditions"][0]["reason"], "InvalidIncident");
  const Json waiting = StatusWaiting(object, "NoTenant", "label it", kNow);
  EXPECT_FALSE(IsOver({{"status", waiting}}));
  EXPECT_EQ(waiting["conditions"][0]["status"], "Unknown");
  EXPECT_EQ(TextAt({{"status", waiting}}, {"status", "summary"}), "label it");
}

}  // namespace
}  // namespace galen::gateway::kubernetes
