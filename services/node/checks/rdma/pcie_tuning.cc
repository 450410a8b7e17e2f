#include "services/node/checks/rdma/pcie_tuning.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/gpu/pci_devices.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/device_names.h"

namespace galen::node {
namespace {

// Adds the finding outstanding_reads of each adapter that mlxconfig reports.
absl::Status AddOutstandingReads(const CheckContext& context, std::vector<v1::Finding>& findings,
                                 std::vector<std::string>& wrong) {
  const host::Host& host = context.host;
  const auto ports = ReadPorts(host);
  if (!ports.ok()) return absl::OkStatus();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "rdma.pcie"));
  std::map<std::string, std::int64_t> recommended;
  for (const std::vector<std::string>& entry : data.Lists("outstanding_reads")) {
    std::int64_t value = 0;
    if (entry.size() == 2 && absl::SimpleAtoi(entry[1], &value)) recommended[entry[0]] = value;
  }
  for (const std::string& hca : Hcas(*ports)) {
    if (!absl::StartsWith(hca, "mlx5")) continue;
    const auto text = Output(host, {"mlxconfig", "-d", hca, "q"});
    if (!text.ok()) {
      // The tool is not there for any of them.
      if (IsAbsent(text.status())) break;
      continue;
    }
    const AdapterSettings settings = ParseMlxconfig(*text);
    if (!settings.outstanding_reads.has_value()) continue;
    const std::int64_t reads = *settings.outstanding_reads;
    v1::Finding finding =
        IntFinding("outstanding_reads", host.name(), absl::StrCat("nic:", hca), reads);
    const auto wanted = recommended.find(settings.type);
    if (reads > 0 && wanted != recommended.end()) {
      finding.set_expected(absl::StrCat(wanted->second));
      if (reads < wanted->second) {
        wrong.push_back(absl::StrCat(hca, " may have ", reads, " reads over PCIe under way, ",
                                     wanted->second, " are recommended for ", settings.type));
      }
    }
    findings.push_back(std::move(finding));
  }
  return absl::OkStatus();
}

// The best link of an adapter in its slot. Nothing: unknown.
struct SlotLink {
  std::optional<std::int64_t> gen;
  std::optional<std::int64_t> width;
};

// The lesser of the card and the bridge above it, as a slot may be built smaller than its card; if
// lspci does not show the bridge, the link of most cards of the kind. `chosen`: a user selected the
// devices that are shown.
SlotLink BestOf(const PciDevice& adapter, const std::vector<const PciDevice*>& adapters,
                const std::vector<PciDevice>& devices, bool chosen) {
  const std::vector<const PciDevice*> above = BridgesAbove(adapter.address, devices);
  if (!above.empty() && adapter.link_width_max.has_value() &&
      above.front()->link_width_max.has_value()) {
    SlotLink best = {adapter.link_gen_max,
                     std::min(*adapter.link_width_max, *above.front()->link_width_max)};
    if (best.gen.has_value() && above.front()->link_gen_max.has_value()) {
      best.gen = std::min(*best.gen, *above.front()->link_gen_max);
    }
    return best;
  }
  std::map<std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>, int> links;
  for (const PciDevice* const other : adapters) {
    if (other->vendor == adapter.vendor && other->device_id == adapter.device_id &&
        other->link_width.has_value()) {
      ++links[{other->link_gen, other->link_width}];
    }
  }
  const auto usual = std::max_element(
      links.begin(), links.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  // Cards that do not agree by majority show nothing, nor does a card alone.
  if (usual != links.end() && usual->second >= 2) return {usual->first.first, usual->first.second};
  // If somebody chose to show just this card, its own maximum width is the expected one.
  const bool lacks_lanes = adapter.link_width.has_value() && adapter.link_width_max.has_value() &&
                           *adapter.link_width < *adapter.link_width_max;
  if (!chosen || devices.size() > 1 || !lacks_lanes) return {};
  return {std::nullopt, adapter.link_width_max};
}

}  // namespace

