#include "services/node/checks/gpu/driver_packages.h"

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "common/base/re2_piece.h"
#include "re2/re2.h"
#include "services/node/checks/gpu/known_versions.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxPackages = 1000;

}  // namespace

DriverPackages DriverPackagesOfDpkg(absl::string_view output) {
  // No packages that mostly leave configuration behind when they are removed.
  static const LazyRE2 kPackage = {
      R"(^((?:libnvidia-(?:compute|cfg1|gl|decode|encode|fbc1)|nvidia-(?:utils|dkms))-\d+)"
      R"((?:-server|-open)*)(?::\w+)?\t(?:\d+:)?(\d{3}\.\d+(?:\.\d+)?)[-~+])"};
  DriverPackages packages;
  std::string name;
  std::string version;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    if (packages.size() == kMaxPackages) break;
    if (RE2::PartialMatch(Piece(line), *kPackage, &name, &version)) packages[name] = version;
  }
  return packages;
}

DriverPackages OfBranch(const DriverPackages& packages, absl::string_view version) {
  const absl::string_view branch = version.substr(0, version.find('.'));
  DriverPackages kept;
  for (const auto& [name, packaged] : packages) {
    if (packaged.substr(0, packaged.find('.')) == branch) kept.emplace(name, packaged);
  }
  return kept;
}

DriverPackages DriverPackagesOfRpm(absl::string_view output) {
  static const LazyRE2 kPackage = {
      R"(^((?:kmod-nvidia|nvidia-driver|dkms-nvidia|nvidia-kmod)[A-Za-z-]*?)-(?:\d+:)?)"
      R"((\d{3}\.\d+(?:\.\d+)?)-)"};
  DriverPackages packages;
  std::string name;
  std::string version;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    if (packages.size() == kMaxPackages) break;
    if (!RE2::PartialMatch(Piece(line), *kPackage, &name, &version)) continue;
    std::string& known = packages[name];
    // rpm keeps a module for each kernel that is installed, in any order; the newest belongs to the
    // libraries.
    const bool module = absl::StrContains(name, "kmod");
    if (known.empty() || !module || CompareReleases(known, version) < 0) known = version;
  }
  return packages;
}

std::string LibraryVersion(const DriverPackages& packages) {
  for (const absl::string_view prefix : {"libnvidia-compute-", "nvidia-driver-cuda-libs",
                                         "nvidia-driver-libs", "nvidia-driver-cuda"}) {
    // The greatest name is the newest branch where two are installed.
    for (auto it = packages.rbegin(); it != packages.rend(); ++it) {
      if (absl::StartsWith(it->first, prefix)) return it->second;
    }
  }
  return "";
}

std::string LoadedModuleVersion(absl::string_view content) {
  static const LazyRE2 kVersion = {
      R"(NVRM version:.*?Kernel Module(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)?))"};
  std::string version;
  RE2::PartialMatch(Piece(content), *kVersion, &version);
  return version;
}

}  // namespace galen::node
