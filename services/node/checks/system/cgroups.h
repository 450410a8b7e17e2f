#ifndef SERVICES_NODE_CHECKS_SYSTEM_CGROUPS_H_
#define SERVICES_NODE_CHECKS_SYSTEM_CGROUPS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/host/host.h"

namespace galen::node {

// Folders of the job's control groups (v2), sorted: those that were captured, on a live host the
// one that the job's own process names. Empty where they are not known.
std::vector<std::string> JobCgroups(const host::Host& host);

// A file of lines "name number"; empty when it cannot be read.
std::map<std::string, std::int64_t> ReadCounters(const host::Host& host, const std::string& path);

// Processes of the job that the kernel killed for lack of memory in its groups; nothing where no
// group says.
std::optional<std::int64_t> JobOomKills(const host::Host& host);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_CGROUPS_H_
