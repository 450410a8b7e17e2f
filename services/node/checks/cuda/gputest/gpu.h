#ifndef SERVICES_NODE_CHECKS_CUDA_GPUTEST_GPU_H_
#define SERVICES_NODE_CHECKS_CUDA_GPUTEST_GPU_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "services/node/checks/cuda/gputest/cuda_api.h"
#include "services/node/checks/cuda/gputest/kernel_math.h"

namespace galen::node::cuda {

// One GPU with a context of our own. A driver call that fails is reported and ends the process
// (report.h): a test can do nothing more on such a device, and the end of the process releases all
// its resources. Single-threaded.
class Gpu {
 public:
  // `address`: its PCI address, "0000:b3:00.0". Makes the context and loads the kernels.
  Gpu(const CudaApi& api, const std::string& address);
  // Gives back memory and context.
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const CudaApi& api() const { return api_; }
  CuDevice device() const { return device_; }
  CuContext context() const { return context_; }
  CuStream stream() const { return stream_; }
  unsigned sms() const { return sms_; }
  // False where the driver refuses the kernel that uses tensor cores; its own words.
  bool has_tensor() const { return tensor_ != nullptr; }
  const std::string& tensor_trouble() const { return tensor_trouble_; }

  // Before calls that belong to this GPU, where a process uses several.
  void MakeCurrent();

  // Bytes free and in all.
  std::pair<std::uint64_t, std::uint64_t> Memory();
  // 0 when there is no room. Freed with the GPU.
  CuPointer TryAllocate(std::uint64_t bytes);
  CuPointer Allocate(std::uint64_t bytes);
  // Memory of this machine that the GPU reaches by itself.
  void* AllocatePinned(std::uint64_t bytes);

  // Launch; nothing is waited for.
  void Hello(CuPointer out, unsigned value);
  void WritePattern(CuPointer memory, std::uint64_t bytes, unsigned pattern, unsigned seed,
                    CuPointer origin);
  void CheckPattern(CuPointer memory, std::uint64_t bytes, unsigned pattern, unsigned seed,
                    CuPointer origin, bool invert, CuPointer found);
  void Compute(unsigned seed, unsigned rounds, unsigned blocks, CuPointer results);
  void Tensor(CuPointer a, CuPointer b, unsigned rounds, unsigned blocks, CuPointer results);
  void RandomMatrix(CuPointer matrix, unsigned elements, unsigned seed);
  void Gemm(CuPointer a, CuPointer b, CuPointer c, unsigned size);
  void ToDevice(CuPointer to, const void* from, std::uint64_t bytes);
  void FromDevice(void* to, CuPointer from, std::uint64_t bytes);
  void OnDevice(CuPointer to, CuPointer from, std::uint64_t bytes);

  // Waits until all launched work is done; reports `what` as hung when that takes longer than
  // `limit` seconds. `meanwhile` is called every few milliseconds.
  void Wait(const std::string& what, double limit, const std::function<void()>& meanwhile = {});
  // Runs `work`, which launches, and gives the seconds that the GPU took for it.
  double Time(const std::string& what, double limit, const std::function<void()>& work);

  // Ends the process unless `code` is success.
  void Require(const char* call, int code) const;

 private:
  CuFunction Find(CuModule module, const char* kernel);
  void Launch(CuFunction kernel, unsigned blocks, std::vector<void*> parameters);

  const CudaApi& api_;
  CuDevice device_ = 0;
  CuContext context_ = nullptr;
  CuStream stream_ = nullptr;
  CuEvent start_ = nullptr;
  CuEvent end_ = nullptr;
  unsigned sms_ = 1;
  CuFunction hello_ = nullptr;
  CuFunction write_ = nullptr;
  CuFunction check_ = nullptr;
  CuFunction compute_ = nullptr;
  CuFunction random_matrix_ = nullptr;
  CuFunction gemm_ = nullptr;
  CuFunction tensor_ = nullptr;
  std::string tensor_trouble_;
  std::vector<CuPointer> memory_;
  std::vector<void*> pinned_;
};

// Ends the process unless the library loads and cuInit works.
void LoadAndInit(CudaApi& api);

// Seconds since some moment.
double Now();

}  // namespace galen::node::cuda

#endif  // SERVICES_NODE_CHECKS_CUDA_GPUTEST_GPU_H_
