#ifndef SERVICES_NODE_CHECKS_SYSTEM_KERNEL_PATTERNS_H_
#define SERVICES_NODE_CHECKS_SYSTEM_KERNEL_PATTERNS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/knowledge/knowledge.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::node {

// The named groups of a pattern in a line that it matches.
struct KernelGroups {
  absl::string_view pci;
  absl::string_view code;
  absl::string_view subject;
};

// The kernel lines of the knowledge, compiled. Immutable and thread-safe.
class KernelPatterns {
 public:
  // The same object for the same lines: to compile them takes longer than to read most logs. A line
  // whose pattern does not compile matches nothing; lint says so.
  static std::shared_ptr<const KernelPatterns> Of(const knowledge::Knowledge& knowledge);

  ~KernelPatterns();
  KernelPatterns(const KernelPatterns&) = delete;
  KernelPatterns& operator=(const KernelPatterns&) = delete;

  // Indices of the forms that match, lowest first: the first one decides. Scans the line once.
  void Match(absl::string_view line, std::vector<int>* matches) const;
  const knowledge::v1::KernelLine& form(int index) const {
    return forms_[static_cast<std::size_t>(index)];
  }
  // The named groups of form `index` in a line that it matches.
  KernelGroups Extract(int index, absl::string_view line) const;

 private:
  struct Matcher;
  explicit KernelPatterns(std::vector<knowledge::v1::KernelLine> forms);

  const std::vector<knowledge::v1::KernelLine> forms_;
  const std::unique_ptr<const Matcher> matcher_;
};

// Whether an event of this form with this code points at hardware or the platform, not at what a
// program did or what follows from an earlier event.
bool IsPlatform(const knowledge::v1::KernelLine& form, absl::string_view code);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_KERNEL_PATTERNS_H_
