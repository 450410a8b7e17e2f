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

// Of a bundle: those whose entries in /proc the job's view shows, by the numbers that they have
// there. On a live host that view shows everybody's processes, or those of a container by numbers
// of its own: there it is the process that is known to be the job's and all that it started, by the
// numbers that the host gives them; and all that was started with it, where a program stands above
// it that starts the processes of one job only (`job_hosts` of system.process_load). None where the
// job is not known.
JobProcesses FindJobProcesses(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_JOB_PROCESSES_H_
