#include "services/node/checks/system/platform.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/device_names.h"
#include "services/node/checks/system/flag.h"
#include "services/node/checks/system/kernel_log.h"

namespace galen::node {
namespace {

// Driver in use of each NVIDIA or AMD display device, by address, from `lspci -vvv -nn`.
std::map<std::string, std::string> GpuDrivers(absl::string_view lspci) {
  static const RE2 device(
      R"(^([0-9a-f:.]+) (?:3D controller|VGA compatible controller|Display controller|Processing accelerators).*\[(?:10de|1002):)");
  std::map<std::string, std::string> drivers;
  std::string current;
  for (const absl::string_view line : Lines(lspci)) {
    if (!line.empty() && line[0] != '\t' && line[0] != ' ') {
      current.clear();
      std::string address;
      if (RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), device, &address)) {
        current = NormalPci(address);
        drivers.try_emplace(current, "none");
      }
      continue;
    }
    absl::string_view rest = absl::StripAsciiWhitespace(line);
    if (!current.empty() && absl::ConsumePrefix(&rest, "Kernel driver in use: ")) {
      drivers[current] = std::string(rest);
    }
  }
  return drivers;
}

// GPUs that the bus or the driver shows; empty: not known.
std::set<std::string> GpuAddresses(const host::Host& host) {
  std::set<std::string> gpus;
  if (const auto lspci = Output(host, {"lspci", "-vvv", "-nn"}); lspci.ok()) {
    for (const auto& [pci, driver] : GpuDrivers(*lspci)) gpus.insert(pci);
  }
  for (const auto& [pci, name] : DeviceNames(host)) {
    if (absl::StartsWith(name, "gpu:")) gpus.insert(pci);
  }
  return gpus;
}

std::set<std::string> ModuleNames(absl::string_view text) {
  std::set<std::string> names;
  for (const absl::string_view line : Lines(text)) {
    names.emplace(line.substr(0, line.find(' ')));
  }
  return names;
}

std::set<std::string> Options(absl::string_view cmdline) {
  const std::vector<absl::string_view> words = Words(cmdline);
  return {words.begin(), words.end()};
}

// The lines of an audit log but those of what was only noted, and allowed.
std::string Enforced(absl::string_view audit) {
  std::string kept;
  for (const absl::string_view line : Lines(audit)) {
    if (!absl::StrContains(line, "permissive=1")) absl::StrAppend(&kept, line, "\n");
  }
  return kept;
}

}  // namespace

absl::StatusOr<CheckOutput> CheckKernelModules(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const std::string text, host.ReadFile("/proc/modules"));
  const std::set<std::string> modules = ModuleNames(text);
  CheckOutput output;
  const auto lspci = Output(host, {"lspci", "-vvv", "-nn"});
  const auto drivers = lspci.ok() ? GpuDrivers(*lspci) : std::map<std::string, std::string>();
  const bool nvidia_card = lspci.ok()
                               ? absl::StrContains(*lspci, "[10de:")
                               : host.Run(std::vector<std::string>{"nvidia-smi", "-q", "-x"}).ok();
  const bool loaded = modules.contains("nvidia");
  // On a machine without such a card the module is not missing.
  const auto of_nvidia = [&](absl::string_view name, bool value) {
    output.findings.push_back(nvidia_card || loaded ? BoolFinding(name, node, "", value)
                                                    : UnknownFinding(name, node, ""));
  };
  of_nvidia("nvidia_loaded", loaded);
  of_nvidia("nvidia_uvm_loaded", modules.contains("nvidia_uvm"));
  const bool in_tree = modules.contains("nouveau") || modules.contains("nova_core");
  output.findings.push_back(BoolFinding("nouveau_or_nova_loaded", node, "", in_tree));
  of_nvidia("peermem_loaded",
            modules.contains("nvidia_peermem") || modules.contains("nv_peer_mem"));

  std::optional<bool> built;
  if (nvidia_card || loaded) {
    if (loaded) {
      built = true;
    } else if (const auto info = host.Run(std::vector<std::string>{"modinfo", "nvidia"});
               info.ok()) {
      const auto uname = Output(host, {"uname", "-a"});
      const std::vector<absl::string_view> words =
          uname.ok() ? Words(*uname) : std::vector<absl::string_view>();
      if (info->exit_code != 0) {
        built = false;
      } else if (words.size() > 2) {
        built = absl::StrContains(info->out, absl::StrCat("/lib/modules/", words[2], "/"));
      }
    }
  }
  output.findings.push_back(FlagOrUnknown("module_for_running_kernel", node, built));
  std::optional<bool> rejected;
  if (const auto events = KernelEvents(context); events.ok()) {
    rejected = false;
    for (const KernelEvent& event : *events) {
      if (event.family != EventFamily::KERNEL_NVRM || event.code != "module_rejected") continue;
      rejected = true;
      absl::StrAppend(&output.excerpt, event.text, "\n");
    }
  }
  output.findings.push_back(FlagOrUnknown("secure_boot_rejected", node, rejected));
  const auto names = DeviceNames(host);
  for (const auto& [pci, driver] : drivers) {
    v1::Finding finding = TextFinding("driver_in_use", node, DeviceAt(names, pci), driver);
    finding.mutable_subject()->set_pci_address(pci);
    output.findings.push_back(std::move(finding));
  }
  std::vector<std::string> parameters;
  for (const char* path : {"/sys/module/nvidia_uvm/parameters/uvm_disable_hmm"}) {
    if (const auto value = FirstLine(host, path); value.ok()) {
      parameters.push_back(absl::StrCat(BaseName(path), "=", *value));
    }
  }
  output.findings.push_back(
      parameters.empty() ? UnknownFinding("parameters", node, "")
                         : TextFinding("parameters", node, "", absl::StrJoin(parameters, " ")));
  output.message =
      absl::StrCat(loaded ? "the nvidia module is loaded" : "the nvidia module is not loaded",
                   in_tree ? ", an in-tree driver for NVIDIA is" : "",
                   built.value_or(true) ? "" : ", and there is none for the running kernel",
                   rejected.value_or(false) ? ", and the kernel rejected an unsigned one" : "");
  return output;
}

