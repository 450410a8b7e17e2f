#include "services/node/checks/gpu/topology_matrix.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxColumns = 512;

bool IsGpuName(absl::string_view name) {
  int number = 0;
  return absl::ConsumePrefix(&name, "GPU") && absl::SimpleAtoi(name, &number);
}

// The columns of the heading up to "CPU Affinity"; the cells are separated by tabs.
std::vector<std::string> DeviceColumns(absl::string_view line) {
  std::vector<std::string> columns;
  bool first = true;
  for (const absl::string_view cell : absl::StrSplit(line, '\t')) {
    const absl::string_view name = absl::StripAsciiWhitespace(cell);
    if (first && name.empty()) {
      first = false;
      continue;
    }
    first = false;
    if (name.empty() || absl::StrContains(name, "Affinity") || columns.size() == kMaxColumns) break;
    columns.emplace_back(name);
  }
  return columns;
}

}  // namespace

std::string TopologyMatrix::Relation(const std::string& row, const std::string& column) const {
  const auto it = relations.find({row, column});
  return it == relations.end() ? "" : it->second;
}

absl::StatusOr<TopologyMatrix> ParseTopologyMatrix(absl::string_view output) {
  // The heading is underlined by terminal escapes.
  const std::string text = CleanText(output, output.size() + 1);
  TopologyMatrix matrix;
  std::vector<std::string> columns;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (columns.empty()) {
      std::vector<std::string> candidates = DeviceColumns(line);
      if (!candidates.empty() && IsGpuName(candidates.front())) columns = std::move(candidates);
      continue;
    }
    const std::vector<absl::string_view> cells = absl::StrSplit(line, '\t');
    const std::string row(absl::StripAsciiWhitespace(cells.front()));
    // The matrix ends with the empty line before its legend.
    if (row.empty()) break;
    (IsGpuName(row) ? matrix.gpus : matrix.nics).push_back(row);
    for (std::size_t i = 0; i < columns.size() && i + 1 < cells.size(); ++i) {
      const absl::string_view relation = absl::StripAsciiWhitespace(cells[i + 1]);
      if (relation != "X") matrix.relations[{row, columns[i]}] = std::string(relation);
    }
    if (matrix.gpus.size() + matrix.nics.size() == kMaxColumns) break;
  }
  if (matrix.gpus.empty()) {
    return absl::DataLossError("nvidia-smi topo -m: the output holds no matrix");
  }
  return matrix;
}

int NvlinksOf(absl::string_view relation) {
  int links = 0;
  if (!absl::ConsumePrefix(&relation, "NV") || !absl::SimpleAtoi(relation, &links)) return 0;
  return links;
}

}  // namespace galen::node
