#include "services/node/checks/log/log_checks.h"

#include "services/node/checks/log/checkpoint.h"
#include "services/node/checks/log/collective_trace.h"
#include "services/node/checks/log/job_data.h"
#include "services/node/checks/log/known_issues.h"
#include "services/node/checks/log/nccl_log.h"
#include "services/node/checks/log/nccl_topology.h"
#include "services/node/checks/log/scheduler.h"
#include "services/node/checks/log/stacks.h"
#include "services/node/checks/log/training_metrics.h"
#include "services/node/checks/log/triage.h"

namespace galen::node {

absl::Span<const NamedCheck> LogChecks() {
  static constexpr NamedCheck kChecks[] = {
      {"log.triage", CheckTriage},           {"nccl.log", CheckNcclLog},
      {"nccl.topology", CheckNcclTopology},  {"framework.known_issues", CheckKnownIssues},
      {"history.changes", CheckChanges},     {"job.scheduler", CheckScheduler},
      {"job.stacks", CheckStacks},           {"job.collective_trace", CheckCollectiveTrace},
      {"job.gpu_memory", CheckJobGpuMemory}, {"job.data", CheckJobData},
      {"job.checkpoint", CheckCheckpoint},   {"job.training_metrics", CheckTrainingMetrics},
  };
  return kChecks;
}

}  // namespace galen::node
