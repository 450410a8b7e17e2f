#include "services/node/checks/rdma/transceiver.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"
#include "services/node/checks/rdma/netdevs.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

using nlohmann::json;

// The bit error rate that mlxlink prints if it is too small to measure.
constexpr absl::string_view kNoErrors = "15E-255";
// Flags of the module that are 1 in a fault. "Rx Output Valid" is not one: sound modules show 0.
constexpr const char* kFlags[] = {"Tx Fault [per lane]",   "Tx LOS [per lane]",
                                  "Rx LOS [per lane]",     "Tx CDR LOL [per lane]",
                                  "Rx CDR LOL [per lane]", "Tx Adaptive EQ Fault [per lane]",
                                  "Module FW Fault",       "DataPath FW Fault"};

// A section of the output, whatever its exact end ("Module Info", "Operational Info").
const json* Section(const json& output, absl::string_view name) {
  for (const auto& [key, value] : output.items()) {
    if (value.is_object() && absl::StartsWith(key, name)) return &value;
  }
  return nullptr;
}

std::string Text(const json* section, const char* name) {
  if (section == nullptr) return "";
  const auto it = section->find(name);
  if (it == section->end() || !it->is_string()) return "";
  auto text = it->get<std::string>();
  return text == "N/A" ? "" : text;
}

std::optional<double> Number(absl::string_view text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<double> Ber(const std::string& text) {
  if (text == kNoErrors) return 0.0;
  const auto value = Number(text);
  if (!value.has_value() || *value < 0 || *value > 1) return std::nullopt;
  return value;
}

// "3.583,3.253 [-9.914..6.999]" as numbers and their limits.
struct Ranged {
  std::vector<double> values;
  std::optional<double> low;
  std::optional<double> high;
};
Ranged ParseRanged(absl::string_view text) {
  Ranged ranged;
  const std::size_t open = text.find('[');
  for (const absl::string_view word : absl::StrSplit(text.substr(0, open), ',')) {
    if (const auto value = Number(absl::StripAsciiWhitespace(word)); value.has_value()) {
      ranged.values.push_back(*value);
    }
  }
  if (open == absl::string_view::npos) return ranged;
  const absl::string_view limits = text.substr(open + 1);
  const std::size_t dots = limits.find("..");
  if (dots == absl::string_view::npos) return ranged;
  ranged.low = Number(limits.substr(0, dots));
  ranged.high = Number(limits.substr(dots + 2, limits.find(']') - dots - 2));
  return ranged;
}

// Whether a flag is set for any lane; nothing if it is not reported.
std::optional<bool> Flag(const json& module, const char* name) {
  const auto it = module.find(name);
  if (it == module.end()) return std::nullopt;
  std::vector<std::string> values;
  if (it->is_string()) {
    values.push_back(it->get<std::string>());
  } else if (it->is_object() && it->contains("values") && it->at("values").is_array()) {
    for (const json& value : it->at("values")) {
      if (value.is_string()) values.push_back(value.get<std::string>());
    }
  }
  std::optional<bool> set;
  for (const std::string& value : values) {
    if (value == "0" || value == "1") set = set.value_or(false) || value == "1";
  }
  return set;
}

void AddFindings(const std::string& node, const std::string& device, const Transceiver& module,
                 CheckOutput* output) {
  const auto number = [&](absl::string_view name, const std::optional<double>& value) {
    output->findings.push_back(value.has_value() ? FloatFinding(name, node, device, *value)
                                                 : UnknownFinding(name, node, device));
  };
  number("effective_ber", module.effective_ber);
  number("raw_ber", module.raw_ber);
  number("module_c", module.module_c);
  number("module_max_c", module.module_max_c);
  output->findings.push_back(module.rx_power_low.has_value()
                                 ? BoolFinding("rx_power_low", node, device, *module.rx_power_low)
                                 : UnknownFinding("rx_power_low", node, device));
  output->findings.push_back(module.part.empty()
                                 ? UnknownFinding("cable_part", node, device)
                                 : TextFinding("cable_part", node, device, module.part));
  output->findings.push_back(
      !module.faults_known ? UnknownFinding("module_faults", node, device)
      : module.faults.empty()
          ? TextFinding("module_faults", node, device, "none")
          : TextFinding("module_faults", node, device, absl::StrJoin(module.faults, ", ")));
}

}  // namespace

