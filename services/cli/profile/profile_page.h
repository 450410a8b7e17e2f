#ifndef SERVICES_CLI_PROFILE_PROFILE_PAGE_H_
#define SERVICES_CLI_PROFILE_PROFILE_PAGE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "common/profile/compare.h"
#include "common/profile/families.h"
#include "common/profile/job.h"

namespace galen::cli {

// How much of the GPUs' peak the model itself needed.
struct Utilization {
  std::optional<double> share;  // 0 to 1; absent: not known
  double flops_per_step = 0;    // of all GPUs
  double peak = 0;              // operations a second of one GPU
  double step = 0;              // seconds
  double gpus = 0;
  std::string gpu;      // the model whose peak it is
  std::string unknown;  // why it is not known
};

// Contents of `galen profile`.
struct ProfilePage {
  const profile::Families& families;
  const profile::JobProfile& job;
  Utilization utilization;
  std::size_t operators = 10;                     // rows of a table of operators
  std::optional<profile::Difference> difference;  // of `job` from another one
};

}  // namespace galen::cli

#endif  // SERVICES_CLI_PROFILE_PROFILE_PAGE_H_
