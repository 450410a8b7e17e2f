#ifndef TESTS_UNIT_COMMON_HOST_SCRATCH_H_
#define TESTS_UNIT_COMMON_HOST_SCRATCH_H_

#include <unistd.h>

#include <cstdlib>

#include "absl/strings/string_view.h"
#include "tests/testing/scratch.h"

namespace galen::host {

using ::galen::testing::Scratch;

// While it lives, this process may read what anybody may, also where root runs it.
class AsNobody {
 public:
  AsNobody() {
    if (was_ == 0 && seteuid(65534) != 0) std::abort();
  }
  ~AsNobody() {
    if (was_ == 0 && seteuid(0) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  const uid_t was_ = geteuid();
};

// The smallest bundle: one node, n1, with `commands` as its commands.yaml.
inline void WriteBundle(const Scratch& scratch, absl::string_view commands = "[]\n") {
  scratch.Write("bundle.yaml", "format: galen.bundle/v1\nnodes: [n1]\n");
  scratch.Write("incident.yaml", "description: \"training is slow\"\n");
  scratch.Write("nodes/n1/commands.yaml", commands);
}

}  // namespace galen::host

#endif  // TESTS_UNIT_COMMON_HOST_SCRATCH_H_
