#include "services/node/checks/cuda/gputest/cuda_api.h"

#include <dlfcn.h>

namespace galen::node::cuda {
namespace {

template <typename Function>
bool Find(void* library, const char* symbol, Function& function, std::string& error) {
  // POSIX gives functions as data pointers.
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (function != nullptr) return true;
  error = "the driver library lacks ";
  error += symbol;
  return false;
}

}  // namespace

bool CudaApi::Load(const char* name, std::string& error) {
  void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    error = why == nullptr ? std::string(name) + " cannot be loaded" : std::string(why);
    return false;
  }
#define GALEN_FIND(member, symbol, parameters) \
  if (!Find(handle, symbol, member, error)) return false;
  GALEN_CUDA_FUNCTIONS(GALEN_FIND)
#undef GALEN_FIND
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(Init), &info) != 0 && info.dli_fname != nullptr) {
    library = info.dli_fname;
  }
  return true;
}

std::string ErrorText(const CudaApi& api, int code) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.GetErrorName(code, &name) != kCudaSuccess || name == nullptr) {
    return "error " + std::to_string(code);
  }
  std::string told = name;
  if (api.GetErrorString(code, &text) == kCudaSuccess && text != nullptr) {
    told += std::string(": ") + text;
  }
  return told;
}

}  // namespace galen::node::cuda
