#ifndef SERVICES_NODE_CHECKS_GPU_LINK_REPORTS_H_
#define SERVICES_NODE_CHECKS_GPU_LINK_REPORTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace galen::node {

// One GPU in the answer of `nvidia-smi nvlink -s` or `nvidia-smi c2c -s`.
struct GpuLinks {
  int index = 0;
  std::string product;
  std::string uuid;
  // Whether each link is active, by its number.
  std::map<int, bool> links;
  // The GPU has no such links, or cannot be asked (MIG): there is nothing to judge.
  bool not_supported = false;
  // "Unable to retrieve Nvlink information as all links are inActive".
  bool all_inactive = false;
};

std::vector<GpuLinks> ParseLinkStatus(absl::string_view output);

// Error counters of one link. A counter that is not listed is unknown.
struct LinkErrors {
  std::optional<std::int64_t> crc;
  std::optional<std::int64_t> replay;
  std::optional<std::int64_t> recovery;
  std::optional<double> effective_ber;
  // Some other error counter of the link, summed up.
  std::int64_t other = 0;
};

// One GPU in the answer of `nvidia-smi nvlink -e`.
struct GpuLinkErrors {
  int index = 0;
  std::string uuid;
  std::map<int, LinkErrors> links;
};

std::vector<GpuLinkErrors> ParseLinkErrors(absl::string_view output);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_LINK_REPORTS_H_
