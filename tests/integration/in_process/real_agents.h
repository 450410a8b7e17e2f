#ifndef TESTS_INTEGRATION_IN_PROCESS_REAL_AGENTS_H_
#define TESTS_INTEGRATION_IN_PROCESS_REAL_AGENTS_H_

#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/knowledge/knowledge.h"
#include "services/conclusion/local_client.h"
#include "services/execution/check_runner.h"
#include "services/execution/local_client.h"
#include "services/execution/node_registry.h"
#include "services/node/executor.h"
#include "services/node/host_source.h"
#include "services/node/local_client.h"
#include "services/orchestrator/agents.h"
#include "services/planning/local_client.h"
#include "services/reflection/local_client.h"
#include "services/summarization/local_client.h"

namespace galen::in_process {

// Every agent and a node executor in this process, that call each other directly: what
// services/cli/local_mesh.h puts together, without the store, the orchestrator, and gRPC.
class RealAgents {
 public:
  // `executor` must outlive it and have nothing left to run when it goes.
  RealAgents(std::shared_ptr<const knowledge::Knowledge> knowledge, Executor& executor);

  orchestrator::Agents agents() {
    return {summarization_, planning_, execution_, reflection_, conclusion_};
  }

 private:
  const SystemClock clock_;
  const node::LocalHosts hosts_;
  node::NodeExecutor node_;
  node::LocalNodeClient node_client_;
  const execution::NodeRegistry registry_;
  const execution::CheckRunner runner_;
  summarization::LocalSummarizationClient summarization_;
  planning::LocalPlanningClient planning_;
  execution::LocalExecutionClient execution_;
  reflection::LocalReflectionClient reflection_;
  conclusion::LocalConclusionClient conclusion_;
};

}  // namespace galen::in_process

#endif  // TESTS_INTEGRATION_IN_PROCESS_REAL_AGENTS_H_
