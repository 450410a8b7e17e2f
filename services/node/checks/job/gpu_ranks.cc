#include "services/node/checks/job/gpu_ranks.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "re2/re2.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {

std::optional<std::map<int, GpuProcesses>> ComputeProcesses(absl::string_view xml) {
  static const RE2 pid_form(R"(<pid>(\d{1,10})</pid>)");
  static const RE2 type_form(R"(<type>([CGM+]+)</type>)");
  // Precedes the process that it belongs to; outside of a process it describes the GPU's instances.
  static const RE2 instance_form(R"(<(gpu|compute)_instance_id>(\d{1,4})</)");
  std::map<int, GpuProcesses> on_gpu;
  std::string instance;
  int gpu = -1;
  std::int64_t pid = 0;
  for (const absl::string_view line : Lines(xml)) {
    const re2::StringPiece piece(line.data(), line.size());
    std::string type;
    std::string level;
    std::string number;
    if (absl::StrContains(line, "<gpu id=")) {
      on_gpu[++gpu];
      pid = 0;
    } else if (absl::StrContains(line, "<process_info>")) {
      instance.clear();
    } else if (RE2::PartialMatch(piece, instance_form, &level, &number)) {
      absl::StrAppend(&instance, level == "gpu" ? "" : "/", number);
    } else if (absl::StrContains(line, "<processes>N/A")) {
      return std::nullopt;
    } else if (gpu >= 0 && RE2::PartialMatch(piece, pid_form, &pid)) {
      // Its type comes before or behind it; one that draws only is taken out again below.
      on_gpu[gpu].emplace(pid, instance);
    } else if (gpu >= 0 && pid != 0 && RE2::PartialMatch(piece, type_form, &type)) {
      if (!absl::StrContains(type, "C")) on_gpu[gpu].erase(pid);
      pid = 0;
    }
  }
  if (gpu < 0) return std::nullopt;
  return on_gpu;
}

std::map<int, int> RanksOnGpus(const std::map<int, GpuProcesses>& on_gpu,
                               const std::vector<ListedProcess>& processes) {
  std::map<std::int64_t, const ListedProcess*> by_pid;
  for (const ListedProcess& process : processes) by_pid[process.pid] = &process;
  std::map<std::string, std::set<std::int64_t>> of_command;
  const auto command = [&](std::int64_t pid) -> std::string {
    const auto it = by_pid.find(pid);
    return it == by_pid.end() ? std::string() : it->second->args;
  };
  for (const auto& [gpu, pids] : on_gpu) {
    for (const auto& [pid, instance] : pids) {
      if (std::string args = command(pid); !args.empty()) of_command[args].insert(pid);
    }
  }
  std::map<int, int> ranks;
  for (const auto& [gpu, pids] : on_gpu) {
    std::map<std::pair<std::string, std::string>, int> here;
    for (const auto& [pid, instance] : pids) {
      const std::string args = command(pid);
      if (args.empty() || of_command[args].size() < 2) continue;
      ranks[gpu] = std::max(ranks[gpu], ++here[{instance, args}]);
    }
  }
  return ranks;
}

std::optional<std::int64_t> ListedDevices(absl::string_view listing) {
  std::int64_t devices = 0;
  int instances = 0;  // of the GPU that was named last
  bool any = false;
  for (const absl::string_view line : Lines(listing)) {
    if (absl::StartsWith(line, "GPU ")) {
      any = true;
      ++devices;
      instances = 0;
    } else if (any && absl::StartsWith(line, "  MIG ") && ++instances > 1) {
      ++devices;
    }
  }
  if (!any) return std::nullopt;
  return devices;
}

std::optional<bool> AllOnFirstVisible(const std::map<int, int>& ranks, absl::string_view visible) {
  std::vector<int> seen;
  for (const absl::string_view part : absl::StrSplit(visible, ',')) {
    int index = 0;
    if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(part), &index)) return std::nullopt;
    seen.push_back(index);
  }
  int all = 0;
  int first = 0;
  for (const auto& [gpu, count] : ranks) {
    all += count;
    if (!seen.empty() && gpu == seen.front()) first = count;
  }
  if (seen.size() < 2 || all < 2) return std::nullopt;
  return first == all;
}

}  // namespace galen::node
