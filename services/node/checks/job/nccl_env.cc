#include "services/node/checks/job/nccl_env.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "nlohmann/json.hpp"
#include "services/node/checks/check_data.h"
#include "services/node/checks/rdma/hca_list.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxValue = 4096;

using Environment = std::map<std::string, std::string>;

absl::string_view ValueOf(const Environment& environment, const std::string& name) {
  const auto it = environment.find(name);
  if (it == environment.end()) return "";
  return absl::string_view(it->second).substr(0, kMaxValue);
}

void AddOnce(std::vector<std::string>& list, const std::string& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

std::string LayerOf(const std::vector<RdmaPort>& ports, absl::string_view hca) {
  for (const RdmaPort& port : ports) {
    if (port.hca == hca) return port.link_layer;
  }
  return "";
}

// One variable that chooses RDMA devices.
void JudgeHcas(absl::string_view variable, const DeviceList& list,
               const std::vector<RdmaPort>& ports, NcclEnvFaults& faults) {
  const std::vector<std::string> hcas = Hcas(ports);
  std::set<std::string> fabric;  // adapters with a port in it
  const std::set<std::string> fabric_ports = FabricPorts(ports);
  for (const RdmaPort& port : ports) {
    if (fabric_ports.contains(DeviceOf(port))) fabric.insert(port.hca);
  }
  const auto say = [&](absl::string_view what) {
    absl::StrAppend(&faults.message, faults.message.empty() ? "" : "; ", variable, " ", what);
  };
  for (const DeviceList::Entry& entry : list.entries) {
    std::vector<std::string> named;
    for (const std::string& hca : hcas) {
      if (Names(entry, list.exact, hca)) named.push_back(hca);
    }
    if (named.empty()) {
      // To leave out what is not there does no harm.
      if (list.excludes) continue;
      AddOnce(*faults.absent, entry.name);
      say(absl::StrCat("names ", entry.name, ", which this node does not have"));
      continue;
    }
    if (entry.port.has_value() && !list.excludes) {
      const bool exists = std::any_of(ports.begin(), ports.end(), [&](const RdmaPort& port) {
        return port.hca == named[0] && port.number == *entry.port;
      });
      if (!exists && *entry.port != 0) {
        AddOnce(*faults.absent, absl::StrCat(entry.name, ":", *entry.port));
        say(absl::StrCat("names port ", *entry.port, " of ", named[0], ", which it does not have"));
      }
    }
    if (list.excludes) continue;
    // A name that is also the beginning of others ("mlx5_1" of "mlx5_10") means the one it spells.
    const bool whole = std::find(named.begin(), named.end(), entry.name) != named.end();
    if (whole) named = {entry.name};
    // A prefix takes all its devices along on purpose; only whole names can be a slip.
    if (!whole) continue;
    const std::string& hca = named[0];
    const std::string layer = LayerOf(ports, hca);
    if (fabric.empty() || fabric.contains(hca)) continue;
    const std::string fabric_layer = LayerOf(ports, *fabric.begin());
    AddOnce(*faults.non_fabric, hca);
    say(layer == fabric_layer
            ? absl::StrCat("names ", hca, ", which is not of the kind of the fabric's other ",
                           fabric.size(), " adapters")
            : absl::StrCat("names ", hca, ", an ", layer.empty() ? "unknown" : layer,
                           " port; the compute fabric's ", fabric.size(), " ports are ",
                           fabric_layer));
  }
}

// UCX writes "mlx5_0:1,mlx5_1:1", and the names of interfaces, without a port, beside it. `open`:
// one that only the job may have is named.
DeviceList UcxList(absl::string_view value, const NetworkDevices& devices, bool* open) {
  DeviceList list = ParseDeviceList(absl::StrReplaceAll(value, {{" ", ""}}));
  list.exact = true;
  const std::vector<std::string> hcas = Hcas(*devices.ports);
  std::erase_if(list.entries, [&](const DeviceList::Entry& entry) {
    if (entry.name == "all" ||
        std::any_of(devices.interfaces->begin(), devices.interfaces->end(),
                    [&](const Interface& known) { return known.name == entry.name; })) {
      return true;
    }
    const bool may_be_own = devices.job_may_have_own && !entry.port.has_value() &&
                            std::find(hcas.begin(), hcas.end(), entry.name) == hcas.end();
    *open |= may_be_own;
    return may_be_own;
  });
  return list;
}

// True when what the setting selects cannot reach another node.
std::optional<bool> Unroutable(const DeviceList& list, const NetworkDevices& devices,
                               std::string* why) {
  std::vector<const Interface*> selected;
  for (const Interface& candidate : *devices.interfaces) {
    bool named = false;
    for (const DeviceList::Entry& entry : list.entries) {
      named |= Names(entry, list.exact, candidate.name);
    }
    if (named != list.excludes) selected.push_back(&candidate);
  }
  if (selected.empty()) {
    if (devices.job_may_have_own) return std::nullopt;
    *why = "selects no interface of this node";
    return true;
  }
  const bool reaches = std::any_of(selected.begin(), selected.end(), [](const Interface* one) {
    return !one->loopback && !one->bridge && one->has_address;
  });
  // A list of exclusions still leaves the library to choose; one good interface is enough there.
  if (reaches) return false;
  *why = absl::StrCat("selects ", selected[0]->name,
                      selected[0]->loopback ? ", the loopback interface"
                      : selected[0]->bridge ? ", a bridge of this host"
                                            : ", which has no address");
  return true;
}

Interface Named(std::string name) {
  Interface one;
  one.loopback = name == "lo";
  for (const char* prefix : {"docker", "br-", "cni", "virbr", "lxcbr", "veth", "cali", "flannel"}) {
    one.bridge |= absl::StartsWith(name, prefix);
  }
  one.name = std::move(name);
  return one;
}

bool IsOn(absl::string_view value) { return value == "1"; }

// The job's own interfaces where they are known, else the host's.
void ReadInterfaces(const host::Host& host, NetworkDevices* devices) {
  for (const host::View view : {host::View::kJob, host::View::kHost}) {
    if (const auto json = Output(host, {"ip", "-j", "addr", "show"}, view); json.ok()) {
      devices->interfaces = ParseIpAddr(*json);
    } else if (const auto lines = Output(host, {"ip", "-o", "-4", "addr", "show"}, view);
               lines.ok()) {
      devices->interfaces = ParseIpAddrLines(*lines);
    }
    if (!devices->interfaces.has_value()) continue;
    // An image of another system, or a variable that runtimes set, indicates a container.
    const auto own = host.ReadFile("/etc/os-release", host::View::kJob);
    const auto hosts = host.ReadFile("/etc/os-release");
    const auto environment = host.JobEnvironment();
    devices->job_may_have_own =
        view == host::View::kHost &&
        ((own.ok() && hosts.ok() && *own != *hosts) ||
         (environment.ok() && (environment->contains("NVIDIA_VISIBLE_DEVICES") ||
                               environment->contains("KUBERNETES_SERVICE_HOST"))));
    return;
  }
}

}  // namespace

