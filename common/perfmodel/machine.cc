#include "common/perfmodel/machine.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace galen::perfmodel {
namespace {

// GB/s of 16 lanes, one direction, without the framing bytes (../shared/facts/hardware.yaml,
// pcie_rates).
double PcieRate(double generation) {
  if (generation == 3) return 15.8e9;
  if (generation == 4) return 31.5e9;
  if (generation == 5) return 63e9;
  if (generation == 6) return 126e9;
  return 0;
}

double Fact(const std::map<std::string, double>& facts, const char* name) {
  const auto found = facts.find(name);
  return found != facts.end() && std::isfinite(found->second) && found->second > 0 ? found->second
                                                                                   : 0;
}

}  // namespace

absl::string_view WidthOf(absl::string_view precision) {
  if (precision == "fp64") return "64bit";
  if (precision == "fp32" || precision == "tf32") return "32bit";
  if (precision == "fp8" || precision == "int8") return "8bit";
  if (precision == "fp4" || precision == "int4" || precision == "fp6") return "4bit";
  return "16bit";
}

double ProductBytes(absl::string_view precision) {
  const absl::string_view width = WidthOf(precision);
  if (width == "64bit") return 8;
  if (width == "32bit") return 4;
  if (width == "8bit") return 1;
  return width == "4bit" ? 0.5 : 2;
}

double KeptBytes(absl::string_view precision) { return std::max(2.0, ProductBytes(precision)); }

absl::StatusOr<Machine> MachineOf(absl::string_view model,
                                  const std::map<std::string, double>& facts) {
  Machine machine;
  machine.gpu = std::string(model);
  machine.vendor = absl::StartsWith(model, "MI") ? "amd" : "nvidia";
  for (const auto& [name, value] : facts) {
    absl::string_view precision = name;
    if (absl::ConsumePrefix(&precision, "peak_") && absl::ConsumeSuffix(&precision, "_tflops") &&
        std::isfinite(value) && value > 0) {
      machine.peaks[std::string(precision)] = value * 1e12;
    }
  }
  machine.memory = Fact(facts, "memory_gb_s") * 1e9;
  if (machine.peaks.empty() && machine.memory == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        model, ": knowledge/hardware says neither peak_*_tflops nor memory_gb_s of it"));
  }
  // Data sheets add up both directions of a link.
  const double one_link = Fact(facts, "link_gb_s") * 1e9 / 2;
  // A bridge joins two PCIe cards, not a whole node.
  const bool bridged = absl::StrContains(model, "PCIe");
  if (const double links = Fact(facts, "nvlinks"); links > 0 && one_link > 0 && !bridged) {
    machine.links = "nvlink";
    machine.link = links * one_link;
    machine.pair = machine.link;
    machine.adds_in_switch = Fact(facts, "nvlink_gen") >= 4;
  } else if (const double xgmi = Fact(facts, "xgmi_links"); xgmi > 0 && one_link > 0) {
    machine.links = "xgmi";
    machine.link = xgmi * one_link;
    machine.pair = one_link;
  }
  const double width = Fact(facts, "pcie_width");
  machine.host = PcieRate(Fact(facts, "pcie_gen")) * (width > 0 ? width / 16 : 1);
  machine.power = Fact(facts, "tdp_w");
  return machine;
}

absl::StatusOr<double> PeakOf(const Machine& machine, absl::string_view precision) {
  auto found = machine.peaks.find(std::string(precision));
  // Matrix units process both 16-bit formats at one rate.
  if (found == machine.peaks.end() && (precision == "fp16" || precision == "bf16")) {
    found = machine.peaks.find(precision == "fp16" ? "bf16" : "fp16");
  }
  if (found == machine.peaks.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat(machine.gpu, ": knowledge/hardware has no peak_", precision,
                     "_tflops of it; declare it there"));
  }
  return found->second;
}

}  // namespace galen::perfmodel
