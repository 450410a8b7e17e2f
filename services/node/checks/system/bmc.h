#ifndef SERVICES_NODE_CHECKS_SYSTEM_BMC_H_
#define SERVICES_NODE_CHECKS_SYSTEM_BMC_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/node/checks/check.h"

namespace galen::node {

// One line of `ipmitool sel elist`.
struct SelEntry {
  std::optional<absl::Time> time;  // by the BMC's clock, taken as UTC; none before it was set
  std::string sensor;              // "Power Supply PS1 Status"
  std::string event;               // "Failure detected"
  bool asserted = true;            // false: the event is over
};

// Lines of another form are left out. Pure.
std::vector<SelEntry> ParseSel(absl::string_view text);

// One line of `ipmitool sensor`.
struct BmcSensor {
  std::string name;
  std::string reading;  // "226.000", "0x0", "na"
  std::string unit;     // "Volts", "discrete"
  std::string status;   // "ok", "nc", "cr", "nr", "0x0180", "na"
  // On which side of its limits the reading lies: "low", "high"; empty: not beyond one, or not
  // told.
  std::string side;
};

// Lines of another form are left out. Pure.
std::vector<BmcSensor> ParseBmcSensors(absl::string_view text);

// A power supply, as `dmidecode -t 39` tells.
struct PowerSupply {
  std::string location;
  std::string status;  // "Present, OK"
};

// Pure.
std::vector<PowerSupply> ParsePowerSupplies(absl::string_view dmidecode);

// system.bmc.
absl::StatusOr<CheckOutput> CheckBmc(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_BMC_H_
