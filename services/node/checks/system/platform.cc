#include "services/node/checks/system/platform.h"

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
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/device_names.h"
#include "services/node/checks/system/kernel_log.h"

namespace galen::node {
namespace {

v1::Finding FlagOrUnknown(absl::string_view name, const std::string& node,
                          std::optional<bool> value) {
  return value.has_value() ? BoolFinding(name, node, "", *value) : UnknownFinding(name, node, "");
}

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

// A bridge with the buses below it.
struct Bridge {
  std::string address;
  int domain = 0;
  int first = 0;
  int last = -1;
  std::string control;  // its ACSCtl line
};

// Those whose buses hold a GPU or an adapter for RDMA, from `lspci -vvv -nn`: requests between two
// such devices pass through them. A bridge above a drive or a management chip does not matter.
std::vector<Bridge> BridgesAboveAccelerators(absl::string_view lspci) {
  static const RE2 header(R"(^(?:([0-9a-f]{4}):)?([0-9a-f]{2}):[0-9a-f]{2}\.[0-7] (.*))");
  static const RE2 endpoint(
      R"((?:3D controller|Processing accelerators|VGA compatible controller|Display controller).*\[(?:10de|1002):|(?:Infiniband|Ethernet) controller.*\[15b3:)");
  static const RE2 buses(
      R"(Bus: primary=[0-9a-f]+, secondary=([0-9a-f]+), subordinate=([0-9a-f]+))");
  std::vector<Bridge> bridges;
  std::set<std::pair<int, int>> used;  // domain and bus
  bool bridge = false;
  for (const absl::string_view line : Lines(lspci)) {
    const re2::StringPiece piece(line.data(), line.size());
    std::string domain;
    std::string bus;
    std::string what;
    if (RE2::PartialMatch(piece, header, &domain, &bus, &what)) {
      const int domain_number = domain.empty() ? 0 : std::stoi(domain, nullptr, 16);
      bridge = absl::StrContains(what, "PCI bridge");
      if (RE2::PartialMatch(what, endpoint)) {
        used.insert({domain_number, std::stoi(bus, nullptr, 16)});
      }
      if (bridge) {
        bridges.push_back({NormalPci(line.substr(0, line.find(' '))), domain_number});
      }
      continue;
    }
    if (!bridge) continue;
    std::string last;
    if (RE2::PartialMatch(piece, buses, &bus, &last) && bus.size() <= 2 && last.size() <= 2) {
      bridges.back().first = std::stoi(bus, nullptr, 16);
      bridges.back().last = std::stoi(last, nullptr, 16);
    } else if (absl::StrContains(line, "ACSCtl:")) {
      bridges.back().control = std::string(absl::StripAsciiWhitespace(line));
    }
  }
  std::erase_if(bridges, [&](const Bridge& candidate) {
    const auto below = used.lower_bound({candidate.domain, candidate.first});
    return below == used.end() || below->first != candidate.domain ||
           below->second > candidate.last;
  });
  return bridges;
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

// Seconds since boot; a machine that is not live has none.
std::optional<double> Uptime(const host::Host& host) {
  const auto uptime = FirstLine(host, "/proc/uptime");
  return uptime.ok() ? LeadingDouble(*uptime) : std::nullopt;
}

// What the kernel left in the firmware's store when it died (fs/pstore), oldest part first; "none"
// when it left nothing. Parts of one record hold the log from its end backwards.
std::optional<std::string> PanicRecord(const host::Host& host) {
  const auto parts = host.Glob("/sys/fs/pstore/dmesg-*");
  if (!parts.ok()) {
    if (IsAbsent(parts.status())) return "none";
    return std::nullopt;
  }
  std::string reason;
  for (const std::string& part : *parts) {
    const auto text = host.ReadFile(part);
    if (!text.ok()) continue;
    if (std::string found = PanicReason(*text); !found.empty()) reason = std::move(found);
  }
  return reason.empty() ? absl::StrCat(parts->size(), " parts without a reason") : reason;
}

}  // namespace

std::string PanicReason(absl::string_view record) {
  static const RE2 reason(
      R"((Kernel panic - not syncing.*|BUG: .*|Oops: .*|general protection fault.*|Unable to handle kernel .*))");
  std::string found;
  for (const absl::string_view line : Lines(record)) {
    std::string text;
    if (!RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), reason, &text)) continue;
    // The panic names its cause; what stands before it is only part of it.
    if (absl::StartsWith(text, "Kernel panic")) return CleanText(text, 200);
    if (found.empty()) found = CleanText(text, 200);
  }
  return found;
}

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
  // On a machine without such a card nobody misses the module.
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
  output.findings.push_back(UnknownFinding("known_bad_kernel", node, ""));
  output.findings.push_back(UnknownFinding("differs_from_peers", node, ""));
  output.message = absl::StrCat("kernel ", release, ", IOMMU mode ", mode);
  output.excerpt = text;
  return output;
}

