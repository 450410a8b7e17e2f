#ifndef SERVICES_NODE_CHECKS_JOB_LIBRARIES_H_
#define SERVICES_NODE_CHECKS_JOB_LIBRARIES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// One line of `ldconfig -p`.
struct CachedLibrary {
  std::string name;  // "libcuda.so.1"
  std::string path;
};

// Parser of `ldconfig -p`, in the cache's order. Pure.
std::vector<CachedLibrary> ParseLdconfig(absl::string_view text);

// Paths of shared objects that a process has mapped, from /proc/<pid>/maps; sorted, each once.
// Pure.
std::vector<std::string> MappedLibraries(absl::string_view maps);

// "535.161.08" of ".../libcuda.so.535.161.08"; empty when the name ends in no driver version. Pure.
std::string DriverVersionOf(absl::string_view path);

// "535.161.08" of /proc/driver/nvidia/version; empty when it holds none. Pure.
std::string KernelModuleVersion(absl::string_view text);

// container.libraries.
absl::StatusOr<CheckOutput> CheckContainerLibraries(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_JOB_LIBRARIES_H_
