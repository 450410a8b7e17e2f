#ifndef COMMON_PERFMODEL_MACHINE_H_
#define COMMON_PERFMODEL_MACHINE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::perfmodel {

// The data sheets' values for a node and its GPUs. Rates are bytes or operations a second; 0 is
// unknown or absent, and a prediction that needs it is refused.
struct Machine {
  std::string gpu;                      // the model, as in knowledge/hardware
  std::string vendor;                   // "nvidia" or "amd"
  std::map<std::string, double> peaks;  // operations a second by precision: "bf16"
  double memory = 0;
  std::string links;            // "nvlink", "xgmi" or "" (PCIe alone)
  double link = 0;              // of one GPU to all others of the node, one direction
  double pair = 0;              // of one GPU to one other
  bool adds_in_switch = false;  // NVLS: the switch of the links reduces the data of all GPUs
  double host = 0;              // of one GPU to its host, one direction
  double power = 0;             // watts that the board may take
  std::int64_t gpus_per_node = 8;
  double nics = 0;     // of all network adapters of a node together, one direction
  std::string fabric;  // "infiniband", "roce", "efa", "opa" ... ; "" unknown
};

// One GPU model from the facts of knowledge/hardware/gpus.yaml. INVALID_ARGUMENT if the facts give
// neither its compute rate nor its memory rate.
absl::StatusOr<Machine> MachineOf(absl::string_view model,
                                  const std::map<std::string, double>& facts);

// Operations a second on matrices of that precision. FAILED_PRECONDITION if knowledge/hardware has
// no such peak for that model.
absl::StatusOr<double> PeakOf(const Machine& machine, absl::string_view precision);

// "64bit", "32bit", "16bit", "8bit" or "4bit": peaks and factors depend on it.
absl::string_view WidthOf(absl::string_view precision);
// Bytes of an input value of a matrix product: 8, 4, 2, 1 or 0.5.
double ProductBytes(absl::string_view precision);
// Bytes of a value that is kept between products, of weights and gradients: 8, 4 or 2. Products of
// fewer than 16 bits cast their inputs, and give 16 bits (Micikevicius et al., arXiv:2209.05433,
// section 3.1).
double KeptBytes(absl::string_view precision);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_MACHINE_H_
