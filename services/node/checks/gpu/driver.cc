#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/gpu/checks.h"
#include "services/node/checks/gpu/driver_packages.h"
#include "services/node/checks/gpu/gpu_findings.h"
#include "services/node/checks/gpu/gpu_query.h"
#include "services/node/checks/gpu/known_versions.h"

namespace galen::node {
namespace {

// The version of the module that runs, not of the file that the next boot would load.
std::string ModuleVersion(const host::Host& host) {
  if (const auto file = host.ReadFile("/proc/driver/nvidia/version"); file.ok()) {
    return LoadedModuleVersion(*file);
  }
  if (const auto file = host.ReadFile("/sys/module/nvidia/version"); file.ok()) {
    return std::string(absl::StripAsciiWhitespace(*file));
  }
  return "";
}

struct Installed {
  DriverPackages packages;
  // Packages of other branches are listed as well, and were removed or not.
  bool ambiguous = false;
};

// Those of the branch ("550") that runs: of dpkg's list only they are sure to be installed.
Installed InstalledPackages(const host::Host& host, const std::string& module) {
  Installed installed;
  DriverPackages& packages = installed.packages;
  if (const auto dpkg = host.Run({"dpkg-query", "-W"}); dpkg.ok()) {
    const DriverPackages listed = DriverPackagesOfDpkg(dpkg->out);
    packages = OfBranch(listed, module.empty() ? LibraryVersion(listed) : module);
    if (packages.empty()) packages = listed;
    installed.ambiguous = packages.size() < listed.size();
  }
  if (const auto rpm = host.Run({"rpm", "-qa"}); rpm.ok()) {
    packages.merge(DriverPackagesOfRpm(rpm->out));
  }
  return installed;
}

std::optional<bool> VgpuGuest(const GpuState& state) {
  std::optional<bool> guest;
  for (const Gpu& gpu : state.gpus) {
    if (gpu.virtualization.empty()) continue;
    guest = guest.value_or(false) || absl::EqualsIgnoreCase(gpu.virtualization, "VGPU");
  }
  return guest;
}

// The remark about a release with known defects; "" for any other.
std::string DefectText(const std::optional<std::string>& defects) {
  if (!defects.has_value() || *defects == "none") return "";
  return absl::StrCat("; this release has a known defect: ", *defects);
}

// AMD's driver is a module of the kernel with libraries of their own, which may rightly differ.
absl::StatusOr<CheckOutput> AmdDriver(const CheckContext& context, const GpuState& state,
                                      const std::vector<BadDriver>& bad) {
  GpuFindings findings(context);
  const std::string& module = state.driver_version;
  const std::optional<std::string> defects = KnownDefects(bad, "amd", module);
  findings.Text("module_version", findings.Node(), Known(module));
  findings.Text("known_bad", findings.Node(), defects).set_expected("none");
  return std::move(findings).Finish(
      absl::StrCat("kernel module amdgpu ", module.empty() ? "of unknown version" : module,
                   DefectText(defects)),
      module);
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuDriver(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "gpu.driver"));
  std::vector<BadDriver> bad;
  for (const std::vector<std::string>& texts : data.Lists("known_bad")) {
    if (auto driver = ReadBadDriver(texts); driver.has_value()) bad.push_back(*std::move(driver));
  }
  const absl::StatusOr<GpuState> state = QueryGpus(context.host);
  if (state.ok() && state->gpus.front().vendor == "AMD") return AmdDriver(context, *state, bad);
  const std::string module = ModuleVersion(context.host);
  const Installed installed = InstalledPackages(context.host, module);
  const DriverPackages& packages = installed.packages;
  if (!state.ok() && module.empty() && packages.empty()) return state.status();

  // A library that answers is the one in use; without an answer the packages decide.
  const std::string packaged = LibraryVersion(packages);
  const std::string answering = state.ok() ? state->driver_version : "";
  const std::string library = !answering.empty() ? answering : packaged;
  const bool refuses = absl::StrContains(state.status().message(), "version mismatch");
  std::optional<bool> skew;
  if (refuses) {
    skew = true;
  } else if (!module.empty() && !library.empty() && !(answering.empty() && installed.ambiguous)) {
    skew = module != library;
  }
  std::set<std::string> versions;
  for (const auto& [name, version] : packages) versions.insert(version);
  std::optional<bool> half_installed;
  if (!packages.empty()) half_installed = versions.size() > 1;

  GpuFindings findings(context);
  v1::Finding& loaded = findings.Text("module_version", findings.Node(), Known(module));
  if (!library.empty()) loaded.set_expected(library);
  findings.Text("userspace_version", findings.Node(), Known(library));
  findings.Bool("skew", findings.Node(), skew).set_expected("false");
  const std::optional<std::string> defects =
      KnownDefects(bad, "nvidia", module.empty() ? library : module);
  findings.Text("known_bad", findings.Node(), defects).set_expected("none");
  findings.Text("max_cuda", findings.Node(),
                state.ok() ? Known(state->cuda_version) : std::nullopt);
  findings.Bool("vgpu_guest", findings.Node(), state.ok() ? VgpuGuest(*state) : std::nullopt);
  findings.Bool("half_installed", findings.Node(), half_installed).set_expected("false");

  const auto named = [](const std::string& version) {
    return version.empty() ? std::string("unknown") : version;
  };
  std::string message =
      absl::StrCat("loaded kernel module ", named(module), ", driver libraries ", named(library));
  if (state.ok() && !state->cuda_version.empty()) {
    absl::StrAppend(&message, ", CUDA up to ", state->cuda_version);
  }
  absl::StrAppend(&message, DefectText(defects));
  if (half_installed.value_or(false)) {
    absl::StrAppend(&message, "; packages of versions ", absl::StrJoin(versions, " and "),
                    " stand side by side");
  }
  if (refuses) absl::StrAppend(&message, "; nvidia-smi refuses: ", state.status().message());
  std::vector<std::string> lines;
  if (const auto file = context.host.ReadFile("/proc/driver/nvidia/version"); file.ok()) {
    lines.emplace_back(absl::StripAsciiWhitespace(*file));
  }
  for (const auto& [name, version] : packages) lines.push_back(absl::StrCat(name, " ", version));
  return std::move(findings).Finish(std::move(message), absl::StrJoin(lines, "\n"));
}

}  // namespace galen::node
