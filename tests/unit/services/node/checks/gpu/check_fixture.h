#ifndef TESTS_UNIT_SERVICES_NODE_CHECKS_GPU_CHECK_FIXTURE_H_
#define TESTS_UNIT_SERVICES_NODE_CHECKS_GPU_CHECK_FIXTURE_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/knowledge/knowledge.h"
#include "common/knowledge/rules.h"
#include "services/node/checks/gpu/gpu_checks.h"
#include "tests/testing/host/fake_host.h"

namespace galen::node {

// Runs one of the GPU checks on a host.
inline absl::StatusOr<CheckOutput> RunGpuCheck(absl::string_view name, const host::Host& host,
                                               knowledge::v1::KnowledgeBase base = {}) {
  const knowledge::Knowledge knowledge(std::move(base));
  for (const NamedCheck& check : GpuChecks()) {
    if (check.name == name) return check.run({.host = host, .knowledge = knowledge});
  }
  return absl::InternalError("no such check");
}

// The value of a finding as people read it, "unknown", or "(none)" when it was not emitted.
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
