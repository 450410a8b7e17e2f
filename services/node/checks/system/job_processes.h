#ifndef SERVICES_NODE_CHECKS_SYSTEM_JOB_PROCESSES_H_
#define SERVICES_NODE_CHECKS_SYSTEM_JOB_PROCESSES_H_

#include <cstdint>
#include <vector>

#include "services/node/checks/check.h"

namespace galen::node {

// The processes of the job.
struct JobProcesses {
  std::vector<std::int64_t> pids;  // sorted
  // In which /proc/<pid>/ is that of such a process.
  host::View view = host::View::kJob;
};

// In a bundle: the processes in the job's view of /proc, by their numbers there. On a live host
// that view shows everybody's processes, or those of a container by numbers of its own. There it is
// the process known to be the job's, all that it started, and all that was started with it by a
// program above it that starts the processes of one job only (`job_hosts` of system.process_load),
// by the host's numbers. Empty if the job is unknown.
JobProcesses FindJobProcesses(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_JOB_PROCESSES_H_
