#include "services/node/checks/gpu/nvml_library.h"

#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/base/text.h"

namespace galen::node::nvml {
namespace {

constexpr std::size_t kMaxErrorBytes = 256;

// The libraries that were loaded, by their handles: the loader gives the same one again.
struct Loaded {
  Mutex mu;
  std::map<void*, std::unique_ptr<const Api>> apis ABSL_GUARDED_BY(mu);
};

Loaded& AllLoaded() {
  static Loaded* const loaded = new Loaded;  // outlives threads that hang in the library
  return *loaded;
}

}  // namespace

std::vector<std::string> LibraryCandidates(const std::string& path) {
  if (!path.empty()) return {path};
  return {"libnvidia-ml.so.1", "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
          "/run/nvidia/driver/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
          "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1"};
}

absl::StatusOr<const Api*> LoadLibrary(const std::string& path) {
  std::string broken;
  for (const std::string& candidate : LibraryCandidates(path)) {
    void* const library = dlopen(candidate.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const error = dlerror();
      const std::string text = CleanText(error == nullptr ? "" : error, kMaxErrorBytes);
      // The loader says something else if the library exists and cannot be loaded.
      if (broken.empty() && !absl::StrContains(text, "No such file")) broken = text;
      continue;
    }
    Loaded& loaded = AllLoaded();
    const MutexLock lock(loaded.mu);
    std::unique_ptr<const Api>& api = loaded.apis[library];
    if (api == nullptr) api = std::make_unique<const Api>(library);
    if (api->init.call == nullptr || api->shutdown.call == nullptr || api->count.call == nullptr ||
        api->handle.call == nullptr) {
      return absl::AbortedError(
          absl::StrCat(candidate, " is not a supported NVML library: it has no nvmlInit_v2"));
    }
    return api.get();
  }
  if (!broken.empty()) return absl::AbortedError(absl::StrCat("NVML cannot be loaded: ", broken));
  return absl::NotFoundError("libnvidia-ml is not installed: no NVIDIA driver on this node");
}

std::string ErrorText(const Api& api, Return code) {
  const char* const text = api.error_string.call == nullptr ? nullptr : api.error_string.call(code);
  return text == nullptr ? absl::StrCat("NVML error ", code) : CleanText(text, kMaxErrorBytes);
}

}  // namespace galen::node::nvml
