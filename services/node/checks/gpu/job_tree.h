#ifndef SERVICES_NODE_CHECKS_GPU_JOB_TREE_H_
#define SERVICES_NODE_CHECKS_GPU_JOB_TREE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// Which processes of a machine are the job's, told by who started whom.
class JobTree {
 public:
  // `ps` is what `ps -eo pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args` prints, `job` what
  // is known to be the job's, `hosts` the programs that start the processes of one job only. Pure.
  JobTree(absl::string_view ps, std::set<std::int64_t> job, const std::vector<std::string>& hosts);

  // Whether the process is the job's: started by one of the job's or by what starts that job only.
  // False: nobody but the machine's first process started both. Unknown for all between, as another
  // login or a sibling below a launcher that nobody knows, and for processes that are not listed.
  std::optional<bool> Holds(std::int64_t pid) const;

 private:
  struct Process {
    std::int64_t parent = 0;
    std::string name;
  };
  // The process and those above it, without the first of the machine; empty where one of them is
  // not listed.
  std::vector<std::int64_t> Line(std::int64_t pid) const;

  std::map<std::int64_t, Process> all_;
  std::set<std::int64_t> job_;
  std::set<std::int64_t> hosts_;  // above the job's
  std::set<std::int64_t> tops_;   // the last of the job's lines
};

// The job of the context. In a bundle by the numbers that the job's own view shows, which may be
// those of a container; holds nothing for sure where the job is not known.
JobTree ReadJobTree(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_JOB_TREE_H_
