#include "services/node/checks/log/nccl_topology.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "pugixml.hpp"
#include "services/node/checks/log/nccl_log.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/log_lines.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxXml = std::size_t{8} << 20;
constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxDevices = 4096;

struct Walked {
  // Devices with the bridges above them, outermost first.
  struct Device {
    std::string name;
    int number = -1;
    int speed = 0;
    std::vector<const void*> above;
  };
  std::vector<Device> gpus;
  std::vector<Device> nics;
};

void Walk(const pugi::xml_node& node, std::vector<const void*>* above, Walked* found) {
  if (above->size() > kMaxDepth || found->gpus.size() + found->nics.size() > kMaxDevices) return;
  for (const pugi::xml_node& child : node.children()) {
    const absl::string_view tag = child.name();
    const std::string bus = CleanText(child.attribute("busid").as_string(), 64);
    const std::string type = child.attribute("class").as_string();
    if (tag == "gpu") {
      found->gpus.push_back({bus.empty() ? CleanText(node.attribute("busid").as_string(), 64) : bus,
                             child.attribute("dev").as_int(-1), 0, *above});
      continue;
    }
    if (tag == "net") {
      found->nics.push_back({CleanText(child.attribute("name").as_string(), 64),
                             child.attribute("dev").as_int(-1), child.attribute("speed").as_int(0),
                             *above});
      continue;
    }
    above->push_back(child.internal_object());
    const std::size_t gpus = found->gpus.size();
    const std::size_t nics = found->nics.size();
    Walk(child, above, found);
    above->pop_back();
    // A leaf of the bus without the device's own element, as a platform's file has it.
    if (tag != "pci") continue;
    if (absl::StartsWith(type, "0x0302") && found->gpus.size() == gpus) {
      found->gpus.push_back({bus, -1, 0, *above});
    } else if (absl::StartsWith(type, "0x02") && found->nics.size() == nics) {
      found->nics.push_back({bus, -1, 0, *above});
    }
  }
}

// The topology file of this node that was put among the logs. The node of any other topology file
// is unknown.
std::optional<NcclTopology> TopologyAmongLogs(const host::Host& host) {
  std::optional<NcclTopology> topology;
  const auto logs = host.JobLogs();
  if (!logs.ok()) return topology;
  std::map<std::string, std::string> files;
  for (const host::JobLog& log : *logs) {
    if (!absl::EndsWith(log.name, ".xml") || log.node != host.name()) continue;
    std::string& text = files[log.name];
    ReadLogLines(log, [&](const LogLine& line) {
      if (text.size() < kMaxXml) absl::StrAppend(&text, line.text, "\n");
    }).IgnoreError();
  }
  for (const auto& [name, text] : files) {
    if (auto parsed = ParseNcclTopology(text); parsed.ok()) topology = *std::move(parsed);
  }
  return topology;
}

std::size_t Common(const std::vector<const void*>& a, const std::vector<const void*>& b) {
  const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  static_cast<void>(right);
  return static_cast<std::size_t>(left - a.begin());
}

}  // namespace

absl::StatusOr<NcclTopology> ParseNcclTopology(absl::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed =
      document.load_buffer(xml.data(), std::min(xml.size(), kMaxXml));
  const pugi::xml_node system = document.child("system");
  if (!parsed || !system) return absl::DataLossError("not a topology file of NCCL");
  Walked found;
  std::vector<const void*> above;
  Walk(system, &above, &found);
  NcclTopology topology;
  for (const Walked::Device& gpu : found.gpus) {
    NcclTopology::Gpu entry;
    entry.bus_id = gpu.name;
    entry.device = gpu.number;
    std::size_t best = 1;  // with nothing shared the two are not near
    for (const Walked::Device& nic : found.nics) {
      const std::size_t shared = Common(gpu.above, nic.above);
      if (shared > best) {
        best = shared;
        entry.nearest_nics.clear();
      }
      if (shared == best) entry.nearest_nics.push_back(nic.name);
    }
    topology.gpus.push_back(std::move(entry));
  }
  for (const Walked::Device& nic : found.nics) topology.nics.push_back({nic.name, nic.speed});
  if (topology.gpus.empty() && topology.nics.empty()) {
    return absl::DataLossError("not a topology file of NCCL: it has no device");
  }
  return topology;
}

