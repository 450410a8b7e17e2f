#include "services/node/checks/rdma/gid_table.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

constexpr absl::string_view kRoceV2 = "RoCE v2";

bool IsEmptyGid(absl::string_view gid) {
  return gid.find_first_not_of("0:") == absl::string_view::npos;
}

}  // namespace

std::string FolderOf(const RdmaPort& port) {
  return absl::StrCat("/sys/class/infiniband/", port.hca, "/ports/", port.number);
}

std::map<int, std::string> NumberedFiles(const host::Host& host, const std::string& folder,
                                         int gap) {
  std::map<int, std::string> table;
  const auto paths = host.Glob(folder + "/*");
  if (!paths.ok()) return table;
  std::map<int, const std::string*> places;
  for (const std::string& path : *paths) {
    int index = 0;
    if (absl::SimpleAtoi(BaseName(path), &index)) places[index] = &path;
  }
  int free = 0;
  for (const auto& [index, path] : places) {
    // The kernel refuses to read the type of an empty place.
    const auto line = FirstLine(host, *path);
    if (line.ok()) table[index] = *line;
    free = line.ok() && !IsEmptyGid(*line) ? 0 : free + 1;
    if (free == gap) break;
  }
  return table;
}

bool IsIpv4Gid(absl::string_view gid) {
  return absl::StartsWith(gid, "0000:0000:0000:0000:0000:ffff:") &&
         !absl::EndsWith(gid, "0000:0000");
}

bool IsGlobalIpv6Gid(absl::string_view gid) {
  return !IsEmptyGid(gid) && !absl::StartsWith(gid, "fe80:") &&
         !absl::StartsWith(gid, "0000:0000:0000:0000:0000:ffff:");
}

GidTable ReadGidTable(const host::Host& host, const RdmaPort& port) {
  return {NumberedFiles(host, FolderOf(port) + "/gids"),
          NumberedFiles(host, FolderOf(port) + "/gid_attrs/types")};
}

std::optional<int> RoceV2Ipv4Index(const GidTable& table) {
  for (const auto& [number, gid] : table.gids) {
    const auto type = table.types.find(number);
    if (type != table.types.end() && type->second == kRoceV2 && IsIpv4Gid(gid)) return number;
  }
  return std::nullopt;
}

int UsableGidIndex(const GidTable& table) {
  if (const auto index = RoceV2Ipv4Index(table); index.has_value()) return *index;
  std::optional<int> link_local;
  for (const auto& [number, gid] : table.gids) {
    const auto type = table.types.find(number);
    if (type == table.types.end() || type->second != kRoceV2 || IsEmptyGid(gid)) continue;
    if (!absl::StartsWith(gid, "fe80:")) return number;
    if (!link_local.has_value()) link_local = number;
  }
  return link_local.value_or(0);
}

}  // namespace galen::node
