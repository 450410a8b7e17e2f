// The pods of a job, as launchers mark them.
#include "services/gateway/kubernetes/job_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace galen::gateway::kubernetes {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using kube::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::vector<JobKind> Shipped() {
  auto kinds = LoadJobKinds({GALEN_KNOWLEDGE_DIR});
  EXPECT_THAT(kinds, IsOk());
  return kinds.ok() ? *std::move(kinds) : std::vector<JobKind>();
}

Json Pod(const std::string& name, const std::string& node, Json labels, int gpus = 8) {
  return {
      {"metadata",
       {{"name", name},
        {"labels", std::move(labels)},
        {"ownerReferences", {{{"kind", "PyTorchJob"}, {"name", "llama"}, {"controller", true}}}}}},
      {"spec",
       {{"nodeName", node},
        {"containers",
         {{{"name", "sidecar"}, {"image", "proxy:1"}},
          {{"name", "train"},
           {"image", "train:2"},
           {"resources", {{"limits", {{"nvidia.com/gpu", std::to_string(gpus)}}}}}}}}}}};
}

TEST(ContextOfTest, KnowsTheMarksOfEachLauncher) {
  struct Case {
    const char* labels;
    const char* launcher;
    const char* job;
    const char* role;
    int index;  // -1: none
  };
  for (
      const Case& one : std::vector<Case>{
          {R"({"training.kubeflow.org/job-name": "llama", "training.kubeflow.org/replica-type": "Worker",
                "training.kubeflow.org/replica-index": "3", "training.kubeflow.org/operator-name": "pytorchjob-controller"})",
           "kubeflow", "llama", "worker", 3},
          {R"({"training.kubeflow.org/job-name": "llama", "training.kubeflow.org/job-role": "master"})",
           "kubeflow", "llama", "master", -1},
          // (A JobSet's pods are those of a Job, too.)
          {R"({"jobset.sigs.k8s.io/jobset-name": "pre", "jobset.sigs.k8s.io/replicatedjob-name": "node",
                "jobset.sigs.k8s.io/job-global-index": "0", "batch.kubernetes.io/job-completion-index": "5",
                "batch.kubernetes.io/job-name": "pre-node-0"})",
           "jobset", "pre", "node", 5},
          {R"({"jobset.sigs.k8s.io/jobset-name": "pre", "jobset.sigs.k8s.io/job-global-index": "2"})",
           "jobset", "pre", "", 2},
          {R"({"volcano.sh/job-name": "mesh", "volcano.sh/task-spec": "worker", "volcano.sh/task-index": "1"})",
           "volcano", "mesh", "worker", 1},
          {R"({"leaderworkerset.sigs.k8s.io/name": "serve", "leaderworkerset.sigs.k8s.io/group-index": "0",
                "leaderworkerset.sigs.k8s.io/worker-index": "7"})",
           "leaderworkerset", "serve", "0", 7},
          {R"({"ray.io/cluster": "tune", "ray.io/node-type": "worker"})", "ray", "tune", "worker",
           -1},
          {R"({"scheduler.slinky.slurm.net/slurm-jobid": "4711", "batch.kubernetes.io/job-name": "sleep",
                "batch.kubernetes.io/job-completion-index": "4"})",
           "slurm", "4711", "", 4},
          {R"({"batch.kubernetes.io/job-name": "eval", "batch.kubernetes.io/job-completion-index": "x"})",
           "job", "eval", "", -1},
          {R"({"app": "web"})", "", "", "", -1}}) {
    const auto context = ContextOf(Pod("p", "gpu-1", Json::parse(one.labels)), Shipped());
    ASSERT_TRUE(context.has_value()) << one.labels;
    EXPECT_EQ(context->launcher, one.launcher) << one.labels;
    EXPECT_EQ(context->job, one.job) << one.labels;
    EXPECT_EQ(context->role, one.role) << one.labels;
    EXPECT_EQ(context->index.value_or(-1), one.index) << one.labels;
  }
}

TEST(ContextOfTest, TellsOfNodeOwnerImageAndGpus) {
  const auto context = ContextOf(Pod("llama-0", "gpu-1", Json::object()), Shipped());
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(context->pod, "llama-0");
  EXPECT_EQ(context->node, "gpu-1");
  EXPECT_EQ(context->owner, "PyTorchJob/llama");
  EXPECT_EQ(context->image, "train:2");
  EXPECT_EQ(context->gpus, 8);
}

TEST(ContextOfTest, AlsoReadsAnnotations) {
  Json pod = Pod("p", "gpu-1", {{"volcano.sh/job-name", "mesh"}});
  pod["metadata"]["annotations"] = {{"volcano.sh/task-index", "6"}};
  EXPECT_EQ(ContextOf(pod, Shipped())->index, 6);
}