absl::StatusOr<CheckOutput> CheckIommu(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const std::string text, FirstLine(host, "/proc/cmdline"));
  const std::set<std::string> options = Options(text);
  std::optional<bool> enabled;
  std::optional<bool> passthrough;
  if (options.contains("iommu=off") || options.contains("intel_iommu=off") ||
      options.contains("amd_iommu=off")) {
    enabled = false;
  }
  if (options.contains("iommu=pt")) passthrough = true;
  std::optional<std::int64_t> faults;
  const auto log = Output(host, {"dmesg", "--time-format", "iso"});
  if (log.ok()) {
    if (absl::StrContains(*log, "DMAR: IOMMU enabled") ||
        absl::StrContains(*log, "AMD-Vi: Interrupt remapping enabled") ||
        absl::StrContains(*log, "Default domain type:")) {
      enabled = enabled.value_or(true);
    }
    if (absl::StrContains(*log, "Default domain type: Translated")) passthrough = false;
    if (absl::StrContains(*log, "Default domain type: Passthrough")) passthrough = true;
  }
  if (enabled.has_value() && !*enabled) passthrough = std::nullopt;
  CheckOutput output;
  if (const auto events = KernelEvents(context); events.ok()) {
    faults = 0;
    for (const KernelEvent& event : *events) {
      if (event.family != EventFamily::KERNEL_IOMMU_FAULT) continue;
      *faults += event.count;
      absl::StrAppend(&output.excerpt, event.text, "\n");
    }
  }
  output.findings.push_back(FlagOrUnknown("enabled", node, enabled));
  output.findings.push_back(FlagOrUnknown("passthrough", node, passthrough));
  output.findings.push_back(faults.has_value() ? IntFinding("io_page_faults", node, "", *faults)
                                               : UnknownFinding("io_page_faults", node, ""));
  output.message =
      absl::StrCat(!enabled.has_value() ? "whether the IOMMU is on is not known"
                   : *enabled           ? "the IOMMU is on"
                                        : "the IOMMU is off",
                   !passthrough.has_value() ? ""
                   : *passthrough           ? ", passing through"
                                            : ", translating",
                   faults.value_or(0) > 0 ? absl::StrCat(", ", *faults, " faults") : "");
  return output;
}

