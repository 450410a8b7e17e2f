#include "common/intake/forms/forms.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"

namespace galen::intake {
namespace {

struct Form {
  absl::string_view name;
  Converter* convert;
};

constexpr Form kForms[] = {
    {"amd_smi", AmdSmiText},
    {"apt_list", AptPackages},
    {"bmc", BmcEvents},
    {"chronyc", ClockTracking},
    {"csv_time", TimedTable},
    {"df", DiskFree},
    {"df_inodes", DiskFreeInodes},
    {"dpkg_l", DebianPackages},
    {"env", EnvironmentList},
    {"free", FreeMemory},
    {"ibstatus", InfinibandState},
    {"ibv_devinfo", DeviceInfo},
    {"id", UserGroups},
    {"ifconfig", InterfaceConfig},
    {"ip_addr", IpAddress},
    {"ip_link", IpLink},
    {"ip_route", IpRoute},
    {"iptables", IptablesRules},
    {"kube_node", KubeNode},
    {"kube_pod", KubePod},
    {"ls_dev", DeviceNodes},
    {"lsmod", ModuleList},
    {"lspci", PciList},
    {"mlxlink", LinkTables},
    {"mount", MountList},
    {"nvidia_smi_apps", NvidiaSmiApps},
    {"nvidia_smi_csv", NvidiaSmiCsv},
    {"nvidia_smi_dmon", DeviceMonitor},
    {"nvidia_smi_q", NvidiaSmiQuery},
    {"nvidia_smi_table", NvidiaSmiTable},
    {"pip", PythonPackages},
    {"ps", ProcessList},
    {"rdma_link", RdmaLinks},
    {"rocm_smi", RocmSmi},
    {"sestatus", SelinuxMode},
    {"show_gids", GidList},
    {"systemctl", UnitStates},
    {"timedatectl", TimeStatus},
    {"ulimit", ShellLimits},
    {"uname", KernelRelease},
};

constexpr absl::string_view kNul("\0", 1);

}  // namespace

absl::StatusOr<Converted> Convert(absl::string_view form, absl::string_view text,
                                  absl::string_view command) {
  for (const Form& known : kForms) {
    if (known.name != form) continue;
    // /proc/PID/environ ends each variable with NUL, which makes any other text binary.
    const std::string lines = known.convert == EnvironmentList
                                  ? absl::StrReplaceAll(text, {{kNul, "\n"}})
                                  : std::string();
    GALEN_ASSIGN_OR_RETURN(const std::string readable,
                           Readable(form, lines.empty() ? text : absl::string_view(lines)));
    return known.convert(readable, command);
  }
  return absl::NotFoundError(absl::StrCat(form.substr(0, 64), ": there is no such form"));
}

std::vector<absl::string_view> Forms() {
  std::vector<absl::string_view> names;
  for (const Form& form : kForms) names.push_back(form.name);
  return names;
}

}  // namespace galen::intake
