#include "services/node/checks/system/bmc.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

std::vector<std::string> Columns(absl::string_view line) {
  std::vector<std::string> columns;
  for (const absl::string_view column : absl::StrSplit(line, '|')) {
    columns.emplace_back(absl::StripAsciiWhitespace(column));
  }
  return columns;
}

// A reading beyond a limit: not critical, critical, not recoverable.
bool BeyondLimit(const BmcSensor& sensor) {
  return sensor.status == "nc" || sensor.status == "cr" || sensor.status == "nr";
}

// By the limits in columns 4 to 9: the three lower ones, then the three upper ones, each "na" where
// there is none.
std::string SideOf(const std::vector<std::string>& columns) {
  const std::optional<double> reading = LeadingDouble(columns[1]);
  if (!reading.has_value()) return "";
  for (std::size_t i = 4; i < columns.size() && i < 10; ++i) {
    const std::optional<double> limit = LeadingDouble(columns[i]);
    if (!limit.has_value()) continue;
    if (i < 7 && *reading <= *limit) return "low";
    if (i >= 7 && *reading >= *limit) return "high";
  }
  return "";
}

// A fan whose speed is known.
bool HasSpeed(const BmcSensor& sensor) {
  return sensor.unit == "RPM" && LeadingDouble(sensor.reading).has_value();
}

// Faults by kind, from the log and the sensors.
using Faults = std::map<std::string, std::set<std::string>>;

}  // namespace

