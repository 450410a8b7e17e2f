#ifndef SERVICES_NODE_CHECKS_GPU_NVML_READER_H_
#define SERVICES_NODE_CHECKS_GPU_NVML_READER_H_

#include "services/node/checks/gpu/gpu_state.h"
#include "services/node/checks/gpu/nvml_library.h"

namespace galen::node::nvml {

// The answer of NVML as a whole.
struct Answer {
  // The exit code of nvidia-smi, which is NVML's own code: 0, that of nvmlInit when it fails, else
  // that of the first GPU that is lost or whose infoROM is corrupted.
  Return code = kSuccess;
  // That code in nvidia-smi's words; "" for 0.
  std::string complaint;
  // A GPU that does not answer at all is listed, as lost or with nothing known.
  GpuState state;
};

// Opens NVML, queries everything once and closes it again, so that no device stays open that a user
// wants to reset. Takes 10 to 100 ms for each GPU, and hangs when the driver does.
Answer ReadAll(const Api& api);

}  // namespace galen::node::nvml

#endif  // SERVICES_NODE_CHECKS_GPU_NVML_READER_H_
