#ifndef TESTS_UNIT_SERVICES_CLI_MODEL_WORLD_H_
#define TESTS_UNIT_SERVICES_CLI_MODEL_WORLD_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/eval/runner/declared_nodes.h"
#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "common/clients/clients.h"
#include "common/knowledge/load.h"
#include "services/cli/local_mesh.h"

namespace galen::cli {

// A small taxonomy whose branches cannot be distinguished before the checks ran, with the shipped
// prompts. The history resembles the incident below and names another cause first.
inline constexpr char kTaxonomy[] = R"(
labels:
  - label: GPU
    title: GPU
    description: A card.
    children:
      - label: GPU.FAN_STUCK
        title: Fan stuck
        description: A fan does not turn.
        confirm: [{check: gpu.fan, finding: speed, op: ==, value: 0, defining: true, observation: the fan stands still}]
        refute: [{check: gpu.fan, finding: speed, op: '>', value: 0, observation: the fan turns}]
        owner: provider
        severity: high
        prior: medium
        mitigation: Replace the fan.
      - label: GPU.DUST
        title: Dust
        description: The filter is full of dust.
        confirm: [{check: gpu.dust, finding: full, op: ==, value: true, defining: true, observation: the filter is full}]
        refute: [{check: gpu.dust, finding: full, op: ==, value: false, observation: the filter is clean}]
        owner: provider
        severity: low
        prior: medium
        mitigation: Clean the filter.
  - label: NET
    title: Network
    description: The network.
    children:
      - label: NET.CABLE
        title: Cable loose
        description: A cable hangs loose.
        confirm: [{check: net.cable, finding: plugged, op: ==, value: false, defining: true, observation: no cable}]
        refute: [{check: net.cable, finding: plugged, op: ==, value: true, observation: it is plugged}]
        owner: provider
        severity: high
        prior: medium
        mitigation: Plug it in.
      - label: NET.DNS
        title: Names do not resolve
        description: The name server does not answer.
        confirm: [{check: net.dns, finding: answers, op: ==, value: false, defining: true, observation: no answer}]
        refute: [{check: net.dns, finding: answers, op: ==, value: true, observation: it answers}]
        owner: customer
        severity: low
        prior: medium
        mitigation: Repair the resolver.
checks:
  - {name: gpu.fan, title: Fan, kind: extract, cost: 2s, file: /run/fan, findings: [
      {name: speed, type: int, subject: node, pattern: '([0-9]+)', abnormal: {op: ==, value: 0}},
      {name: model, type: text, subject: node, pattern: '(x.*)'}]}
  - {name: gpu.dust, title: Filter, kind: extract, cost: 1s, file: /run/dust, findings: [
      {name: full, type: bool, subject: node, pattern: 'full', abnormal: {op: ==, value: true}}]}
  - {name: net.cable, title: Cable, kind: extract, cost: 1s, file: /run/cable, findings: [
      {name: plugged, type: bool, subject: node, pattern: 'in', abnormal: {op: ==, value: false}}]}
  - {name: net.dns, title: Resolver, kind: extract, cost: 1s, file: /run/dns, findings: [
      {name: answers, type: bool, subject: node, pattern: 'yes', abnormal: {op: ==, value: false}}]}
  - {name: gpu.burn, title: Stress, kind: extract, cost: 60s, intrusive: true, file: /run/burn, findings: [
      {name: failed, type: bool, subject: node, pattern: 'yes', abnormal: {op: ==, value: true}}]}
signals:
  - {id: job.slow, pattern: 'step time [0-9.]+ s is above', where: job_log, strength: weak, labels: [GPU.DUST, NET.CABLE], meaning: steps are slow}
incidents:
  - {id: past-dust, title: Training is slow, description: Training is slow on one node and the card overheats, label: GPU.DUST}
  - {id: past-cable, title: Training slow on one node, description: Training is slow on one node since the cable was moved, label: NET.CABLE}
  - {id: past-dns, title: Training does not start, description: Training is slow to start on one node, label: NET.DNS}
)";

inline constexpr char kDescription[] = "Training is slow on one node and the card overheats";