absl::StatusOr<CheckOutput> CheckAcs(const CheckContext& context) {
  const std::string& node = context.host.name();
  GALEN_ASSIGN_OR_RETURN(const std::string text, Output(context.host, {"lspci", "-vvv", "-nn"}));
  if (!absl::StrContains(text, "ACSCtl:") && absl::StrContains(text, "<access denied>")) {
    return absl::PermissionDeniedError("lspci: capabilities are shown to root only");
  }
  CheckOutput output;
  std::int64_t redirecting = 0;
  for (const Bridge& bridge : BridgesAboveAccelerators(text)) {
    if (!absl::StrContains(bridge.control, "ReqRedir+") &&
        !absl::StrContains(bridge.control, "CmpltRedir+")) {
      continue;
    }
    ++redirecting;
    output.findings.push_back(
        TextFinding("acsctl", node, absl::StrCat("pci:", bridge.address), bridge.control));
  }
  output.findings.push_back(IntFinding("redirecting_bridges", node, "", redirecting));
  std::optional<bool> bare;
  if (const auto cpu = Output(context.host, {"lscpu"}); cpu.ok()) {
    bare = !absl::StrContains(*cpu, "Hypervisor vendor:");
  }
  output.findings.push_back(FlagOrUnknown("bare_metal", node, bare));
  output.message = redirecting == 0
                       ? "no bridge redirects peer-to-peer requests"
                       : absl::StrCat(redirecting, " bridges redirect peer-to-peer requests");
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
    for (const KernelEvent& event : *events) {
      if (event.family != EventFamily::KERNEL_BAR) continue;
      no_space = guest;
      absl::StrAppend(&output.excerpt, event.text, "\n");
    }
  }
  output.findings.push_back(FlagOrUnknown("guest_no_mmio_space", node, no_space));
  output.message = guest ? "the node is a virtual machine" : "the node is bare metal";
  if (no_space.value_or(false)) {
    output.message += ", and its kernel finds no space for the BARs of a device";
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
  const auto events = KernelEvents(context);
  if (events.ok()) {
    denials = 0;
    for (const KernelEvent& event : *events) {
      if (event.family != EventFamily::KERNEL_DENIAL) continue;
      *denials += event.count;
      absl::StrAppend(&output.excerpt, event.text, "\n");
    }
  }
  if (!enforcing.has_value() && !denials.has_value()) return mode.status();
  output.findings.push_back(FlagOrUnknown("enforcing", node, enforcing));
  output.findings.push_back(denials.has_value() ? IntFinding("nvidia_denials", node, "", *denials)
                                                : UnknownFinding("nvidia_denials", node, ""));
  output.message = absl::StrCat(
      "SELinux is ",
      !enforcing.has_value() ? "in an unknown mode"
      : *enforcing           ? "enforcing"
                             : "not enforcing",
      denials.value_or(0) > 0 ? absl::StrCat("; ", *denials, " denials of GPU devices") : "");
  return output;
}

absl::StatusOr<CheckOutput> CheckBootHistory(const CheckContext& context) {
  const std::string& node = context.host.name();
  GALEN_ASSIGN_OR_RETURN(const std::vector<KernelEvent> events, KernelEvents(context));
  bool suspended = false;
  bool shutdown = false;
  CheckOutput output;
  for (const KernelEvent& event : events) {
    if (event.family != EventFamily::KERNEL_POWER) continue;
    suspended |= event.code == "suspend";
    shutdown |= event.code == "shutdown";
    absl::StrAppend(&output.excerpt, event.text, "\n");
  }
  const std::optional<double> uptime = Uptime(context.host);
  output.findings.push_back(uptime.has_value() ? FloatFinding("uptime_s", node, "", *uptime)
                                               : UnknownFinding("uptime_s", node, ""));
  const std::optional<std::string> panic = PanicRecord(context.host);
  output.findings.push_back(panic.has_value() ? TextFinding("panic_record", node, "", *panic)
                                              : UnknownFinding("panic_record", node, ""));
  std::optional<bool> unclean;
  if (const auto last = Output(context.host, {"last", "-x"}); last.ok()) {
    unclean = absl::StrContains(*last, "crash");
    output.excerpt += last->substr(0, 1024);
  }
  output.findings.push_back(FlagOrUnknown("unclean_reboot", node, unclean));
  output.findings.push_back(BoolFinding("suspended", node, "", suspended));
  output.findings.push_back(BoolFinding("last_shutdown_in_log", node, "", shutdown));
  output.message = absl::StrCat(suspended ? "the node was suspended" : "the node was not suspended",
                                unclean.value_or(false) ? "; it went down without a shutdown" : "",
                                panic.value_or("none") != "none"
                                    ? absl::StrCat("; the firmware keeps a record: ", *panic)
                                    : "");
  return output;
}

}  // namespace galen::node
