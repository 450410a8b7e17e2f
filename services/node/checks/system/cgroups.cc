#include "services/node/checks/system/cgroups.h"

#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

// Pods nest deepest: kubepods, its class, the pod, the container, and what it makes itself.
constexpr int kMaxDepth = 8;

}  // namespace

std::vector<std::string> JobCgroups(const host::Host& host) {
  std::set<std::string> folders;
  if (host.live()) {
    const auto own = FirstLine(host, "/proc/self/cgroup", host::View::kJob);
    absl::string_view group = own.ok() ? absl::string_view(*own) : "";
    if (absl::ConsumePrefix(&group, "0::") && group.size() > 1) {
      folders.insert(absl::StrCat("/sys/fs/cgroup", group));
    }
    return {folders.begin(), folders.end()};
  }
  std::string pattern = "/sys/fs/cgroup/*";
  for (int depth = 0; depth < kMaxDepth; ++depth, pattern += "/*") {
    const auto paths = host.Glob(pattern + "/memory.max");
    if (!paths.ok()) continue;
    for (const std::string& path : *paths) folders.insert(path.substr(0, path.rfind('/')));
  }
  return {folders.begin(), folders.end()};
}

std::map<std::string, std::int64_t> ReadCounters(const host::Host& host, const std::string& path) {
  std::map<std::string, std::int64_t> counters;
  const auto text = host.ReadFile(path);
  if (!text.ok()) return counters;
  for (const absl::string_view line : Lines(*text)) {
    const std::vector<absl::string_view> words = Words(line);
    std::int64_t value = 0;
    if (words.size() == 2 && absl::SimpleAtoi(words[1], &value)) {
      counters[std::string(words[0])] = value;
    }
  }
  return counters;
}

std::optional<std::int64_t> JobOomKills(const host::Host& host) {
  std::optional<std::int64_t> kills;
  for (const std::string& folder : JobCgroups(host)) {
    const auto events = ReadCounters(host, folder + "/memory.events");
    const auto it = events.find("oom_kill");
    if (it != events.end()) kills = kills.value_or(0) + it->second;
  }
  return kills;
}

}  // namespace galen::node
