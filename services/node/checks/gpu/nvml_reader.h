#ifndef SERVICES_NODE_CHECKS_GPU_NVML_READER_H_
#define SERVICES_NODE_CHECKS_GPU_NVML_READER_H_

#include "services/node/checks/gpu/gpu_state.h"
#include "services/node/checks/gpu/nvml_library.h"

namespace galen::node::nvml {

// What NVML answered as a whole.
struct Answer {
  // What nvidia-smi exits with, which are NVML's own codes: 0, that of nvmlInit when it fails, else
  // that of the first GPU that is lost or whose infoROM is corrupted.
  Return code = kSuccess;
  // That code in nvidia-smi's words; "" for 0.
  std::string complaint;
  // A GPU that does not answer at all is listed, as lost or with nothing known.
  GpuState state;
};

// Opens NVML, asks for everything once and closes it again, so that nothing holds a device open
// that somebody wants to reset. Takes 10 to 100 ms for each GPU, and hangs when the driver does.
Answer ReadAll(const Api& api);

}  // namespace galen::node::nvml

#endif  // SERVICES_NODE_CHECKS_GPU_NVML_READER_H_
