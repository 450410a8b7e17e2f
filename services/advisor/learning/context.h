#ifndef SERVICES_ADVISOR_LEARNING_CONTEXT_H_
#define SERVICES_ADVISOR_LEARNING_CONTEXT_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::advisor {

// Bytes of a context.
inline constexpr std::size_t kMostContext = 4096;

// The machines that a job runs on, as the provider knows them: hardware and its configuration.
struct Hardware {
  std::string gpu;     // product name as the driver prints it
  std::string nic;     // model; "": none
  std::string driver;  // its whole version
  int gpus_per_node = 0;
  // Clocks and power as a share of the model's own; 0: unknown.
  double clock_limit = 0;
  double power_limit = 0;
  // Further settings that are on or off, or a word: "ecc": "on", "mig": "off".
  std::map<std::string, std::string> settings;
};

// Machines that pose the same challenges: one line such as "gpu=NVIDIA H100 80GB HBM3 nic=MT4129
// driver=535.129 clocks=full power=full ecc=on". Versions up to their second number; limits in
// three steps (full from 95 %, reduced from 70 %, low); unknown values stay "unknown". The same
// hardware gives the same text. It is the provider's own data, so nothing is hidden.
// INVALID_ARGUMENT: no GPU is named, or a field is longer than 128 bytes, has control characters,
// there are more than 32 settings, or the line has more than kMostContext bytes.
absl::StatusOr<std::string> ContextOf(const Hardware& hardware);

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_LEARNING_CONTEXT_H_
