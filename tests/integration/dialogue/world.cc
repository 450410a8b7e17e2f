#include "tests/integration/dialogue/world.h"

#include <google/protobuf/text_format.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/host/edit.h"
#include "common/knowledge/make_result.h"
#include "tests/testing/status_matchers.h"

namespace galen {
namespace {

using ::galen::testing::IsOk;
using v1::CheckResult;

constexpr char kShipped[] = GALEN_SOURCE_DIR "/knowledge";

}  // namespace

Machines::Machines(std::shared_ptr<const knowledge::Knowledge> knowledge)
    : knowledge_(std::move(knowledge)), pool_(1, 1000) {}

void Machines::Set(const std::string& node, const std::string& check,
                   const std::vector<std::string>& findings, const std::string& message) {
  CheckResult result;
  for (const std::string& finding : findings) {
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(finding, result.add_findings()))
        << finding;
  }
  result.set_message(message);
  MutexLock lock(mu_);
  state_[absl::StrCat(check, "@", node)] = std::move(result);
}

void Machines::Forget(const std::string& node, const std::string& check) {
  MutexLock lock(mu_);
  state_.erase(absl::StrCat(check, "@", node));
}

std::map<std::string, clients::NodeClient*> Machines::ByName(
    const std::vector<std::string>& nodes) {
  std::map<std::string, clients::NodeClient*> by_name;
  for (const std::string& node : nodes) by_name[node] = this;
  return by_name;
}

std::map<std::string, int> Machines::runs() {
  MutexLock lock(mu_);
  return runs_;
}

std::set<std::string> Machines::allowed() {
  MutexLock lock(mu_);
  return allowed_;
}

CheckResult Machines::ResultOf(const std::string& check, const std::string& node, bool allowed) {
  const std::string id = absl::StrCat(check, "@", node);
  const knowledge::v1::Check* spec = knowledge_->FindCheck(check);
  MutexLock lock(mu_);
  ++runs_[id];
  if (allowed) allowed_.insert(id);
  const auto found = state_.find(id);
  if (spec == nullptr || found == state_.end() || (spec->intrusive() && !allowed)) {
    return knowledge::ResultWithoutFindings(check, node, CheckResult::SKIPPED,
                                            "there is nothing of the kind on this machine");
  }
  knowledge::CheckOutput output;
  output.findings.assign(found->second.findings().begin(), found->second.findings().end());
  for (v1::Finding& finding : output.findings) finding.mutable_subject()->set_node(node);
  output.message = found->second.message();
  return knowledge::MakeResult(*spec, node, std::move(output));
}

clients::Cancel Machines::RunChecks(const node::v1::RunChecksRequest& request, absl::Time,
                                    clients::OnMessage<CheckResult> on_result,
                                    absl::AnyInvocable<void(absl::Status) &&> done) {
  const bool taken = pool_.TrySchedule(
      [this, request, on_result = std::move(on_result), done = std::move(done)]() mutable {
        std::vector<std::string> nodes = {request.node()};
        nodes.insert(nodes.end(), request.more_nodes().begin(), request.more_nodes().end());
        for (const std::string& node : nodes) {
          for (const std::string& check : request.checks()) {
            on_result(ResultOf(check, node, request.allow_intrusive()));
          }
        }
        std::move(done)(absl::OkStatus());
      });
  EXPECT_TRUE(taken);
  return clients::NoCancel();
}

void Machines::Describe(const node::v1::DescribeRequest&, absl::Time,
                        clients::Done<node::v1::DescribeResponse> done) {
  node::v1::DescribeResponse response;
  for (const auto& check : knowledge_->base().checks()) response.add_checks(check.name());
  response.set_knowledge_digest(knowledge_->digest());
  std::move(done)(std::move(response));
}

