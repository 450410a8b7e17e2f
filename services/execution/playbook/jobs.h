#ifndef SERVICES_EXECUTION_PLAYBOOK_JOBS_H_
#define SERVICES_EXECUTION_PLAYBOOK_JOBS_H_

#include <string>
#include <vector>

#include "services/execution/playbook/rows.h"

namespace galen::playbook {

// Two jobs that ran beside each other on machines of their own.
struct TwoJobs {
  std::string slower;  // job names, as the labels of throughput have them
  std::string faster;
  std::vector<std::string> slower_nodes;  // sorted
  std::vector<std::string> faster_nodes;
};

// The two jobs with most samples of throughput, where two or more overlap for half of their time.
// Only one machine of a job may tell its throughput: the others belong to the job with whose
// telling machine their power goes up and down together (checkpoints, phases). Empty node lists:
// one job, or most machines cannot be told apart.
TwoJobs FindTwoJobs(const Rows& throughput, const Rows& power);

}  // namespace galen::playbook

#endif  // SERVICES_EXECUTION_PLAYBOOK_JOBS_H_
