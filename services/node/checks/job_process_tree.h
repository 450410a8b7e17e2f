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

// What a machine's table of processes says of one.
struct ProcessEntry {
  std::int64_t pid = 0;
  std::int64_t parent = 0;
  std::string name;  // of its program, as the kernel cuts it

  friend bool operator==(const ProcessEntry&, const ProcessEntry&) = default;
};

// Of the text of /proc/<pid>/status; nothing where it has no number. Pure.
std::optional<ProcessEntry> ParseProcessStatus(absl::string_view status);

// Of what `ps -eo pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args` prints. Pure.
std::vector<ProcessEntry> ParseProcessTable(absl::string_view ps);

// Which processes of a machine are the job's, told by who started whom.
class JobProcessTree {
 public:
  // `job` is what is known to be the job's, `hosts` the programs that start the processes of one
  // job only. The table need not be of one instant: it may lack some, and hold a circle. Pure.
  JobProcessTree(const std::vector<ProcessEntry>& table, std::set<std::int64_t> job,
                 const std::vector<std::string>& hosts);

  // Whether the process is the job's: started by one of the job's or by what starts that job only.
  // False: nobody but the machine's first process started both. Unknown for all between, as another
  // login or a sibling below a launcher that nobody knows, and for processes that are not listed.
  std::optional<bool> Holds(std::int64_t pid) const;

  // What is known to be the job's, and all of the table that the tree holds; sorted.
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

// The processes that are known to be the job's; none where the job is not known. On a live host the
// one that it was told of, by the host's number; of a bundle those that the job's own view shows,
// by the numbers that they have there, which may be those of a container.
std::set<std::int64_t> KnownJobProcesses(const host::Host& host);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_JOB_PROCESS_TREE_H_
