#ifndef SERVICES_NODE_CHECKS_SYSTEM_CGROUPS_H_
#define SERVICES_NODE_CHECKS_SYSTEM_CGROUPS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/host/host.h"

namespace galen::node {

// Folders of the job's control groups (v2), sorted: those that were captured, on a live host the
// one that the job's own process names. Empty where they are not known.
std::vector<std::string> JobCgroups(const host::Host& host);

// A file of lines "name number"; empty when it cannot be read.
std::map<std::string, std::int64_t> ReadCounters(const host::Host& host, const std::string& path);

// Processes of the job that the kernel killed for lack of memory in its groups; nothing where no
// group says. On a live host that is the group of one process, which says nothing of another
// rank's.
std::optional<std::int64_t> JobOomKills(const host::Host& host);

// Control groups of the job that limit its memory, as the kernel log writes them
// ("/system.slice/slurmstepd.scope/job_7/step_0"), of version 1 or 2. Empty where they are not
// known.
std::vector<std::string> JobMemoryGroups(const host::Host& host);

// Whether a limit of `group` is one of the job's, whose groups are `job`: it holds one of them, or
// lies beside or below one in a group of the job's own. Pure.
bool LimitsJob(absl::string_view group, const std::vector<std::string>& job);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_CGROUPS_H_
