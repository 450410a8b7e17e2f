#include "services/node/checks/system/file_systems.h"

#include <array>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

// File systems that have no room of their own to run out of, or are full by their nature.
bool HasRoom(absl::string_view type) {
  constexpr std::array<absl::string_view, 12> kWithout = {
      "squashfs", "iso9660", "overlay",       "efivarfs", "devtmpfs", "proc",
      "sysfs",    "cgroup2", "fuse.snapfuse", "autofs",   "ramfs",    "erofs"};
  return !absl::c_linear_search(kWithout, type);
}

bool IsReadOnly(absl::string_view options) {
  for (const absl::string_view option : absl::StrSplit(options, ',')) {
    if (option == "ro") return true;
  }
  return false;
}

// Targets mounted read-only, from /proc/mounts or findmnt; nothing when neither is known.
std::optional<std::set<std::string>> ReadOnlyTargets(const host::Host& host) {
  std::set<std::string> targets;
  if (const auto mounts = host.ReadFile("/proc/mounts"); mounts.ok()) {
    for (const absl::string_view line : Lines(*mounts)) {
      const std::vector<absl::string_view> words = Words(line);
      if (words.size() >= 4 && IsReadOnly(words[3])) targets.emplace(words[1]);
    }
    return targets;
  }
  const auto text = Output(host, {"findmnt", "-J"});
  if (!text.ok()) return std::nullopt;
  const nlohmann::json tree = ParseJson(*text);
  if (!tree.is_object() || !tree.contains("filesystems")) return std::nullopt;
  std::vector<const nlohmann::json*> open = {&tree["filesystems"]};
  while (!open.empty()) {
    const nlohmann::json& list = *open.back();
    open.pop_back();
    if (!list.is_array()) continue;
    for (const auto& entry : list) {
      if (!entry.is_object()) continue;
      const auto target = entry.find("target");
      const auto options = entry.find("options");
      if (target != entry.end() && target->is_string() && options != entry.end() &&
          options->is_string() && IsReadOnly(options->get_ref<const std::string&>())) {
        targets.insert(target->get<std::string>());
      }
      if (const auto children = entry.find("children"); children != entry.end()) {
        open.push_back(&*children);
      }
    }
  }
  return targets;
}

}  // namespace

std::vector<FileSystem> ParseDf(absl::string_view text) {
  std::vector<FileSystem> systems;
  bool typed = false;
  bool heading = true;
  for (const absl::string_view line : Lines(text)) {
    const std::vector<absl::string_view> words = Words(line);
    if (heading) {
      heading = false;
      typed = words.size() > 1 && words[1] == "Type";
      continue;
    }
    const std::size_t shift = typed ? 1 : 0;
    if (words.size() < 6 + shift) continue;
    FileSystem system;
    system.source = std::string(words[0]);
    if (typed) system.type = std::string(words[1]);
    if (!absl::SimpleAtoi(words[1 + shift], &system.total)) continue;
    std::int64_t percent = 0;
    if (absl::SimpleAtoi(absl::StripSuffix(words[4 + shift], "%"), &percent)) {
      system.used_pct = static_cast<double>(percent);
    }
    system.target =
        absl::StrJoin(words.begin() + static_cast<std::ptrdiff_t>(5 + shift), words.end(), " ");
    systems.push_back(std::move(system));
  }
  return systems;
}

absl::StatusOr<CheckOutput> CheckDisk(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "system.disk"));
  GALEN_ASSIGN_OR_RETURN(const double nearly_full, data.Number("nearly_full_pct"));
  GALEN_ASSIGN_OR_RETURN(const std::string space, Output(host, {"df", "-PT"}));
  std::map<std::string, std::optional<double>> inodes;
  if (const auto text = Output(host, {"df", "-Pi"}); text.ok()) {
    for (const FileSystem& system : ParseDf(*text)) inodes[system.target] = system.used_pct;
  }
  const std::optional<std::set<std::string>> read_only = ReadOnlyTargets(host);
  CheckOutput output;
  std::vector<std::string> full;
  int count = 0;
  for (const FileSystem& system : ParseDf(space)) {
    if (!HasRoom(system.type) || system.total == 0) continue;
    ++count;
    const std::string device = absl::StrCat("mount:", system.target);
    output.findings.push_back(system.used_pct.has_value()
                                  ? FloatFinding("used_pct", node, device, *system.used_pct)
                                  : UnknownFinding("used_pct", node, device));
    const auto it = inodes.find(system.target);
    // A file system that creates inodes on demand has no count of them.
    if (it == inodes.end() || it->second.has_value()) {
      output.findings.push_back(it == inodes.end()
                                    ? UnknownFinding("inodes_used_pct", node, device)
                                    : FloatFinding("inodes_used_pct", node, device, *it->second));
    }
    output.findings.push_back(BoolFinding("is_ephemeral", node, device, system.type == "tmpfs"));
    output.findings.push_back(
        read_only.has_value()
            ? BoolFinding("read_only", node, device, read_only->contains(system.target))
            : UnknownFinding("read_only", node, device));
    if (system.used_pct.value_or(0) >= nearly_full) {
      full.push_back(absl::StrCat(system.target, " is ", *system.used_pct, " % full"));
    }
    if (it != inodes.end() && it->second.value_or(0) >= nearly_full) {
      full.push_back(absl::StrCat(system.target, " has used ", *it->second, " % of its inodes"));
    }
  }
  if (count == 0) {
    return absl::FailedPreconditionError("df lists no file system that could be full");
  }
  output.message = full.empty() ? absl::StrCat("all ", count, " file systems have room")
                                : absl::StrJoin(full, "; ");
  output.excerpt = space;
  return output;
}

}  // namespace galen::node