const cli::LocalMesh::Options& DialogueTest::Loaded() {
  static const auto* const options = [] {
    auto* loaded = new cli::LocalMesh::Options;
    loaded->knowledge = {kShipped};
    EXPECT_THAT(loaded->Load(), IsOk());
    return loaded;
  }();
  return *options;
}

DialogueTest::DialogueTest() {
  std::string root = ::testing::TempDir() + "galen-dialogue-XXXXXX";
  root_ = ::mkdtemp(root.data());
  machines_ = std::make_unique<Machines>(Loaded().loaded);
}

DialogueTest::~DialogueTest() {
  mesh_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

void DialogueTest::Start(const std::vector<std::string>& live_nodes) {
  cli::LocalMesh::Options options = Loaded();
  options.live_nodes = machines_->ByName(live_nodes);
  options.evidence = root_ + "/evidence";
  auto mesh = cli::LocalMesh::Start(options);
  ASSERT_THAT(mesh, IsOk());
  mesh_ = *std::move(mesh);
}

v1::Diagnosis DialogueTest::Rest() {
  for (;;) {
    EXPECT_THAT(mesh_->Watch(name_, 0, [](const v1::DiagnosisEvent&) {}), IsOk());
    const auto diagnosis = mesh_->Get(name_);
    EXPECT_THAT(diagnosis, IsOk());
    if (!diagnosis.ok()) return v1::Diagnosis();
    if (diagnosis->state() != v1::Diagnosis::RUNNING) return *diagnosis;
  }
}

v1::Diagnosis DialogueTest::Diagnose(const v1::Incident& incident) {
  v1::CreateDiagnosisRequest request;
  request.set_parent("tenants/t");
  *request.mutable_diagnosis()->mutable_incident() = incident;
  const auto created = mesh_->Create(request);
  EXPECT_THAT(created, IsOk());
  if (!created.ok()) return v1::Diagnosis();
  name_ = created->name();
  return Rest();
}

v1::Diagnosis DialogueTest::Answer(v1::SubmitFeedbackRequest request) {
  request.set_name(name_);
  EXPECT_THAT(mesh_->SubmitFeedback(request), IsOk());
  return Rest();
}

v1::Diagnosis DialogueTest::AnswerWith(const std::string& text) {
  v1::SubmitFeedbackRequest request;
  request.set_text(text);
  return Answer(std::move(request));
}

std::string DialogueTest::Bundle(const std::string& node,
                                 const std::map<std::string, std::string>& commands) {
  const std::string directory = root_ + "/bundle";
  EXPECT_THAT(host::NewBundle(directory, "", {node}, absl::Now()), IsOk());
  for (const auto& [command, output] : commands) {
    const std::vector<std::string> argv = absl::StrSplit(command, ' ');
    EXPECT_THAT(host::AddCommand(directory, node, host::View::kHost, argv, {.out = output}),
                IsOk());
  }
  return directory;
}

std::string DialogueTest::Labels(const v1::Diagnosis& diagnosis) {
  std::string labels;
  for (const v1::Hypothesis& hypothesis : diagnosis.hypotheses()) {
    if (hypothesis.status() != v1::Hypothesis::CONFIRMED) continue;
    absl::StrAppend(&labels, labels.empty() ? "" : " ", hypothesis.label());
  }
  return labels;
}

v1::Hypothesis::Status DialogueTest::StatusOf(const v1::Diagnosis& diagnosis,
                                              const std::string& label) {
  for (const v1::Hypothesis& hypothesis : diagnosis.hypotheses()) {
    if (hypothesis.label() == label) return hypothesis.status();
  }
  return v1::Hypothesis::STATUS_UNSPECIFIED;
}

bool DialogueTest::Says(const v1::Diagnosis& diagnosis, v1::Change::Kind kind,
                        const std::string& text) {
  for (const v1::Change& change : diagnosis.report().changes()) {
    if (change.kind() == kind && absl::StrContains(change.text(), text)) return true;
  }
  return false;
}

}  // namespace galen
