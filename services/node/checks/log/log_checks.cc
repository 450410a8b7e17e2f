#include "services/node/checks/log/log_checks.h"

#include "services/node/checks/log/checkpoint.h"
#include "services/node/checks/log/collective_trace.h"
#include "services/node/checks/log/expected_rate.h"
#include "services/node/checks/log/job_data.h"
#include "services/node/checks/log/known_issues.h"
#include "services/node/checks/log/nccl_log.h"
#include "services/node/checks/log/nccl_topology.h"
#include "services/node/checks/log/profile.h"
#include "services/node/checks/log/scheduler.h"
#include "services/node/checks/log/stacks.h"
#include "services/node/checks/log/training_metrics.h"
#include "services/node/checks/log/triage.h"

namespace galen::node {

absl::Span<const NamedCheck> LogChecks() {
  static const NamedCheck kChecks[] = {
      {"log.triage", CheckTriage, &kTriageWant},
      {"nccl.log", CheckNcclLog, &kNcclLogWant},
      {"nccl.topology", CheckNcclTopology, &kNcclLogWant},
      {"framework.known_issues", CheckKnownIssues, &kKnownIssuesWant},
      {"history.changes", CheckChanges, &kChangesWant},
      {"job.scheduler", CheckScheduler, &kSchedulerWant},
      {"job.stacks", CheckStacks, &kStacksWant},
      {"job.collective_trace", CheckCollectiveTrace, &kCollectiveTraceWant},
      {"job.gpu_memory", CheckJobGpuMemory, &kGpuMemoryWant},
      {"job.data", CheckJobData, &kJobDataWant},
      {"job.checkpoint", CheckCheckpoint, &kCheckpointWant},
      {"job.training_metrics", CheckTrainingMetrics, &kTrainingWant},
      {"job.profile", CheckProfile},
      {"job.expected_rate", CheckExpectedRate, &kExpectedRateWant},
  };
  return kChecks;
}

}  // namespace galen::node
