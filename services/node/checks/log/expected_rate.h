#ifndef SERVICES_NODE_CHECKS_LOG_EXPECTED_RATE_H_
#define SERVICES_NODE_CHECKS_LOG_EXPECTED_RATE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "services/node/checks/check.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// The shape of a job, as perfmodel::ParseJob() takes it, by the settings that the job printed: each
// datum `sets` of the check says which setting, with which value, sets which field to what. Pure.
std::string ShapeOf(const std::map<std::string, std::string>& settings, const CheckData& data);

// job.expected_rate: what a step of the job should take by the performance model
// (common/perfmodel), and what it took by the job's logs.
extern const LogWant kExpectedRateWant;
absl::StatusOr<CheckOutput> CheckExpectedRate(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_EXPECTED_RATE_H_