namespace {

// The models of the node's GPUs as the driver lists them, each once; "none" without any.
std::string GpuModels(const host::Host& host) {
  std::set<std::string> models;
  if (const auto paths = host.Glob("/proc/driver/nvidia/gpus/*/information"); paths.ok()) {
    for (const std::string& path : *paths) {
      const std::string first = FirstLine(host, path).value_or("");
      absl::string_view line = first;
      if (!absl::ConsumePrefix(&line, "Model:")) continue;
      models.insert(CleanText(std::string(absl::StripAsciiWhitespace(line)), 100));
    }
  }
  return models.empty() ? "none" : absl::StrJoin(models, ", ");
}

}  // namespace

absl::StatusOr<CheckOutput> CheckNcclTopology(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  const auto log = ReadNcclLog(context);
  const std::optional<NcclTopology> topology = TopologyAmongLogs(host);
  std::vector<std::string> nics;
  if (topology.has_value()) {
    for (const NcclTopology::Nic& nic : topology->nics) {
      nics.push_back(nic.speed_mb_s > 0 ? absl::StrCat(nic.name, "@", nic.speed_mb_s) : nic.name);
    }
  } else if (const auto states = host.Glob("/sys/class/infiniband/*/ports/*/link_layer");
             states.ok()) {
    for (const std::string& path : *states) {
      const std::size_t begin = sizeof("/sys/class/infiniband/") - 1;
      const std::string rate =
          FirstLine(host, absl::StrCat(path.substr(0, path.rfind('/')), "/rate")).value_or("");
      nics.push_back(absl::StrCat(path.substr(begin, path.find('/', begin) - begin), "@", rate));
    }
  }
  const NcclHost own = log.ok() ? (*log)->Of(node) : NcclHost();
  if (nics.empty() && own.ranks_of_nic.empty()) {
    if (!log.ok()) return log.status();
    return absl::UnavailableError("neither adapters nor channels of NCCL are known of the node");
  }
  CheckOutput output;
  const auto add = [&](v1::Finding finding) { output.findings.push_back(std::move(finding)); };
  std::sort(nics.begin(), nics.end());
  add(TextFinding("gpu_set", node, "", GpuModels(host)));
  add(nics.empty() ? UnknownFinding("nic_set", node, "")
                   : TextFinding("nic_set", node, "", absl::StrJoin(nics, " ")));
  std::vector<std::string> nearest;
  if (topology.has_value()) {
    for (const NcclTopology::Gpu& gpu : topology->gpus) {
      nearest.push_back(absl::StrCat(gpu.device, ":", absl::StrJoin(gpu.nearest_nics, "+")));
    }
    std::sort(nearest.begin(), nearest.end());
  }
  add(nearest.empty() ? UnknownFinding("gpu_nic_map", node, "")
                      : TextFinding("gpu_nic_map", node, "", absl::StrJoin(nearest, " ")));
  // Two ranks send through one adapter although there is one for each of them.
  std::optional<bool> shared;
  std::set<int> ranks;
  int crowded = -1;
  for (const auto& [nic, senders] : own.ranks_of_nic) {
    ranks.insert(senders.begin(), senders.end());
    if (senders.size() > 1) crowded = nic;
  }
  const std::size_t adapters = std::count(own.devices.begin(), own.devices.end(), ' ') + 1;
  if (!own.ranks_of_nic.empty() && !own.devices.empty()) {
    shared = crowded >= 0 && ranks.size() <= adapters;
  }
  add(shared.has_value() ? BoolFinding("two_channels_one_nic", node, "", *shared)
                         : UnknownFinding("two_channels_one_nic", node, ""));
  output.message = absl::StrCat(
      nics.size(), " adapter ports",
      shared.value_or(false) ? absl::StrCat("; several ranks send through adapter ", crowded) : "");
  output.excerpt = absl::StrJoin(nics, "\n");
  return output;
}

}  // namespace galen::node
