#include "services/node/checks/rdma/hca_list.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace galen::node {

DeviceList ParseDeviceList(absl::string_view value) {
  DeviceList list;
  list.excludes = absl::ConsumePrefix(&value, "^");
  list.exact = absl::ConsumePrefix(&value, "=");
  // As parseStringList of NCCL's src/misc/utils.cc reads it.
  for (const absl::string_view text : absl::StrSplit(value, ',')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
    if (parts[0].empty()) continue;
    if (parts[0].find_first_of("^= \t\r\n") != absl::string_view::npos) {
      list.malformed.emplace_back(text);
      continue;
    }
    DeviceList::Entry entry{std::string(parts[0]), std::nullopt};
    if (parts.size() == 2) {
      int port = 0;
      if (!absl::SimpleAtoi(parts[1], &port) || port < 0) {
        list.malformed.emplace_back(text);
        continue;
      }
      entry.port = port;
    }
    list.entries.push_back(std::move(entry));
  }
  return list;
}

bool Names(const DeviceList::Entry& entry, bool exact, absl::string_view device) {
  return exact ? entry.name == device : absl::StartsWith(device, entry.name);
}

}  // namespace galen::node
