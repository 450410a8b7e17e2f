#ifndef SERVICES_NODE_CHECKS_SYSTEM_NCCL_RELEASE_H_
#define SERVICES_NODE_CHECKS_SYSTEM_NCCL_RELEASE_H_

#include <string>

#include "services/node/checks/check.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// The job's NCCL version and the setting by which it chooses its addresses.
struct NcclRelease {
  std::string version;    // "2.18.1+cuda12.1"; empty: not known
  std::string gid_index;  // NCCL_IB_GID_INDEX in the log; empty: not logged
};

// From the logs of the job, which say what ran, else from its Python packages. Reads all logs.
extern const LogWant kNcclReleaseWant;
NcclRelease ReadNcclRelease(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_NCCL_RELEASE_H_
