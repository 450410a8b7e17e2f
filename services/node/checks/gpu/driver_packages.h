#ifndef SERVICES_NODE_CHECKS_GPU_DRIVER_PACKAGES_H_
#define SERVICES_NODE_CHECKS_GPU_DRIVER_PACKAGES_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace galen::node {

// The packages of the NVIDIA driver proper that are installed, with the driver version of each
// ("550.90.07"): libraries, tools and kernel module; neither the container toolkit nor the fabric
// manager, which may rightly differ.
using DriverPackages = std::map<std::string, std::string>;

// From `dpkg-query -W` (name, tab, version), which lists removed packages as well, as long as some
// configuration of theirs is left.
DriverPackages DriverPackagesOfDpkg(absl::string_view output);

// Those whose version is of the same branch as `version`: of 550 for "550.54.14".
DriverPackages OfBranch(const DriverPackages& packages, absl::string_view version);

// From `rpm -qa` (name-version-release.arch).
DriverPackages DriverPackagesOfRpm(absl::string_view output);

// The version of the library that programs load (libcuda, NVML); "" when it is not from a package.
std::string LibraryVersion(const DriverPackages& packages);

// The version in /proc/driver/nvidia/version; "" when there is none.
std::string LoadedModuleVersion(absl::string_view content);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_DRIVER_PACKAGES_H_