std::vector<SelEntry> ParseSel(absl::string_view text) {
  std::vector<SelEntry> entries;
  for (const absl::string_view line : Lines(text)) {
    // id | date | time | sensor | event | Asserted; "Pre-Init" or "Unspecified" for the date.
    const std::vector<std::string> columns = Columns(line);
    if (columns.size() < 5) continue;
    SelEntry entry;
    absl::Time time;
    std::string error;
    if (absl::ParseTime("%m/%d/%Y %H:%M:%S", absl::StrCat(columns[1], " ", columns[2]), &time,
                        &error) ||
        absl::ParseTime("%m/%d/%y %H:%M:%S", absl::StrCat(columns[1], " ", columns[2].substr(0, 8)),
                        &time, &error)) {
      entry.time = time;
    }
    entry.sensor = columns[3];
    entry.event = columns[4];
    entry.asserted = columns.size() < 6 || !absl::EqualsIgnoreCase(columns[5], "Deasserted");
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<BmcSensor> ParseBmcSensors(absl::string_view text) {
  std::vector<BmcSensor> sensors;
  for (const absl::string_view line : Lines(text)) {
    std::vector<std::string> columns = Columns(line);
    if (columns.size() < 4) continue;
    BmcSensor sensor;
    sensor.side = SideOf(columns);
    sensor.name = std::move(columns[0]);
    sensor.reading = std::move(columns[1]);
    sensor.unit = std::move(columns[2]);
    sensor.status = std::move(columns[3]);
    sensors.push_back(std::move(sensor));
  }
  return sensors;
}

std::vector<PowerSupply> ParsePowerSupplies(absl::string_view dmidecode) {
  std::vector<PowerSupply> supplies;
  bool within = false;
  for (const absl::string_view line : Lines(dmidecode)) {
    if (!absl::StartsWith(line, "\t") && !absl::StartsWith(line, " ")) {
      within = line == "System Power Supply";
      if (within) supplies.emplace_back();
      continue;
    }
    if (!within) continue;
    absl::string_view field = absl::StripAsciiWhitespace(line);
    if (absl::ConsumePrefix(&field, "Location: ")) supplies.back().location = std::string(field);
    if (absl::ConsumePrefix(&field, "Status: ")) supplies.back().status = std::string(field);
  }
  return supplies;
}

absl::StatusOr<CheckOutput> CheckBmc(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "system.bmc"));
  const auto log = Output(host, {"ipmitool", "sel", "elist"});
  const auto readings = Output(host, {"ipmitool", "sensor"});
  const auto dmi = Output(host, {"dmidecode", "-t", "39"});
  std::vector<PowerSupply> supplies;
  if (dmi.ok()) supplies = ParsePowerSupplies(*dmi);
  if (!log.ok() && !readings.ok() && supplies.empty()) return log.status();

  CheckOutput output;
  Faults faults;
  const auto patterns = data.Patterns();
  if (log.ok()) {
    // The last entry of each sensor and event counts: a fault that has cleared does not.
    std::map<std::pair<std::string, std::string>, std::pair<std::string, bool>> standing;
    for (const SelEntry& entry : ParseSel(*log)) {
      // A fault of another year explains nothing; one without a date may.
      if (entry.time.has_value() && (*entry.time < context.window_start - absl::Hours(24) ||
                                     *entry.time > context.window_end + absl::Hours(24))) {
        continue;
      }
      const std::string text = absl::StrCat(entry.sensor, ": ", entry.event);
      const std::string kind = CheckData::FirstMatch(patterns, text);
      if (kind.empty()) continue;
      standing[{kind, text}] = {CleanText(text, 200), entry.asserted};
    }
    for (const auto& [key, value] : standing) {
      if (!value.second) continue;
      faults[key.first].insert(value.first);
      absl::StrAppend(&output.excerpt, value.first, "\n");
    }
  }
  bool fans_known = false;
  if (readings.ok()) {
    for (const BmcSensor& sensor : ParseBmcSensors(*readings)) {
      fans_known = fans_known || HasSpeed(sensor);
      if (!BeyondLimit(sensor)) continue;
      const std::string text =
          absl::StrCat("sensor ", sensor.name, ": ", sensor.reading, " ", sensor.unit,
                       sensor.side.empty() ? "" : " ", sensor.side, ", ", sensor.status);
      const std::string kind = CheckData::FirstMatch(patterns, text);
      if (kind.empty()) continue;
      faults[kind].insert(CleanText(text, 200));
      absl::StrAppend(&output.excerpt, text, "\n");
    }
  }
  for (const PowerSupply& supply : supplies) {
    const std::string text = absl::StrCat("dmi ", supply.location, ": ", supply.status);
    if (const std::string kind = CheckData::FirstMatch(patterns, text); !kind.empty()) {
      faults[kind].insert(CleanText(text, 200));
    }
  }
  // A log that names no fault is an answer; sensors alone cover voltages, and fans if they report a
  // speed. Those of a supply are bits whose meaning differs between boards.
  const auto flag = [&](const char* name, bool known) {
    output.findings.push_back(known || !faults[name].empty()
                                  ? BoolFinding(name, node, "", !faults[name].empty())
                                  : UnknownFinding(name, node, ""));
  };
  const bool sensors_known = readings.ok() && !readings->empty();
  flag("psu_fault", log.ok() || !supplies.empty());
  flag("fan_fault", log.ok() || fans_known);
  flag("power_brake_asserted", log.ok());
  flag("input_voltage_low", log.ok() || sensors_known);
  flag("pcie_fault", log.ok());
  const std::string board = absl::StrJoin(faults["power_on_fault"], "; ");
  output.findings.push_back(
      log.ok() || !board.empty()
          ? TextFinding("power_on_fault", node, "", board.empty() ? "none" : CleanText(board, 512))
          : UnknownFinding("power_on_fault", node, ""));
  std::vector<std::string> remarks;
  for (const auto& [kind, texts] : faults) {
    if (!texts.empty()) remarks.push_back(absl::StrJoin(texts, ", "));
  }
  output.message = remarks.empty()
                       ? std::string("the BMC reports no fault of supplies, fans or voltages")
                       : absl::StrCat("the BMC reports: ", absl::StrJoin(remarks, "; "));
  return output;
}

}  // namespace galen::node
