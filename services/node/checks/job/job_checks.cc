#include "services/node/checks/job/job_checks.h"

#include "services/node/checks/job/cdi.h"
#include "services/node/checks/job/environment.h"
#include "services/node/checks/job/launch.h"
#include "services/node/checks/job/libraries.h"
#include "services/node/checks/job/limits.h"
#include "services/node/checks/job/nccl_env.h"
#include "services/node/checks/job/versions.h"

namespace galen::node {

absl::Span<const NamedCheck> JobChecks() {
  static const NamedCheck kChecks[] = {
      {"nccl.env", CheckNcclEnv},
      {"nccl.versions", CheckNcclVersions, &kVersionsWant},
      {"container.libraries", CheckContainerLibraries},
      {"container.devices", CheckContainerDevices},
      {"container.limits", CheckContainerLimits},
      {"container.shm", CheckContainerShm},
      {"container.runtime", CheckContainerRuntime},
      {"job.limits", CheckJobLimits},
      {"job.placement", CheckJobPlacement},
      {"container.cdi", CheckCdi},
      {"container.security", CheckContainerSecurity},
      {"user.env", CheckUserEnv},
      {"user.launch", CheckUserLaunch, &kLaunchWant},
      {"framework.versions", CheckFrameworkVersions, &kVersionsWant},
  };
  return kChecks;
}

}  // namespace galen::node
