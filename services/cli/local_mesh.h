#ifndef SERVICES_CLI_LOCAL_MESH_H_
#define SERVICES_CLI_LOCAL_MESH_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clients/clients.h"
#include "common/knowledge/knowledge.h"
#include "common/log_analysis/scan/scanner.h"
#include "common/log_sources/named_logs.h"
#include "common/observability/metrics/registry.h"
#include "common/phrases/outcome.h"
#include "common/reasoner/llm/asker.h"
#include "common/telemetry/open_source.h"
#include "services/cli/diagnosis_api.h"
#include "services/node/executor.h"
#include "services/node/host_source.h"
#include "services/orchestrator/orchestrator.h"
#include "services/planning/playbook_texts.h"

namespace galen::cli {

// The whole mesh in one process: every service object, and callers that reach them directly.
class LocalMesh final : public DiagnosisApi {
 public:
  struct Options {
    std::vector<std::string> knowledge;  // directories; empty: the one that came with the program
    // Instead of those directories: knowledge that is loaded already, and its scanner, so that many
    // meshes share one. Both or none.
    std::shared_ptr<const knowledge::Knowledge> loaded;
    std::shared_ptr<const log_scan::Scanner> scanner;
    // With those: what outcomes that people tell are understood by; null: none are.
    std::shared_ptr<const phrases::OutcomeWords> words;
    // Instead of this machine: who answers for which live node, by host name. All must outlive the
    // mesh. Bundles are read as ever.
    std::optional<std::map<std::string, clients::NodeClient*>> live_nodes;
    // Beside the built-in reasoner; what it points to must outlive the mesh. None: nothing is sent
    // anywhere.
    std::optional<reasoner::llm::Model> model;
    // Prometheus servers, or data folders of some (telemetry::OpenSources). Incidents that name no
    // machine are then about those that they know.
    std::vector<telemetry::SourceAddress> prometheus;
    // Log sources of the site that incidents may name; null: none.
    std::shared_ptr<const log_sources::NamedLogs> named_logs;
    // The source that those name, if it is open already.
    std::optional<telemetry::OpenedSource> counters;
    std::string history;  // directory of the site's own past incidents (SiteHistory); "": none
    std::string store = ":memory:";  // SQLite file or Redis URL, see store::OpenStore()
    std::string owner = "galen";     // holder of the leases, see orchestrator::Options
    // Directories that bundles and logs must lie below; empty: any, with this user's own rights.
    std::vector<std::string> roots;
    // Files that are the logs of the job on this machine, for the checks that read logs.
    std::vector<std::string> job_logs;
    std::string strategy = "tiered";  // of diagnoses that name none
    // Policy for tests that load a device.
    orchestrator::TestPolicy tests = orchestrator::TestPolicy::kApproved;
    // The site's knowledge directory: what a person confirms becomes a proposal there; "" nowhere.
    std::string site;
    // Reloads changed knowledge files, and reports each version that is accepted or refused.
    bool reload = false;
    std::function<void(const std::string& news)> tell;
    // Writes outcomes and errors of diagnoses into the log of this process.
    bool log = false;
    int threads = 8;
    // Folder for the bundles made of pasted text; "": pasted text is only searched.
    std::string evidence;
    // For a model to search; null, and there is a model: those of `knowledge`.
    std::shared_ptr<const planning::PlaybookTexts> playbooks;

    // Fills in `loaded`, `scanner` and `words` from `knowledge`.
    absl::Status Load();
  };

  // Loads the knowledge, opens the store and resumes what was unfinished in it.
  static absl::StatusOr<std::unique_ptr<LocalMesh>> Start(const Options& given);
  ~LocalMesh() override;

  absl::StatusOr<v1::Diagnosis> Create(const v1::CreateDiagnosisRequest& request) override;
  absl::StatusOr<v1::Diagnosis> Get(const std::string& name) override;
  absl::StatusOr<v1::Diagnosis> SubmitFeedback(const v1::SubmitFeedbackRequest& request) override;
  absl::StatusOr<v1::ListDiagnosesResponse> List(const v1::ListDiagnosesRequest& request) override;
  absl::StatusOr<v1::Diagnosis> Escalate(const v1::EscalateDiagnosisRequest& request) override;
  absl::Status Delete(const std::string& name) override;
  absl::Status Watch(const std::string& name, std::int64_t after_sequence,
                     const std::function<void(const v1::DiagnosisEvent&)>& on_event) override;

  // From the next question of every diagnosis on, running ones included. An error leaves the old
  // knowledge in use. Not from two threads at a time, nor beside Options::reload.
  absl::Status Use(std::shared_ptr<const knowledge::Knowledge> knowledge);
  // Looks for changed knowledge now; only with Options::reload.
  void Reload();

  // Its counters, among those of the program. The registry must not be asked when the mesh is gone.
  void AddMetrics(metrics::Registry& registry) const;

  orchestrator::Orchestrator& orchestrator();
  // Threads for the tasks of this process's adapters.
  Executor& executor();

 private:
  struct Minds;
  struct Parts;
  explicit LocalMesh(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

// Owner of the leases in `store`: `name` itself for a file, which processes of one machine use in
// turn; for a shared Redis also this host and `what`, so that owners differ.
std::string OwnerIn(const std::string& store, const std::string& name, const std::string& what);

// The knowledge of these directories, or of the one that came with the program.
absl::StatusOr<std::shared_ptr<const knowledge::Knowledge>> LoadKnowledge(
    const std::vector<std::string>& directories);

// Phrases that identify outcomes, from the same directories; null if none has any lists.
absl::StatusOr<std::shared_ptr<const phrases::OutcomeWords>> LoadOutcomeWords(
    const std::vector<std::string>& directories);

// The scanner of that knowledge's signals.
absl::StatusOr<std::shared_ptr<const log_scan::Scanner>> CompileScanner(
    const knowledge::Knowledge& knowledge);

// The node executor of this machine.
struct LocalNode {
  // Bundles must lie below `bundle_roots`; without any they may lie anywhere. `job_logs`: of
  // node::LocalHosts.
  LocalNode(std::shared_ptr<const knowledge::Knowledge> knowledge,
            std::vector<std::string> bundle_roots, std::vector<std::string> job_logs = {});
  const node::LocalHosts hosts;
  node::NodeExecutor executor;
};

}  // namespace galen::cli

#endif  // SERVICES_CLI_LOCAL_MESH_H_
