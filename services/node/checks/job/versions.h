#ifndef SERVICES_NODE_CHECKS_JOB_VERSIONS_H_
#define SERVICES_NODE_CHECKS_JOB_VERSIONS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// Versions by package name of `pip list --format=json`; empty when the text is not that. Pure.
std::map<std::string, std::string> ParsePipList(absl::string_view json);

// The output of torch.utils.collect_env, by the name before the colon ("PyTorch version"). Pure.
std::map<std::string, std::string> ParseCollectEnv(absl::string_view text);

// True when a release ("12.4") is newer than another ("12.2"): major, then minor. Pure.
bool IsNewer(absl::string_view a, absl::string_view b);

// framework.versions, nccl.versions.
absl::StatusOr<CheckOutput> CheckFrameworkVersions(const CheckContext& context);
extern const LogWant kVersionsWant;
absl::StatusOr<CheckOutput> CheckNcclVersions(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_JOB_VERSIONS_H_
