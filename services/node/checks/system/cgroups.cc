#include "services/node/checks/system/cgroups.h"

#include <cstddef>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

// Pods nest deepest: kubepods, its class, the pod, the container, and what it makes itself.
constexpr int kMaxDepth = 8;

constexpr absl::string_view kGroups = "/sys/fs/cgroup";

// Groups at this depth belong to one job, pod or session; above them are the slices of the machine.
constexpr std::ptrdiff_t kOwnDepth = 3;

// Whether `group` is `folder` or below it.
bool IsWithin(absl::string_view group, absl::string_view folder) {
  return absl::ConsumePrefix(&group, folder) && (group.empty() || group.front() == '/');
}

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

std::vector<std::string> JobMemoryGroups(const host::Host& host) {
  std::vector<std::string> groups;
  if (!host.live()) {
    for (absl::string_view folder : JobCgroups(host)) {
      if (absl::ConsumePrefix(&folder, kGroups)) groups.emplace_back(folder);
    }
    return groups;
  }
  const auto own = host.ReadFile("/proc/self/cgroup", host::View::kJob);
  if (!own.ok()) return groups;
  for (const absl::string_view line : Lines(*own)) {
    // "0::/path", or "9:memory:/path" of version 1.
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || parts[2].size() < 2) continue;
    const std::vector<absl::string_view> controllers = absl::StrSplit(parts[1], ',');
    if (!parts[1].empty() && !absl::c_linear_search(controllers, "memory")) continue;
    // Seen out of a namespace of control groups, which hides what the kernel calls it.
    if (IsWithin(parts[2], "/..")) continue;
    groups.emplace_back(parts[2]);
  }
  return groups;
}

bool LimitsJob(absl::string_view group, const std::vector<std::string>& job) {
  return absl::c_any_of(job, [&](absl::string_view own) {
    if (IsWithin(own, group) || IsWithin(group, own)) return true;
    const absl::string_view parent = own.substr(0, own.rfind('/'));
    return absl::c_count(parent, '/') >= kOwnDepth && IsWithin(group, parent);
  });
}

}  // namespace galen::node