absl::StatusOr<CheckOutput> CheckCmdline(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const std::string text, FirstLine(host, "/proc/cmdline"));
  const std::set<std::string> options = Options(text);
  std::string mode = "default";
  if (options.contains("iommu=pt")) mode = "passthrough";
  if (options.contains("iommu=off") || options.contains("intel_iommu=off") ||
      options.contains("amd_iommu=off")) {
    mode = "off";
  }
  if (mode == "default" &&
      (options.contains("intel_iommu=on") || options.contains("amd_iommu=on"))) {
    mode = "on";
  }
  CheckOutput output;
  output.findings.push_back(TextFinding("iommu_mode", node, "", mode));
  std::string release;
  if (const auto version = FirstLine(host, "/proc/version"); version.ok()) {
    const std::vector<absl::string_view> words = Words(*version);
    if (words.size() > 2) release = std::string(words[2]);
  }
  output.findings.push_back(release.empty() ? UnknownFinding("kernel_release", node, "")
                                            : TextFinding("kernel_release", node, "", release));
  // A release that is not on the list may still be bad.
  const std::string known =
      CheckData::FirstMatch(PatternsOf(context.knowledge, "system.cmdline"), release);
  output.findings.push_back(known.empty() ? UnknownFinding("known_bad_kernel", node, "")
                                          : TextFinding("known_bad_kernel", node, "", known));
  output.findings.push_back(UnknownFinding("differs_from_peers", node, ""));
  output.message = absl::StrCat("kernel ", release, known.empty() ? "" : ", known for ", known,
                                ", IOMMU mode ", mode);
  output.excerpt = text;
  return output;
}

absl::StatusOr<CheckOutput> CheckVirtualization(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const std::string text, Output(host, {"lscpu"}));
  CheckOutput output;
  const bool guest = absl::StrContains(text, "Hypervisor vendor:");
  output.findings.push_back(BoolFinding("is_guest", node, "", guest));
  std::optional<bool> no_space;
  if (const auto events = KernelEvents(context); events.ok()) {
    no_space = false;
    const std::set<std::string> gpus = GpuAddresses(host);
    for (const KernelEvent& event : *events) {
      if (event.family != EventFamily::KERNEL_BAR) continue;
      // Windows are tight for other devices too, and those work without the region.
      if (!gpus.empty() && !gpus.contains(event.pci)) continue;
      no_space = guest;
      absl::StrAppend(&output.excerpt, event.text, "\n");
    }
  }
  output.findings.push_back(FlagOrUnknown("guest_no_mmio_space", node, no_space));
  output.message = guest ? "the node is a virtual machine" : "the node is bare metal";
  if (no_space.value_or(false)) {
    output.message += ", and its kernel finds no space for the BARs of a GPU";
  }
  return output;
}

absl::StatusOr<CheckOutput> CheckSecurity(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  CheckOutput output;
  std::optional<bool> enforcing;
  const auto mode = Output(host, {"getenforce"});
  if (mode.ok()) {
    enforcing = absl::StartsWith(*mode, "Enforcing");
  } else if (IsAbsent(mode.status())) {
    enforcing = false;  // no SELinux on this machine
  }
  std::optional<std::int64_t> denials;
  const auto count = [&](const std::vector<KernelEvent>& events) {
    std::int64_t counted = 0;
    for (const KernelEvent& event : events) {
      if (event.family != EventFamily::KERNEL_DENIAL) continue;
      counted += event.count;
      absl::StrAppend(&output.excerpt, event.text, "\n");
    }
    return counted;
  };
  if (const auto events = KernelEvents(context); events.ok()) denials = count(*events);
  // An audit daemon keeps the records from the kernel log. ausearch, which comes with it, shows
  // those of the last ten minutes: that it finds none says little of an incident.
  const auto audit = Output(host, {"ausearch", "-m", "avc", "-ts", "recent"});
  if (audit.ok()) {
    const std::int64_t audited =
        count(ScanKernelLog(Enforced(*audit), *KernelPatterns::Of(context.knowledge)));
    // A record that is in both logs counts once.
    if (audited > 0) denials = std::max(denials.value_or(0), audited);
  }
  const bool may_be_elsewhere = enforcing.value_or(true) && !IsAbsent(audit.status());
  if (denials == 0 && may_be_elsewhere) denials = std::nullopt;
  if (!enforcing.has_value() && !denials.has_value()) return mode.status();
  output.findings.push_back(FlagOrUnknown("enforcing", node, enforcing));
  output.findings.push_back(denials.has_value() ? IntFinding("nvidia_denials", node, "", *denials)
                                                : UnknownFinding("nvidia_denials", node, ""));
  output.message =
      absl::StrCat("SELinux is ",
                   !enforcing.has_value() ? "in an unknown mode"
                   : *enforcing           ? "enforcing"
                                          : "not enforcing",
                   !denials.has_value() ? "; whether it denied GPU devices is not known"
                   : *denials > 0       ? absl::StrCat("; ", *denials, " denials of GPU devices")
                                        : "");
  return output;
}

}  // namespace galen::node
