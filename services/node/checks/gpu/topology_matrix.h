#ifndef SERVICES_NODE_CHECKS_GPU_TOPOLOGY_MATRIX_H_
#define SERVICES_NODE_CHECKS_GPU_TOPOLOGY_MATRIX_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::node {

// The matrix of `nvidia-smi topo -m`.
struct TopologyMatrix {
  std::vector<std::string> gpus;  // "GPU0"
  std::vector<std::string> nics;  // "NIC0", "mlx5_0"
  // How two devices are connected: "NV18", "PIX", "PXB", "PHB", "NODE", "SYS"; by row and column.
  std::map<std::pair<std::string, std::string>, std::string> relations;

  // "" when the matrix does not tell.
  std::string Relation(const std::string& row, const std::string& column) const;
};

// DATA_LOSS when the text holds no matrix.
absl::StatusOr<TopologyMatrix> ParseTopologyMatrix(absl::string_view output);

// The number of NVLinks in "NV18"; 0 for any other relation.
int NvlinksOf(absl::string_view relation);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_TOPOLOGY_MATRIX_H_
