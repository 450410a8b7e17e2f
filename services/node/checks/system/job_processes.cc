#include "services/node/checks/system/job_processes.h"

#include <optional>
#include <set>
#include <string>

#include "services/node/checks/job_process_tree.h"

namespace galen::node {
namespace {

// By the entries of /proc themselves: `ps` may be missing, or slow on a machine in trouble.
std::vector<ProcessEntry> ReadTable(const CheckContext& context) {
  std::vector<ProcessEntry> table;
  const auto paths = context.host.Glob("/proc/[0-9]*/status");
  if (!paths.ok()) return table;
  for (const std::string& path : *paths) {
    if (context.cancelled.cancelled()) break;
    const auto status = context.host.ReadFile(path);
    if (!status.ok()) continue;  // it ended meanwhile
    if (auto process = ParseProcessStatus(*status); process.has_value()) {
      table.push_back(*std::move(process));
    }
  }
  return table;
}

}  // namespace

JobProcesses FindJobProcesses(const CheckContext& context) {
  std::set<std::int64_t> known = KnownJobProcesses(context.host);
  if (!context.host.live() || known.empty()) {
    return {{known.begin(), known.end()},
            context.host.live() ? host::View::kHost : host::View::kJob};
  }
  const JobProcessTree tree(ReadTable(context), std::move(known),
                            ProgramsOfOneJob(context.knowledge));
  return {tree.Members(), host::View::kHost};
}

}  // namespace galen::node