// One node that gives the declared answers, and records its requests.
class RecordedNode final : public clients::NodeClient {
 public:
  explicit RecordedNode(clients::NodeClient& inner) : inner_(inner) {}
  clients::Cancel RunChecks(const node::v1::RunChecksRequest& request, absl::Time deadline,
                            clients::OnMessage<v1::CheckResult> on_result,
                            absl::AnyInvocable<void(absl::Status) &&> done) override {
    {
      MutexLock lock(mu_);
      requests_.push_back(request);
    }
    return inner_.RunChecks(request, deadline, std::move(on_result), std::move(done));
  }
  void Describe(const node::v1::DescribeRequest& request, absl::Time deadline,
                clients::Done<node::v1::DescribeResponse> done) override {
    inner_.Describe(request, deadline, std::move(done));
  }
  std::vector<node::v1::RunChecksRequest> requests() const {
    MutexLock lock(mu_);
    return requests_;
  }

 private:
  clients::NodeClient& inner_;
  mutable Mutex mu_;
  std::vector<node::v1::RunChecksRequest> requests_ ABSL_GUARDED_BY(mu_);
};

// A mesh in this process with that taxonomy and node n1, whose fan does not turn.
class World {
 public:
  struct Options {
    std::optional<reasoner::llm::Model> model;
    std::string store = ":memory:";
    // Text in the output of the checks, next to the wrong value.
    std::string tool_output;
    std::string telemetry_label;  // names the fan, as labels of a series name their subject
    std::string history;          // text of a past incident, one more
    int fan = 0;                  // its speed
    int calls_a_day = 0;          // of a tenant, instead of the shipped limit
    bool dust_known = true;       // the filter was checked
    bool extra_check = false;     // there is a check that no rule asks for
  };

  explicit World(const Options& options)
      : knowledge_(Load(options)), nodes_(Declared(options), knowledge_) {
    LocalMesh::Options mesh;
    mesh.loaded = knowledge_;
    auto scanner = CompileScanner(*knowledge_);
    EXPECT_TRUE(scanner.ok()) << scanner.status();
    mesh.scanner = *scanner;
    for (const auto& [name, client] : nodes_.ByName()) {
      recorded_.push_back(std::make_unique<RecordedNode>(*client));
      live_[name] = recorded_.back().get();
    }
    mesh.live_nodes = live_;
    mesh.store = options.store;
    mesh.model = options.model;
    auto started = LocalMesh::Start(mesh);
    EXPECT_TRUE(started.ok()) << started.status();
    mesh_ = *std::move(started);
  }

  static v1::Incident Incident() {
    v1::Incident incident;
    incident.set_description(kDescription);
    incident.add_nodes("n1");
    v1::LogSource& log = *incident.add_logs();
    log.set_path("job.log");
    log.set_kind(v1::LogSource::JOB);
    log.set_content("rank 3: step time 9.4 s is above 2.1 s\n");
    return incident;
  }

  struct Outcome {
    v1::Diagnosis diagnosis;
    std::vector<v1::DiagnosisEvent> events;
  };
  Outcome Diagnose(const v1::Incident& incident, const std::string& tenant = "tenants/default",
                   const std::string& strategy = "tiered") {
    v1::CreateDiagnosisRequest request;
    request.set_parent(tenant);
    *request.mutable_diagnosis()->mutable_incident() = incident;
    request.mutable_diagnosis()->set_strategy(strategy);
    const auto created = mesh_->Create(request);
    EXPECT_TRUE(created.ok()) << created.status();
    return Follow(created->name());
  }
  // The outcome of an existing diagnosis.
  Outcome Follow(const std::string& name) {
    Outcome outcome;
    const absl::Status watched =
        mesh_->Watch(name, 0, [&](const v1::DiagnosisEvent& e) { outcome.events.push_back(e); });
    EXPECT_TRUE(watched.ok()) << watched;
    outcome.diagnosis = *mesh_->Get(name);
    return outcome;
  }

  // A person confirms a cause of an existing diagnosis.
  absl::StatusOr<v1::Diagnosis> Confirm(const std::string& name, const std::string& label) {
    v1::SubmitFeedbackRequest request;
    request.set_name(name);
    request.set_confirmed_label(label);
    request.set_confirmed_by("ada");
    return mesh_->SubmitFeedback(request);
  }

  const knowledge::Knowledge& knowledge() const { return *knowledge_; }
  const RecordedNode& node() const { return *recorded_.front(); }

