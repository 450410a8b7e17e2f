#ifndef SERVICES_CLI_LOCAL_MESH_H_
#define SERVICES_CLI_LOCAL_MESH_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/knowledge/knowledge.h"
#include "common/logs/scanner.h"
#include "services/cli/diagnosis_api.h"
#include "services/node/executor.h"
#include "services/node/host_source.h"
#include "services/orchestrator/orchestrator.h"

namespace galen::cli {

// The whole mesh in one process: every service object, and callers that reach them directly.
class LocalMesh final : public DiagnosisApi {
 public:
  struct Options {
    std::vector<std::string> knowledge;  // directories; empty: the one that came with the program
    // Instead of those directories: knowledge that is loaded already, and its scanner, so that many
    // meshes share one. Both or none.
    std::shared_ptr<const knowledge::Knowledge> loaded;
    std::shared_ptr<const logs::Scanner> scanner;
    std::string store = ":memory:";  // SQLite file
    std::string owner = "galen";     // holder of the leases, see orchestrator::Options
    // Directories that bundles and logs must lie below; empty: any, with this user's own rights.
    std::vector<std::string> roots;
    std::string strategy = "tiered";  // of diagnoses that name none
    int threads = 8;
  };

  // Loads the knowledge, opens the store and resumes what was unfinished in it.
  static absl::StatusOr<std::unique_ptr<LocalMesh>> Start(const Options& options);
  ~LocalMesh() override;

  absl::StatusOr<v1::Diagnosis> Create(const v1::CreateDiagnosisRequest& request) override;
  absl::StatusOr<v1::Diagnosis> Get(const std::string& name) override;
  absl::StatusOr<v1::Diagnosis> SubmitFeedback(const v1::SubmitFeedbackRequest& request) override;
  absl::Status Watch(const std::string& name, std::int64_t after_sequence,
                     const std::function<void(const v1::DiagnosisEvent&)>& on_event) override;

  orchestrator::Orchestrator& orchestrator();
  // Where adapters of this process may run what they hand over.
  Executor& executor();

 private:
  struct Parts;
  explicit LocalMesh(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

// The knowledge of these directories, or of the one that came with the program.
absl::StatusOr<std::shared_ptr<const knowledge::Knowledge>> LoadKnowledge(
    const std::vector<std::string>& directories);

// The scanner of that knowledge's signals.
absl::StatusOr<std::shared_ptr<const logs::Scanner>> CompileScanner(
    const knowledge::Knowledge& knowledge);

// The node executor of this machine.
struct LocalNode {
  // Bundles must lie below `bundle_roots`; without any they may lie anywhere.
  LocalNode(std::shared_ptr<const knowledge::Knowledge> knowledge,
            std::vector<std::string> bundle_roots);
  const node::LocalHosts hosts;
  const node::NodeExecutor executor;
};

}  // namespace galen::cli

#endif  // SERVICES_CLI_LOCAL_MESH_H_
