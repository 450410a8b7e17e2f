#ifndef SERVICES_NODE_CHECKS_SYSTEM_LISTINGS_H_
#define SERVICES_NODE_CHECKS_SYSTEM_LISTINGS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::node {

// One line of `ls -l`.
struct ListedFile {
  std::string mode;  // "crw-rw-rw-"
  std::string owner;
  std::string group;
  std::string name;  // without the target of a link
};

// Lines of `ls -l`; others are left out. Pure.
std::vector<ListedFile> ParseListing(absl::string_view text);

// One line of `ps -eo pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args`.
struct ListedProcess {
  std::int64_t pid = 0;
  std::int64_t parent = 0;
  std::string user;
  std::string state;
  std::optional<std::int64_t> age_s;
  double cpu_pct = 0;  // of one core, over the life of the process
  std::string name;
  std::string args;  // its command line, blanks as one, at most 1 KiB
};

// In the order of the listing; lines of another form are left out. A name with blanks is cut at
// the first one. Pure.
std::vector<ListedProcess> ParseProcesses(absl::string_view text);

// The share of one core that each process uses, in per cent, by its number: from the last of the
// tables that `top -b -n 2` prints. The first table covers the processes' lives, so with that one
// alone the result is empty. Pure.
std::map<std::int64_t, double> ParseTop(absl::string_view text);

// The processes that belong with `own`: those, what started them up to the first process whose
// name is one of `hosts` (init, a batch system's step, a shell server), and all their children.
std::map<std::int64_t, bool> WithRelatives(const std::vector<ListedProcess>& processes,
                                           const std::vector<std::int64_t>& own,
                                           const std::vector<std::string>& hosts);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_LISTINGS_H_