absl::StatusOr<Transceiver> ParseMlxlink(absl::string_view text) {
  const json root = ParseJson(text);
  if (!root.is_object() || !root.contains("result") || !root["result"].is_object() ||
      !root["result"].contains("output") || !root["result"]["output"].is_object()) {
    return absl::InvalidArgumentError("mlxlink: the output is not its JSON");
  }
  const json& output = root["result"]["output"];
  const json* const link = Section(output, "Operational Info");
  const json* const counters = Section(output, "Physical Counters and BER Info");
  const json* const module = Section(output, "Module Info");
  Transceiver result;
  result.state = Text(link, "State");
  result.phys_state = Text(link, "Physical state");
  result.effective_ber = Ber(Text(counters, "Effective Physical BER"));
  result.raw_ber = Ber(Text(counters, "Raw Physical BER"));
  result.part = Text(module, "Vendor Part Number");
  const Ranged heat = ParseRanged(Text(module, "Temperature [C]"));
  if (!heat.values.empty()) result.module_c = heat.values[0];
  result.module_max_c = heat.high;
  const Ranged power = ParseRanged(Text(module, "Rx Power Current [dBm]"));
  if (!power.values.empty() && power.low.has_value()) {
    result.rx_power_low = std::any_of(power.values.begin(), power.values.end(),
                                      [&](double value) { return value < *power.low; });
  }
  for (const char* name : kFlags) {
    const std::optional<bool> set = module == nullptr ? std::nullopt : Flag(*module, name);
    result.faults_known |= set.has_value();
    if (set.value_or(false)) {
      result.faults.emplace_back(
          absl::string_view(name).substr(0, absl::string_view(name).find(" [")));
    }
  }
  return result;
}

absl::StatusOr<Transceiver> ParseEthtoolModule(absl::string_view text) {
  Transceiver result;
  bool any = false;
  for (const absl::string_view line : Lines(text)) {
    const std::size_t colon = line.find(':');
    if (colon == absl::string_view::npos) continue;
    const absl::string_view name = absl::StripAsciiWhitespace(line.substr(0, colon));
    const absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 1));
    any |= name == "Identifier";
    if (name == "Vendor PN") result.part = std::string(value);
    if (name == "Module temperature") result.module_c = LeadingDouble(value);
    if (name == "Module temperature high alarm threshold") {
      result.module_max_c = LeadingDouble(value);
    }
    if (absl::StartsWith(name, "Laser rx power low alarm") && !absl::EndsWith(name, "threshold")) {
      result.rx_power_low = result.rx_power_low.value_or(false) || value == "On";
    }
    // Modules of several lanes have an alarm of each: "Laser tx power low alarm   (Channel 1)".
    absl::string_view what = name;
    absl::string_view lane;
    if (const std::size_t open = name.rfind('(');
        open != absl::string_view::npos && absl::EndsWith(name, ")")) {
      what = absl::StripTrailingAsciiWhitespace(name.substr(0, open));
      lane = name.substr(open);
    }
    const bool alarm = absl::EndsWith(what, " alarm") && (value == "On" || value == "Off");
    result.faults_known |= alarm;
    if (alarm && value == "On" && result.faults.size() < 32) {
      result.faults.push_back(absl::StrCat(what, lane.empty() ? "" : " ", lane));
    }
  }
  if (!any) return absl::InvalidArgumentError("ethtool -m: the output says nothing of a module");
  return result;
}

absl::StatusOr<CheckOutput> CheckTransceiver(const CheckContext& context) {
  const host::Host& host = context.host;
  GALEN_ASSIGN_OR_RETURN(const std::vector<RdmaPort> ports, ReadPorts(host));
  CheckOutput output;
  std::vector<std::string> said;
  absl::Status last = absl::NotFoundError("no module can be read");
  const std::set<std::string> fabric = FabricPorts(ports);
  for (const RdmaPort& port : ports) {
    if (context.cancelled.cancelled()) return absl::CancelledError("cancelled");
    // An optic in a dark port beside the fabric sees no light, as it should.
    if (port.state != "ACTIVE" && !fabric.contains(DeviceOf(port)) && !JobNames(host, port.hca)) {
      continue;
    }
    const auto by_mlxlink = Output(host, {"mlxlink", "-d", port.hca, "-m", "-c", "-e", "--json"});
    absl::StatusOr<Transceiver> module = by_mlxlink.ok()
                                             ? ParseMlxlink(*by_mlxlink)
                                             : absl::StatusOr<Transceiver>(by_mlxlink.status());
    if (!by_mlxlink.ok()) {
      const std::string netdev = NetdevOf(host, port);
      const auto by_ethtool = netdev.empty() ? absl::StatusOr<std::string>(by_mlxlink.status())
                                             : Output(host, {"ethtool", "-m", netdev});
      module = by_ethtool.ok() ? ParseEthtoolModule(*by_ethtool)
                               : absl::StatusOr<Transceiver>(by_mlxlink.status());
    }
    if (!module.ok()) {
      // Unexpected output of mlxlink is an error; a missing mlxlink is not.
      last = module.status();
      continue;
    }
    AddFindings(host.name(), DeviceOf(port), *module, &output);
    std::string line = absl::StrCat(port.hca, ": ", module->part.empty() ? "module" : module->part);
    if (module->module_c.has_value()) absl::StrAppend(&line, ", ", *module->module_c, " C");
    if (module->effective_ber.has_value()) {
      absl::StrAppend(&line, ", effective BER ", *module->effective_ber);
    }
    if (!module->faults.empty()) {
      absl::StrAppend(&line, ", faults: ", absl::StrJoin(module->faults, ", "));
    }
    said.push_back(std::move(line));
  }
  if (output.findings.empty()) return last;
  output.message = absl::StrJoin(said, "; ");
  return output;
}

}  // namespace galen::node
