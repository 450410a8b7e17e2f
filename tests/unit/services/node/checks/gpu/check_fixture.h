#ifndef TESTS_UNIT_SERVICES_NODE_CHECKS_GPU_CHECK_FIXTURE_H_
#define TESTS_UNIT_SERVICES_NODE_CHECKS_GPU_CHECK_FIXTURE_H_

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/knowledge/knowledge.h"
#include "common/knowledge/load.h"
#include "common/knowledge/rules.h"
#include "services/node/checks/gpu/gpu_checks.h"
#include "tests/testing/host/fake_host.h"

namespace galen::node {

// The knowledge of this repository: checks use its thresholds.
inline const knowledge::Knowledge& RepositoryKnowledge() {
  static const auto* const knowledge = [] {
    std::vector<knowledge::Problem> problems;
    auto base = knowledge::Parse({std::string(GALEN_SOURCE_DIR) + "/knowledge"}, problems);
    EXPECT_TRUE(base.ok()) << base.status();
    return new knowledge::Knowledge(*std::move(base));
  }();
  return *knowledge;
}

// Runs one of the GPU checks on a host. It knows the repository's checks, and of GPU models only
// those of `base`.
inline absl::StatusOr<CheckOutput> RunGpuCheck(
    absl::string_view name, const host::Host& host, knowledge::v1::KnowledgeBase base = {},
    const std::map<std::string, std::string>& parameters = {}) {
  *base.mutable_checks() = RepositoryKnowledge().base().checks();
  const knowledge::Knowledge knowledge(std::move(base));
  const knowledge::v1::Check* const spec = knowledge.FindCheck(name);
  if (spec == nullptr) return absl::InternalError("the catalogue has no such check");
  galen::v1::CheckParameters asked;
  for (const auto& [key, value] : parameters) (*asked.mutable_values())[key] = value;
  const auto resolved = Parameters::Resolve(*spec, asked);
  if (!resolved.ok()) return resolved.status();
  for (const NamedCheck& check : GpuChecks()) {
    if (check.name == name) {
      return check.run({.host = host, .knowledge = knowledge, .parameters = *resolved});
    }
  }
  return absl::InternalError("no such check");
}

// The models of this repository, for RunGpuCheck.
inline knowledge::v1::KnowledgeBase KnownModels() {
  knowledge::v1::KnowledgeBase base;
  *base.mutable_hardware() = RepositoryKnowledge().base().hardware();
  return base;
}

// The value of a finding as people read it, "unknown", or "(none)" if it was not emitted.
inline std::string ValueOf(const absl::StatusOr<CheckOutput>& output, absl::string_view name,
                           absl::string_view device) {
  if (!output.ok()) return std::string(output.status().message());
  for (const galen::v1::Finding& finding : output->findings) {
    if (finding.name() == name && finding.subject().device() == device) {
      return knowledge::ValueText(finding);
    }
  }
  return "(none)";
}

inline std::string MessageOf(const absl::StatusOr<CheckOutput>& output) {
  return output.ok() ? output->message : std::string(output.status().message());
}

}  // namespace galen::node

#endif  // TESTS_UNIT_SERVICES_NODE_CHECKS_GPU_CHECK_FIXTURE_H_
