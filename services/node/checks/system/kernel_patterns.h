#ifndef SERVICES_NODE_CHECKS_SYSTEM_KERNEL_PATTERNS_H_
#define SERVICES_NODE_CHECKS_SYSTEM_KERNEL_PATTERNS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/node/checks/system/kernel_events.h"

namespace galen::node {

// The form of one kind of line. Groups by name: `pci`, `code`, `subject`; all optional.
struct KernelPattern {
  EventFamily family;
  absl::string_view code;     // where the line does not carry it
  absl::string_view pattern;  // RE2, unanchored
  bool platform;
};

// All of them; the first one that matches a line decides.
absl::Span<const KernelPattern> KernelPatterns();

// Indices of the patterns that match, lowest first. One pass over the line.
void MatchKernelPatterns(absl::string_view line, std::vector<int>* matches);

// The named groups of pattern `index` in a line that it matches.
struct KernelGroups {
  absl::string_view pci;
  absl::string_view code;
  absl::string_view subject;
};
KernelGroups ExtractKernelGroups(int index, absl::string_view line);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_KERNEL_PATTERNS_H_