AdapterSettings ParseMlxconfig(absl::string_view text) {
  // "Device type:    ConnectX6"; "MAX_ACC_OUT_READ    16", a name before its number in parentheses,
  // and default, current and next value where all three were asked for.
  static const RE2 type(R"(^\s*Device type:\s+(\S+))");
  static const RE2 reads(R"(^\*?\s*MAX_ACC_OUT_READ\s.*?(\d+)\)?\s*$)");
  AdapterSettings settings;
  for (const absl::string_view line : Lines(text)) {
    const re2::StringPiece piece(line.data(), line.size());
    std::int64_t value = 0;
    if (settings.type.empty() && RE2::PartialMatch(piece, type, &settings.type)) continue;
    if (!settings.outstanding_reads.has_value() && RE2::PartialMatch(piece, reads, &value)) {
      settings.outstanding_reads = value;
    }
  }
  return settings;
}

absl::StatusOr<CheckOutput> CheckRdmaPcie(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  CheckOutput output;
  std::vector<std::string> wrong;
  GALEN_RETURN_IF_ERROR(AddOutstandingReads(context, output.findings, wrong));
  const std::vector<std::string> list = {"lspci", "-vvv", "-nn"};
  const auto lspci = Output(host, list);
  if (!lspci.ok() && output.findings.empty()) return lspci.status();
  const auto listed = host.Run(list);
  const bool chosen = listed.ok() && listed->excerpt;
  const std::vector<PciDevice> devices = ParseLspci(lspci.value_or(""));
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "rdma.pcie"));
  const std::vector<CheckData::Pattern> patterns = data.Patterns("adapter");
  std::vector<const PciDevice*> adapters;
  for (const PciDevice& device : devices) {
    const absl::string_view text = device.text;
    if (!CheckData::FirstMatch(patterns, text.substr(0, text.find('\n'))).empty()) {
      adapters.push_back(&device);
    }
  }
  const std::map<std::string, std::string> names =
      adapters.empty() ? std::map<std::string, std::string>() : DeviceNames(host);
  static const RE2 request(R"(MaxReadReq (\d+) bytes)");
  for (const PciDevice* const adapter : adapters) {
    const std::string device = DeviceAt(names, adapter->address);
    std::int64_t bytes = 0;
    if (RE2::PartialMatch(adapter->text, request, &bytes)) {
      output.findings.push_back(IntFinding("max_read_request", node, device, bytes));
    }
    if (!adapter->link_width.has_value()) continue;
    output.findings.push_back(adapter->link_gen.has_value()
                                  ? IntFinding("gen_current", node, device, *adapter->link_gen)
                                  : UnknownFinding("gen_current", node, device));
    output.findings.push_back(IntFinding("width_current", node, device, *adapter->link_width));
    const SlotLink best = BestOf(*adapter, adapters, devices, chosen);
    if (!best.width.has_value()) {
      output.findings.push_back(UnknownFinding("downgraded", node, device));
      continue;
    }
    const bool down = *adapter->link_width < *best.width ||
                      (adapter->link_gen.has_value() && adapter->link_gen < best.gen);
    v1::Finding finding = BoolFinding("downgraded", node, device, down);
    finding.set_expected("false");
    output.findings.push_back(std::move(finding));
    if (down) {
      wrong.push_back(absl::StrCat(device, " runs at gen ", adapter->link_gen.value_or(0), " x",
                                   *adapter->link_width, " of gen ", best.gen.value_or(0), " x",
                                   *best.width));
    }
  }
  if (output.findings.empty()) {
    return absl::NotFoundError("lspci shows no adapter with the state of its link");
  }
  output.message = !wrong.empty() ? absl::StrJoin(wrong, "; ")
                   : lspci.ok()   ? "the PCIe links of all adapters run at full speed"
                                  : "the adapters' reads over PCIe are not limited";
  return output;
}

}  // namespace galen::node