TEST(ContextOfTest, BearsWhatIsNoPod) {
  for (const char* text :
       {"{}", R"({"metadata": 3})", R"({"metadata": {"name": "a"}})",
        R"({"metadata": {"name": 7}, "spec": {}})", R"({"metadata": {"name": "a"}, "spec": []})"}) {
    EXPECT_FALSE(ContextOf(Json::parse(text), Shipped()).has_value()) << text;
  }
  for (
      const char* text :
      {R"({"metadata": {"name": "a", "labels": [1], "ownerReferences": {}}, "spec": {"containers": {}}})",
       R"({"metadata": {"name": "a", "labels": {"ray.io/cluster": 7}, "ownerReferences": [1, {"controller": 1}]},
            "spec": {"nodeName": {}, "containers": [1, {"resources": {"limits": {"nvidia.com/gpu": "-5"}}},
            {"resources": {"limits": {"nvidia.com/gpu": 99999999999}}}, {"resources": {"limits": []}}]}})"}) {
    const auto context = ContextOf(Json::parse(text), Shipped());
    ASSERT_TRUE(context.has_value()) << text;
    EXPECT_EQ(context->gpus, 0);
    EXPECT_EQ(context->job, "");
    EXPECT_EQ(context->node, "");
  }
}

TEST(FillInTest, AddsWhatTheIncidentDoesNotSay) {
  std::vector<PodContext> pods;
  for (const auto& [name, node, gpus] :
       std::vector<std::tuple<const char*, const char*, int>>{{"llama-launcher", "cpu-1", 0},
                                                              {"llama-worker-0", "gpu-2", 8},
                                                              {"llama-worker-1", "gpu-1", 8},
                                                              {"llama-worker-2", "", 8}}) {
    pods.push_back(*ContextOf(Pod(name, node, {{"training.kubeflow.org/job-name", "llama"}}, gpus),
                              Shipped()));
  }
  galen::v1::Incident incident;
  FillIn(pods, incident);
  EXPECT_THAT(incident.nodes(), ElementsAre("gpu-1", "gpu-2"));
  EXPECT_EQ(incident.workload().name(), "llama");
  EXPECT_EQ(incident.workload().launcher(), "kubeflow");
  EXPECT_EQ(incident.workload().image(), "train:2");
  EXPECT_EQ(incident.workload().world_size(), 24);
  EXPECT_EQ(incident.workload().gpus_per_node(), 8);
  EXPECT_THAT(incident.workload().attributes(),
              UnorderedElementsAre(
                  Pair("owner", "PyTorchJob/llama"), Pair("pod llama-launcher", "cpu-1"),
                  Pair("pod llama-worker-0", "gpu-2"), Pair("pod llama-worker-1", "gpu-1")));
  galen::v1::Incident told;
  told.add_nodes("gpu-9");
  told.mutable_workload()->set_world_size(2);
  FillIn(pods, told);
  EXPECT_THAT(told.nodes(), ElementsAre("gpu-9"));
  EXPECT_EQ(told.workload().world_size(), 2);
  galen::v1::Incident nothing;
  FillIn({}, nothing);
  EXPECT_THAT(nothing.nodes(), IsEmpty());
  EXPECT_FALSE(nothing.has_workload());
}

TEST(SelectorsOfTest, AreOneForEachLauncherAndNoneForWhatIsNoName) {
  const std::vector<JobKind> kinds = {{"a", "x/job", {}, {}}, {"b", "y/job", {}, {}}};
  EXPECT_THAT(SelectorsOf("llama-1", kinds), ElementsAre("x/job=llama-1", "y/job=llama-1"));
  for (const std::string& job : {std::string(), std::string("a,b"), std::string("a=b"),
                                 std::string("a b"), std::string("!a"), std::string(64, 'a')}) {
    EXPECT_THAT(SelectorsOf(job, kinds), IsEmpty()) << job;
  }
}

TEST(ParseJobKindsTest, SaysWhatIsWrongAndWhere) {
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"", "begin with"},
           {"jobs: 3", "begin with"},
           {"jobs: []\nmore: 1", "begin with"},
           {"jobs:\n- 3", "f.yaml:2"},
           {"jobs:\n- {name: a}", "needs a name"},
           {"jobs:\n- {name: a, job: b, rank: c}", "rank: unknown"},
           {"jobs:\n- {name: a, job: b, role: {c: d}}", "role"}}) {
    EXPECT_THAT(ParseJobKinds(text, "f.yaml"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(says)))
        << text;
  }
  EXPECT_THAT(LoadJobKinds({"/nowhere"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("jobs.yaml")));
}

}  // namespace
}  // namespace galen::gateway::kubernetes
