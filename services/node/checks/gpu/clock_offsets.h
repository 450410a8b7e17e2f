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

// The clock offsets that users set, in MHz by the driver's index: for each GPU the offset farthest
// from 0. nvidia-smi does not show it.
using ClockOffsets = std::map<int, std::int64_t>;

// From `nvidia-settings -q ...Offset... `, terse (-t) or not. Queries of anything but offsets are
// ignored. Pure.
ClockOffsets ParseNvidiaSettings(const std::vector<std::string>& argv, absl::string_view text);

// From the command lines in `ps`. The patterns capture the offset and, in an optional second group,
// the GPU's index. Pure.
ClockOffsets OffsetsOfTools(absl::string_view ps, const std::vector<CheckData::Pattern>& tools);

// From both sources, as far as the host has them.
ClockOffsets ReadClockOffsets(const host::Host& host, const CheckData& data);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_CLOCK_OFFSETS_H_
