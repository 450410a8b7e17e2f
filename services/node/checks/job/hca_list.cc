#include "services/node/checks/job/hca_list.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace galen::node {

DeviceList ParseDeviceList(absl::string_view value) {
  DeviceList list;
  value = absl::StripAsciiWhitespace(value);
  list.excludes = absl::ConsumePrefix(&value, "^");
  list.exact = absl::ConsumePrefix(&value, "=");
  if (value.empty()) return list;
  for (const absl::string_view raw : absl::StrSplit(value, ',')) {
    const absl::string_view text = absl::StripAsciiWhitespace(raw);
    if (text.empty() || text.find_first_of("^= ") != absl::string_view::npos) {
      list.malformed.emplace_back(text);
      continue;
    }
    const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
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
