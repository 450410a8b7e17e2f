#ifndef SERVICES_NODE_CHECKS_GPU_CLOCK_OFFSETS_H_
#define SERVICES_NODE_CHECKS_GPU_CLOCK_OFFSETS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/host/host.h"
#include "services/node/checks/check_data.h"

namespace galen::node {

// By how many MHz somebody moved a clock of a GPU, by the driver's index:
// the offset that is farthest from 0. nvidia-smi does not tell it.
using ClockOffsets = std::map<int, std::int64_t>;

// Of `nvidia-settings -q ...Offset... `, terse (-t) or not. What is not asked about offsets only is
// left out. Pure.
ClockOffsets ParseNvidiaSettings(const std::vector<std::string>& argv, absl::string_view text);

// Of the command lines in `ps`, by patterns that take the offset, and the GPU's index where they
// have a second group. Pure.
ClockOffsets OffsetsOfTools(absl::string_view ps, const std::vector<CheckData::Pattern>& tools);

// Both, as far as the host can tell.
ClockOffsets ReadClockOffsets(const host::Host& host, const CheckData& data);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_CLOCK_OFFSETS_H_
