#ifndef SERVICES_NODE_CHECKS_SYSTEM_FILE_SYSTEMS_H_
#define SERVICES_NODE_CHECKS_SYSTEM_FILE_SYSTEMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// One line of `df -PT` (KiB) or `df -Pi` (inodes, no type).
struct FileSystem {
  std::string source;
  std::string type;
  std::int64_t total = 0;
  std::optional<double> used_pct;  // nothing where df prints "-"
  std::string target;
};

// Both forms, told apart by the heading. Targets may hold blanks. Pure.
std::vector<FileSystem> ParseDf(absl::string_view text);

// system.disk.
absl::StatusOr<CheckOutput> CheckDisk(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_FILE_SYSTEMS_H_
