#include "services/node/checks/system/listings.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

// Ten thousand cores: a higher value is not the load of a process.
constexpr double kMostLoad = 1e6;

}  // namespace

std::vector<ListedFile> ParseListing(absl::string_view text) {
  std::vector<ListedFile> files;
  for (const absl::string_view line : Lines(text)) {
    const std::vector<absl::string_view> words = Words(line);
    // mode links owner group size(or major, minor) month day time name
    if (words.size() < 8 || words[0].size() < 10 ||
        absl::string_view("bcdlps-").find(words[0][0]) == absl::string_view::npos) {
      continue;
    }
    const bool device = words[0][0] == 'c' || words[0][0] == 'b';
    // "195," "254" are two words; --time-format=full-iso has as many words as month, day, time.
    const std::size_t name = device && absl::string_view(words[4]).back() == ',' ? 9 : 8;
    if (words.size() <= name) continue;
    ListedFile file;
    file.mode = std::string(words[0]);
    file.owner = std::string(words[2]);
    file.group = std::string(words[3]);
    auto end = words.end();
    if (words[0][0] == 'l') end = std::find(words.begin(), words.end(), "->");
    if (end <= words.begin() + static_cast<std::ptrdiff_t>(name)) continue;
    file.name = absl::StrJoin(words.begin() + static_cast<std::ptrdiff_t>(name), end, " ");
    files.push_back(std::move(file));
  }
  return files;
}

std::vector<ListedProcess> ParseProcesses(absl::string_view text) {
  std::vector<ListedProcess> processes;
  for (const absl::string_view line : Lines(text)) {
    const std::vector<absl::string_view> words = Words(line);
    ListedProcess process;
    if (words.size() < 9 || !absl::SimpleAtoi(words[0], &process.pid) ||
        !absl::SimpleAtoi(words[1], &process.parent)) {
      continue;
    }
    process.user = std::string(words[2]);
    process.state = std::string(words[3]);
    process.age_s = LeadingInt(words[5]);
    process.cpu_pct = std::max(0.0, LeadingDouble(words[7]).value_or(0));
    process.name = std::string(words[8]);
    for (std::size_t i = 9; i < words.size() && process.args.size() < 1024; ++i) {
      absl::StrAppend(&process.args, i == 9 ? "" : " ", words[i].substr(0, 1024));
    }
    processes.push_back(std::move(process));
  }
  return processes;
}

std::map<std::int64_t, double> ParseTop(absl::string_view text) {
  std::map<std::int64_t, double> loads;
  int tables = 0;
  std::size_t pid_column = 0;
  std::size_t cpu_column = 0;
  for (const absl::string_view line : Lines(text)) {
    const std::vector<absl::string_view> words = Words(line);
    // A person's settings for top may choose the columns and their order.
    const auto pid_heading = std::find(words.begin(), words.end(), "PID");
    const auto cpu_heading = std::find(words.begin(), words.end(), "%CPU");
    if (pid_heading != words.end() && cpu_heading != words.end()) {
      ++tables;
      loads.clear();
      pid_column = static_cast<std::size_t>(pid_heading - words.begin());
      cpu_column = static_cast<std::size_t>(cpu_heading - words.begin());
      continue;
    }
    std::int64_t pid = 0;
    double load = 0;
    if (tables >= 2 && words.size() > std::max(pid_column, cpu_column) &&
        absl::SimpleAtoi(words[pid_column], &pid) && absl::SimpleAtod(words[cpu_column], &load) &&
        load >= 0 && load <= kMostLoad) {
      loads[pid] = load;
    }
  }
  return loads;
}

std::map<std::int64_t, bool> WithRelatives(const std::vector<ListedProcess>& processes,
                                           const std::vector<std::int64_t>& own,
                                           const std::vector<std::string>& hosts) {
  absl::flat_hash_map<std::int64_t, const ListedProcess*> by_pid;
  absl::flat_hash_map<std::int64_t, std::vector<std::int64_t>> children;
  for (const ListedProcess& process : processes) {
    by_pid[process.pid] = &process;
    children[process.parent].push_back(process.pid);
  }
  const auto is_host = [&](const ListedProcess& process) {
    return process.pid <= 2 || std::find(hosts.begin(), hosts.end(), process.name) != hosts.end();
  };
  std::map<std::int64_t, bool> related;
  std::vector<std::int64_t> open;
  for (const std::int64_t pid : own) {
    std::int64_t top = pid;
    // A listing that was not taken at one instant may hold a circle: no chain is this long.
    for (int depth = 0; depth < 64; ++depth) {
      const auto found = by_pid.find(top);
      if (found == by_pid.end()) break;
      const auto parent = by_pid.find(found->second->parent);
      if (parent == by_pid.end() || is_host(*parent->second)) break;
      top = parent->first;
    }
    open.push_back(top);
  }
  while (!open.empty()) {
    const std::int64_t pid = open.back();
    open.pop_back();
    if (!related.emplace(pid, true).second) continue;
    const auto found = children.find(pid);
    if (found == children.end()) continue;
    open.insert(open.end(), found->second.begin(), found->second.end());
  }
  return related;
}

}  // namespace galen::node