NcclEnvFaults JudgeNcclEnv(const Environment& environment, const NetworkDevices& devices) {
  NcclEnvFaults faults;
  const absl::string_view hca = ValueOf(environment, "NCCL_IB_HCA");
  const absl::string_view ucx = ValueOf(environment, "UCX_NET_DEVICES");
  const DeviceList list = ParseDeviceList(hca);
  if (!list.malformed.empty()) {
    faults.malformed.push_back(absl::StrCat("NCCL_IB_HCA=", hca));
    absl::StrAppend(&faults.message, "NCCL_IB_HCA=", hca, " holds ", "\"", list.malformed[0],
                    "\": a mark ^ or = counts at the beginning of the whole list only, and a blank "
                    "is taken as part of a name");
  }
  if (devices.ports.has_value()) {
    faults.absent.emplace();
    faults.non_fabric.emplace();
    if (!hca.empty()) JudgeHcas("NCCL_IB_HCA", list, *devices.ports, faults);
    if (!ucx.empty() && devices.interfaces.has_value()) {
      bool open = false;
      JudgeHcas("UCX_NET_DEVICES", UcxList(ucx, devices, &open), *devices.ports, faults);
      if (open && faults.absent->empty()) faults.absent.reset();
    }
  } else if (hca.empty() && ucx.empty()) {
    faults.absent.emplace();  // what is not set names nothing
    faults.non_fabric.emplace();
  }
  const absl::string_view interface = ValueOf(environment, "NCCL_SOCKET_IFNAME");
  if (interface.empty()) {
    faults.unroutable = false;
  } else if (devices.interfaces.has_value()) {
    std::string why;
    faults.unroutable = Unroutable(ParseDeviceList(interface), devices, &why);
    if (faults.unroutable.value_or(false)) {
      absl::StrAppend(&faults.message, faults.message.empty() ? "" : "; ",
                      "NCCL_SOCKET_IFNAME=", interface, " ", why);
    }
  }
  // A transport that the machine does not have cannot be taken from it.
  const bool has_rdma = devices.ports.has_value() && !devices.ports->empty();
  for (const char* name : {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"}) {
    if (IsOn(ValueOf(environment, name))) faults.disabling.push_back(absl::StrCat(name, "=1"));
  }
  if (has_rdma) {
    if (IsOn(ValueOf(environment, "NCCL_IB_DISABLE"))) {
      faults.disabling.emplace_back("NCCL_IB_DISABLE=1");
    }
    if (absl::EqualsIgnoreCase(ValueOf(environment, "NCCL_NET"), "Socket")) {
      faults.disabling.push_back(absl::StrCat("NCCL_NET=", ValueOf(environment, "NCCL_NET")));
    }
    for (const char* name : {"NCCL_NET_GDR_LEVEL", "NCCL_P2P_LEVEL"}) {
      const absl::string_view level = ValueOf(environment, name);
      if (level == "LOC" || level == "0")
        faults.disabling.push_back(absl::StrCat(name, "=", level));
    }
  }
  if (!faults.disabling.empty()) {
    absl::StrAppend(&faults.message, faults.message.empty() ? "" : "; ",
                    absl::StrJoin(faults.disabling, " and "),
                    faults.disabling.size() == 1 ? " turns" : " turn",
                    " a transport off that this machine may have");
  }
  return faults;
}

std::optional<std::vector<Interface>> ParseIpAddr(absl::string_view json) {
  const nlohmann::json links = ParseJson(json);
  if (!links.is_array()) return std::nullopt;
  std::vector<Interface> interfaces;
  for (const auto& link : links) {
    if (!link.is_object()) continue;
    const auto name = link.find("ifname");
    if (name == link.end() || !name->is_string()) continue;
    Interface one = Named(name->get<std::string>());
    const auto type = link.find("link_type");
    one.loopback |= type != link.end() && type->is_string() && *type == "loopback";
    const auto addresses = link.find("addr_info");
    if (addresses != link.end() && addresses->is_array()) {
      for (const auto& address : *addresses) {
        if (!address.is_object()) continue;
        const auto scope = address.find("scope");
        one.has_address |= scope == address.end() || *scope != "link";
      }
    }
    interfaces.push_back(std::move(one));
  }
  return interfaces;
}

std::vector<Interface> ParseIpAddrLines(absl::string_view text) {
  std::vector<Interface> interfaces;
  for (const absl::string_view line : Lines(text)) {
    // 2: eth0    inet 192.0.2.7/24 brd ...
    const std::vector<absl::string_view> words = Words(line);
    if (words.size() < 4 || words[2] != "inet") continue;
    interfaces.push_back(Named(std::string(words[1])));
    interfaces.back().has_address = true;
  }
  return interfaces;
}

std::map<std::string, std::string> ParseNcclConf(absl::string_view text) {
  std::map<std::string, std::string> settings;
  for (absl::string_view line : Lines(text)) {
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    const std::size_t equals = line.find('=');
    if (equals == absl::string_view::npos || equals == 0) continue;
    settings[std::string(absl::StripAsciiWhitespace(line.substr(0, equals)))] =
        std::string(absl::StripAsciiWhitespace(line.substr(equals + 1)));
  }
  return settings;
}

absl::StatusOr<Environment> NcclEnvironment(const host::Host& host) {
  const auto job = host.JobEnvironment();
  Environment merged;
  bool file = false;
  for (const host::View view : {host::View::kJob, host::View::kHost}) {
    const auto conf = host.ReadFile("/etc/nccl.conf", view);
    if (!conf.ok()) continue;
    merged = ParseNcclConf(*conf);
    file = true;
    break;
  }
  if (!job.ok() && !file) return job.status();
  if (job.ok()) {
    for (const auto& [name, value] : *job) merged[name] = value;
  }
  return merged;
}

absl::StatusOr<CheckOutput> CheckNcclEnv(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const Environment environment, NcclEnvironment(host));
  NetworkDevices devices;
  if (auto ports = ReadPorts(host); ports.ok()) {
    devices.ports = *std::move(ports);
  } else if (IsAbsent(ports.status())) {
    devices.ports.emplace();
  }
  ReadInterfaces(host, &devices);
  const NcclEnvFaults faults = JudgeNcclEnv(environment, devices);
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "nccl.env"));

  CheckOutput output;
  const auto list = [&](absl::string_view name,
                        const std::optional<std::vector<std::string>>& found,
                        absl::string_view part) {
    if (!found.has_value()) {
      output.findings.push_back(UnknownFinding(name, node, ""));
      return;
    }
    // The device that is named is what the finding is about, where it is one alone.
    const std::string device =
        found->size() == 1 && !part.empty() ? absl::StrCat(part, (*found)[0]) : "";
    output.findings.push_back(TextFinding(
        name, node, device, found->empty() ? "none" : CleanText(absl::StrJoin(*found, ","), 512)));
  };
  list("names_absent_device", faults.absent, "nic:");
  list("names_non_fabric_port", faults.non_fabric, "nic:");
  list("syntax_error", faults.malformed, "");
  output.findings.push_back(faults.unroutable.has_value()
                                ? BoolFinding("ifname_unroutable", node, "", *faults.unroutable)
                                : UnknownFinding("ifname_unroutable", node, ""));
  list("disables_transport", faults.disabling, "");
  std::vector<std::string> agreed;
  for (const std::string& name : data.Texts("agreed")) {
    const absl::string_view value = ValueOf(environment, name);
    if (!value.empty()) agreed.push_back(absl::StrCat(name, "=", value));
  }
  // A file alone is not all that the job is given.
  output.findings.push_back(
      host.JobEnvironment().ok()
          ? TextFinding("agreed_settings", node, "",
                        agreed.empty() ? "none" : CleanText(absl::StrJoin(agreed, " "), 512))
          : UnknownFinding("agreed_settings", node, ""));
  for (const auto& [name, value] : environment) {
    if (absl::StartsWith(name, "NCCL_") || absl::StartsWith(name, "UCX_")) {
      absl::StrAppend(&output.excerpt, name, "=", value, "\n");
    }
  }
  output.message = !faults.message.empty() ? CleanText(faults.message, 1024)
                   : output.excerpt.empty()
                       ? "no setting of NCCL or UCX"
                       : "the settings of NCCL and UCX fit the devices of this node";
  return output;
}

}  // namespace galen::node