 private:
  static std::shared_ptr<const knowledge::Knowledge> Load(const Options& options) {
    const std::string directory = ::testing::TempDir() + "galen-world-" + std::to_string(getpid());
    std::filesystem::create_directories(directory);
    std::ofstream(directory + "/all.yaml") << kTaxonomy;
    std::vector<knowledge::Problem> problems;
    auto base = knowledge::Parse({GALEN_SOURCE_DIR "/knowledge/prompts", directory}, problems);
    std::filesystem::remove_all(directory);
    EXPECT_TRUE(base.ok()) << base.status();
    for (const knowledge::Problem& problem : problems) ADD_FAILURE() << ToString(problem);
    for (knowledge::v1::LlmBudget& budget : *base->mutable_llm_budgets()) {
      if (options.calls_a_day > 0 && budget.scope() == "tenant_day") {
        budget.set_calls(options.calls_a_day);
      }
    }
    if (options.extra_check) {
      knowledge::v1::Check& check = *base->add_checks();
      check.set_name("gpu.extra");
      check.set_title("Extra");
      check.set_kind(knowledge::v1::Check::EXTRACT);
      knowledge::v1::FindingSpec& hot = *check.add_findings();
      hot.set_name("hot");
    }
    const std::string& history = options.history;
    if (!history.empty()) {
      knowledge::v1::PastIncident& past = *base->add_incidents();
      past.set_id("past-hostile");
      // Like the incident, whatever the text has, and the only one of its cause: only then it is
      // shown.
      past.set_title(std::string(kDescription) + " " + history);
      past.set_description(past.title());
      for (int i = 0; i < 8; ++i) past.add_logs(kDescription);
      past.set_label("GPU.FAN_STUCK");
    }
    return std::make_shared<const knowledge::Knowledge>(*std::move(base));
  }

  static eval::v1::Case Declared(const Options& options) {
    eval::v1::Case a_case;
    eval::v1::DeclaredNode& node = *a_case.add_nodes();
    node.set_name("n1");
    const auto result = [&](const char* check) -> v1::CheckResult& {
      v1::CheckResult& added = *node.add_results();
      added.set_check(check);
      added.set_message(options.tool_output);
      added.set_excerpt(options.tool_output);
      return added;
    };
    const auto finding = [](v1::CheckResult& of, const char* name) -> v1::Finding& {
      v1::Finding& added = *of.add_findings();
      added.set_name(name);
      return added;
    };
    v1::CheckResult& fan = result("gpu.fan");
    v1::Finding& speed = finding(fan, "speed");
    speed.set_int_value(options.fan);
    speed.set_expected(options.tool_output);
    speed.mutable_subject()->set_node("n1");
    speed.mutable_subject()->set_device(options.telemetry_label);
    if (options.dust_known) finding(result("gpu.dust"), "full").set_bool_value(false);
    if (options.extra_check) finding(result("gpu.extra"), "hot").set_bool_value(true);
    finding(result("net.cable"), "plugged").set_bool_value(true);
    finding(result("net.dns"), "answers").set_bool_value(true);
    return a_case;
  }

  const std::shared_ptr<const knowledge::Knowledge> knowledge_;
  eval::DeclaredNodes nodes_;
  std::vector<std::unique_ptr<RecordedNode>> recorded_;
  std::map<std::string, clients::NodeClient*> live_;
  std::unique_ptr<LocalMesh> mesh_;
};

// Labels by their verdicts.
inline std::map<std::string, v1::Verdict::Outcome> VerdictsOf(const v1::Diagnosis& diagnosis) {
  std::map<std::string, v1::Verdict::Outcome> verdicts;
  for (const v1::Hypothesis& each : diagnosis.hypotheses()) {
    if (each.has_verdict()) verdicts[each.label()] = each.verdict().outcome();
  }
  return verdicts;
}

inline std::set<std::string> ChecksOf(const v1::Diagnosis& diagnosis) {
  std::set<std::string> ids;
  for (const v1::CheckResult& result : diagnosis.check_results()) ids.insert(result.id());
  return ids;
}

// The report's line on the model; "" when there is none.
inline std::string ModelNoteOf(const v1::Diagnosis& diagnosis) {
  for (const std::string& note : diagnosis.report().notes()) {
    if (note.rfind("The model ", 0) == 0) return note;
  }
  return "";
}

}  // namespace galen::cli

#endif  // TESTS_UNIT_SERVICES_CLI_MODEL_WORLD_H_
