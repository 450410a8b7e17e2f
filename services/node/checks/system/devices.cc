#include "services/node/checks/system/devices.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "re2/re2.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/device_names.h"
#include "services/node/checks/system/kernel_events.h"
#include "services/node/checks/system/listings.h"

namespace galen::node {
namespace {

// A driver that is loaded has to have made its nodes; one that is not cannot.
std::optional<bool> HasModule(const host::Host& host, absl::string_view module) {
  const auto modules = host.ReadFile("/proc/modules");
  if (!modules.ok()) return std::nullopt;
  for (const absl::string_view line : Lines(*modules)) {
    if (absl::StartsWith(line, absl::StrCat(module, " "))) return true;
  }
  return false;
}

// Display controllers of the two makers: a VGA card or a 3D or processing accelerator.
bool IsGpu(const host::Host& host, absl::string_view folder) {
  const auto vendor = FirstLine(host, absl::StrCat(folder, "/vendor"));
  const auto kind = FirstLine(host, absl::StrCat(folder, "/class"));
  if (!vendor.ok() || !kind.ok()) return false;
  return (*vendor == "0x10de" || *vendor == "0x1002") &&
         (absl::StartsWith(*kind, "0x03") || absl::StartsWith(*kind, "0x12"));
}

}  // namespace

std::map<std::string, bool> AspmOfLspci(absl::string_view text) {
  static const RE2 heading(R"(^((?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) )");
  static const RE2 control(R"(^\s+LnkCtl:\s+ASPM ([^;,]+)[;,])");
  std::map<std::string, bool> enabled;
  std::string address;
  for (const absl::string_view line : Lines(text)) {
    const re2::StringPiece piece(line.data(), line.size());
    std::string found;
    if (RE2::PartialMatch(piece, heading, &found)) {
      address = NormalPci(found);
    } else if (!address.empty() && RE2::PartialMatch(piece, control, &found)) {
      enabled.emplace(address, !absl::StrContains(found, "Disabled"));
    }
  }
  return enabled;
}

absl::StatusOr<CheckOutput> CheckDevices(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  const auto listing = Output(host, {"ls", "-l", "/dev"});
  CheckOutput output;
  std::optional<bool> uvm;
  std::optional<bool> kfd;
  std::optional<std::int64_t> count;
  std::vector<v1::Finding> modes;
  if (listing.ok()) {
    static const RE2 gpu(R"(nvidia(\d+))");
    uvm = false;
    kfd = false;
    count = 0;
    for (const ListedFile& file : ParseListing(*listing)) {
      if (file.mode[0] != 'c') continue;
      uvm = *uvm || file.name == "nvidia-uvm";
      kfd = *kfd || file.name == "kfd";
      int index = 0;
      const bool is_gpu = RE2::FullMatch(file.name, gpu, &index);
      if (is_gpu) ++*count;
      if (!is_gpu && file.name != "kfd" && file.name != "nvidiactl" && file.name != "nvidia-uvm") {
        continue;
      }
      modes.push_back(TextFinding("mode_and_group", node,
                                  is_gpu ? absl::StrCat("gpu:", index) : file.name,
                                  absl::StrCat(file.mode, " ", file.group)));
      absl::StrAppend(&output.excerpt, file.mode, " ", file.owner, " ", file.group, " ", file.name,
                      "\n");
    }
  } else {
    // One file is known to be there or not, although nobody listed the folder.
    const auto present = [&](absl::string_view path) -> std::optional<bool> {
      const auto found = host.Glob(path);
      if (found.ok()) return true;
      if (IsAbsent(found.status())) return false;
      return std::nullopt;
    };
    uvm = present("/dev/nvidia-uvm");
    kfd = present("/dev/kfd");
    if (!uvm.has_value() && !kfd.has_value()) return listing.status();
  }
  const std::optional<bool> nvidia = HasModule(host, "nvidia");
  const std::optional<bool> amd = HasModule(host, "amdgpu");
  const auto add = [&](v1::Finding finding) { output.findings.push_back(std::move(finding)); };
  // Without the driver nothing is missing: that the driver is not there is another fault.
  const bool judge_nvidia = nvidia.value_or(false) || uvm.value_or(false);
  add(judge_nvidia && uvm.has_value() ? BoolFinding("uvm_node_present", node, "", *uvm)
                                      : UnknownFinding("uvm_node_present", node, ""));
  add(count.has_value() ? IntFinding("nvidia_nodes", node, "", *count)
                        : UnknownFinding("nvidia_nodes", node, ""));
  const bool judge_amd = amd.value_or(false) || kfd.value_or(false);
  add(judge_amd && kfd.has_value() ? BoolFinding("kfd_present", node, "", *kfd)
                                   : UnknownFinding("kfd_present", node, ""));
  for (v1::Finding& mode : modes) add(std::move(mode));
  output.message =
      absl::StrCat(count.has_value() ? absl::StrCat(*count, " NVIDIA GPU nodes in /dev")
                                     : "GPU nodes not listed",
                   judge_nvidia && uvm.has_value() && !*uvm ? ", and no /dev/nvidia-uvm" : "",
                   kfd.value_or(false) ? ", and /dev/kfd" : "");
  return output;
}

absl::StatusOr<CheckOutput> CheckPowerManagement(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const auto vendors, host.Glob("/sys/bus/pci/devices/*/vendor"));
  const std::map<std::string, std::string> names = DeviceNames(host);
  std::map<std::string, bool> aspm;
  if (const auto lspci = Output(host, {"lspci", "-vvv", "-nn"}); lspci.ok()) {
    aspm = AspmOfLspci(*lspci);
  }
  CheckOutput output;
  std::vector<std::string> remarks;
  int gpus = 0;
  int known = 0;
  for (const std::string& path : vendors) {
    const absl::string_view folder = absl::StripSuffix(path, "/vendor");
    if (!IsGpu(host, folder)) continue;
    ++gpus;
    const std::string pci = NormalPci(BaseName(folder));
    const std::string device = DeviceAt(names, pci);
    const auto add = [&](v1::Finding finding) {
      known += finding.value_case() == v1::Finding::VALUE_NOT_SET ? 0 : 1;
      finding.mutable_subject()->set_pci_address(pci);
      output.findings.push_back(std::move(finding));
    };
    const auto control = FirstLine(host, absl::StrCat(folder, "/power/control"));
    const auto status = FirstLine(host, absl::StrCat(folder, "/power/runtime_status"));
    const auto l1 = FirstLine(host, absl::StrCat(folder, "/link/l1_aspm"));
    std::optional<bool> enabled;
    if (l1.ok() && (*l1 == "0" || *l1 == "1")) enabled = *l1 == "1";
    if (const auto found = aspm.find(pci); !enabled.has_value() && found != aspm.end()) {
      enabled = found->second;
    }
    add(enabled.has_value() ? BoolFinding("aspm_enabled", node, device, *enabled)
                            : UnknownFinding("aspm_enabled", node, device));
    add(status.ok() ? BoolFinding("runtime_suspended", node, device, *status == "suspended")
                    : UnknownFinding("runtime_suspended", node, device));
    add(control.ok() ? TextFinding("control", node, device, *control)
                     : UnknownFinding("control", node, device));
    if (status.ok() && *status == "suspended") {
      remarks.push_back(absl::StrCat(device, " is suspended by runtime power management"));
    }
    if (enabled.value_or(false)) remarks.push_back(absl::StrCat(device, " has ASPM enabled"));
  }
  if (gpus == 0) return absl::NotFoundError("the node has no GPU on its PCI bus");
  if (known == 0)
    return absl::UnavailableError("the power management of the GPUs was not captured");
  output.message = remarks.empty()
                       ? absl::StrCat("none of ", gpus, " GPUs is suspended or has ASPM enabled")
                       : absl::StrJoin(remarks, "; ");
  return output;
}

}  // namespace galen::node
