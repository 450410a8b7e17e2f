#include <string>
#include <vector>

#include "services/node/checks/job/cdi.h"
#include "services/node/checks/system/bmc.h"
#include "services/node/checks/system/devices.h"
#include "services/node/checks/system/drives.h"
#include "services/node/checks/system/listings.h"
#include "services/node/checks/system/network_fs.h"
#include "services/node/checks/system/orchestrator.h"
#include "services/node/checks/system/version_order.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

void Smartctl(absl::string_view text) {
  const auto drive = node::ParseSmartctl(text);
  if (drive.ok()) Use(node::FaultOf(*drive));
}

void SmartctlText(absl::string_view text) {
  const auto drive = node::ParseSmartctlText(text);
  if (drive.ok()) Use(node::FaultOf(*drive));
}

// An order: two texts cannot each come before the other.
void Versions(absl::string_view text) {
  const std::size_t half = text.size() / 2;
  const absl::string_view a = text.substr(0, half);
  const absl::string_view b = text.substr(half);
  if (node::OrderVersions(a, b) != -node::OrderVersions(b, a)) __builtin_trap();
  Use(node::InVersionRange(a, b));
}

std::vector<Parser> All() {
  return {
      {"sel", [](absl::string_view text) { Use(node::ParseSel(text)); }},
      {"sensors", [](absl::string_view text) { Use(node::ParseBmcSensors(text)); }},
      {"dmidecode", [](absl::string_view text) { Use(node::ParsePowerSupplies(text)); }},
      {"aspm", [](absl::string_view text) { Use(node::AspmOfLspci(text)); }},
      {"smartctl", Smartctl},
      {"smartctl_text", SmartctlText},
      {"mdstat", [](absl::string_view text) { Use(node::ParseMdstat(text)); }},
      {"listing", [](absl::string_view text) { Use(node::ParseListing(text)); }},
      {"processes", [](absl::string_view text) { Use(node::ParseProcesses(text)); }},
      {"top", [](absl::string_view text) { Use(node::ParseTop(text)); }},
      {"mountstats", [](absl::string_view text) { Use(node::ParseMountStats(text)); }},
      {"rpc", [](absl::string_view text) { Use(node::ParseRpcRetransmissions(text)); }},
      {"kube_node", [](absl::string_view text) { Use(node::ParseKubeNode(text)); }},
      {"scontrol", [](absl::string_view text) { Use(node::ParseScontrolNode(text)); }},
      {"slurm_nodes", [](absl::string_view text) { Use(node::ParseSlurmNodes(text)); }},
      {"pod", [](absl::string_view text) { Use(node::ParsePodDescription(text)); }},
      {"versions", Versions},
      {"cdi", [](absl::string_view text) { Use(node::ParseCdiPaths(text)); }},
      {"docker", [](absl::string_view text) { Use(node::DockerServerVersion(text)); }},
  };
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = All();
  return kParsers;
}

}  // namespace galen::fuzz
