#ifndef SERVICES_NODE_CHECKS_JOB_PROCESS_TREE_H_
#define SERVICES_NODE_CHECKS_JOB_PROCESS_TREE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// One process in a machine's process table.
struct ProcessEntry {
  std::int64_t pid = 0;
  std::int64_t parent = 0;
  std::string name;  // of its program, as the kernel cuts it

  friend bool operator==(const ProcessEntry&, const ProcessEntry&) = default;
};

// Parses the text of /proc/<pid>/status; nothing if it has no pid. Pure.
std::optional<ProcessEntry> ParseProcessStatus(absl::string_view status);

// Parses the output of `ps -eo pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args`. Pure.
std::vector<ProcessEntry> ParseProcessTable(absl::string_view ps);

// Finds the job's processes on a machine by the parents of processes.
class JobProcessTree {
 public:
  // `job` is what is known to be the job's, `hosts` the programs that start the processes of one
  // job only. The table need not be of one instant: it may lack some, and hold a circle. Pure.
  JobProcessTree(const std::vector<ProcessEntry>& table, std::set<std::int64_t> job,
                 const std::vector<std::string>& hosts);

  // Whether the process is the job's: started by one of the job's or by a program that starts that
  // job only. False: their only common ancestor is the machine's first process. Unknown for all
  // between, such as another login or a sibling below an unknown launcher, and for processes that
  // are not listed.
  std::optional<bool> Holds(std::int64_t pid) const;

  // The processes known to be the job's, and all that the tree adds from the table; sorted.
  std::vector<std::int64_t> Members() const;

 private:
  // The process and those above it, without the first of the machine.
  struct Line {
    std::vector<std::int64_t> pids;
    bool whole = true;  // false: one of them is not listed
  };
  Line LineOf(std::int64_t pid) const;

  std::map<std::int64_t, ProcessEntry> all_;
  std::set<std::int64_t> job_;
  std::set<std::int64_t> hosts_;  // above the job's
  std::set<std::int64_t> tops_;   // the last of the job's lines
};

// The programs that start the processes of one job only: `job_hosts` of system.process_load.
std::vector<std::string> ProgramsOfOneJob(const knowledge::Knowledge& knowledge);

// The processes known to be the job's; empty if the job is unknown. On a live host it is the one
// that the host was given, by the host's number. In a bundle they are those of the job's own view,
// by their numbers there, which may be those of a container.
std::set<std::int64_t> KnownJobProcesses(const host::Host& host);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_JOB_PROCESS_TREE_H_
