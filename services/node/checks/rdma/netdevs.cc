#include "services/node/checks/rdma/netdevs.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/json_access.h"
#include "nlohmann/json.hpp"
#include "services/node/checks/rdma/gid_table.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

// A name becomes an argument and part of a path, so it must be one and nothing else.
bool IsName(absl::string_view name) {
  return !name.empty() && name.size() < 16 && name[0] != '-' && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' ||
                  c == '.';
         });
}

}  // namespace

std::map<std::string, std::string> NetdevsOfRdmaLink(absl::string_view json) {
  std::map<std::string, std::string> names;
  const nlohmann::json list = ParseJson(json);
  if (!list.is_array()) return names;
  for (const nlohmann::json& entry : list) {
    if (!entry.is_object()) continue;
    const auto name = entry.find("ifname");
    const auto port = entry.find("port");
    const auto netdev = entry.find("netdev");
    if (name == entry.end() || !name->is_string() || port == entry.end() ||
        !port->is_number_unsigned() || netdev == entry.end() || !netdev->is_string()) {
      continue;
    }
    const auto text = netdev->get<std::string>();
    if (!IsName(text)) continue;
    names[absl::StrCat(name->get<std::string>(), "/", port->get<std::uint64_t>())] = text;
  }
  return names;
}

std::map<std::string, std::string> NetdevsOfIbdev2netdev(absl::string_view text) {
  // "0000:1a:00.0 mlx5_0 (MT4129 - ...) ... fw 28.. port 1 (ACTIVE) ==> enp26s0np0 (Up)", and
  // without -v "mlx5_0 port 1 ==> ib0 (Up)".
  std::map<std::string, std::string> names;
  for (const absl::string_view line : Lines(text)) {
    const std::vector<absl::string_view> words = Words(line);
    const auto arrow = std::find(words.begin(), words.end(), "==>");
    const auto port = std::find(words.begin(), words.end(), "port");
    if (arrow == words.end() || arrow + 1 == words.end() || port == words.end() ||
        port + 1 >= arrow || !IsName(arrow[1])) {
      continue;
    }
    const bool by_pci = words[0].find(':') != absl::string_view::npos;
    const absl::string_view hca = by_pci && words.size() > 1 ? words[1] : words[0];
    names[absl::StrCat(hca, "/", port[1])] = std::string(arrow[1]);
  }
  return names;
}

std::string NetdevOf(const host::Host& host, const RdmaPort& port) {
  for (const auto& [index, name] : NumberedFiles(host, FolderOf(port) + "/gid_attrs/ndevs")) {
    if (IsName(name)) return name;
  }
  const std::string key = absl::StrCat(port.hca, "/", port.number);
  if (const auto links = Output(host, {"rdma", "-j", "link", "show"}); links.ok()) {
    const auto names = NetdevsOfRdmaLink(*links);
    if (const auto it = names.find(key); it != names.end()) return it->second;
  }
  if (const auto text = Output(host, {"ibdev2netdev", "-v"}); text.ok()) {
    const auto names = NetdevsOfIbdev2netdev(*text);
    if (const auto it = names.find(key); it != names.end()) return it->second;
  }
  return "";
}

}  // namespace galen::node
