#ifndef TESTS_UNIT_SERVICES_NODE_CHECKS_CUDA_FAKE_MACHINE_H_
#define TESTS_UNIT_SERVICES_NODE_CHECKS_CUDA_FAKE_MACHINE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "services/node/checks/cuda/gputest/kernel_math.h"
#include "tests/unit/services/node/checks/cuda/fake_script.h"
#include "tests/unit/services/node/checks/cuda/ptx_text.h"

// The GPUs of the scripted driver, made of this machine's memory.
namespace galen::fake {

using namespace galen::node::cuda;  // NOLINT(google-build-using-namespace)

inline constexpr int kInvalidValue = 1;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kNotInitialized = 3;
inline constexpr int kNoDevice = 100;
inline constexpr int kInvalidDevice = 101;
inline constexpr int kInvalidPtx = 218;
inline constexpr int kNotFound = 500;
inline constexpr int kIllegalAddress = 700;
inline constexpr int kPeerAlreadyEnabled = 704;
inline constexpr int kPeerNotEnabled = 705;
inline constexpr int kTooManyPeers = 711;
inline constexpr int kUnknown = 999;

struct Device {
  int number = 0;
  unsigned char* arena = nullptr;
  std::uint64_t bytes = 0;
  std::map<std::uint64_t, std::uint64_t> used;  // offset: bytes
  double clock = 0;                             // seconds of work done
};

// Limit for the peers of a context over PCIe.
inline constexpr std::size_t kMostPeers = 8;

struct Context {
  int device = 0;
  std::set<Context*> peers;
};

struct Function {
  std::string name;
  std::vector<std::size_t> parameters;
};

struct Module {
  std::map<std::string, std::unique_ptr<Function>> functions;
};

struct Event {
  double at = 0;
};

class Driver {
 public:
  Driver() : script_(ReadScript()), fault_counts_(script_.faults.size(), 0) {
    for (unsigned i = 0; i < script_.gpus; ++i) {
      Device device;
      device.number = static_cast<int>(i);
      device.bytes = script_.mib << 20;
      void* const memory = mmap(nullptr, device.bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      device.arena = static_cast<unsigned char*>(memory);
      devices_.push_back(device);
    }
  }

  // Logs the objects that a process leaves behind when it returns from main; there should be none.
  ~Driver() {
    if (script_.log.empty()) return;
    std::size_t allocations = 0;
    for (const Device& device : devices_) allocations += device.used.size();
    std::ofstream log(script_.log, std::ios::app);
    log << "left " << allocations << " allocations " << pinned_.size() << " pinned "
        << contexts_.size() << " contexts\n";
  }

  const Script& script() const { return script_; }

  // Applies the script to this call; does not return from a call that hangs.
  int Enter(const char* call, int gpu) {
    for (std::size_t i = 0; i < script_.faults.size(); ++i) {
      const CallFault& fault = script_.faults[i];
      if (fault.call != call || (fault.gpu >= 0 && fault.gpu != gpu)) continue;
      if (fault_counts_[i]++ < fault.after) continue;
      while (fault.code < 0) pause();
      return fault.code;
    }
    if (gpu >= 0 && gpu == script_.overload_gpu && access(LostMark().c_str(), F_OK) == 0) {
      return kUnknown;
    }
    if (!initialized && std::strcmp(call, "cuInit") != 0) return kNotInitialized;
    return 0;
  }
  int Enter(const char* call) { return Enter(call, current == nullptr ? -1 : current->device); }

  Device* Find(int number) {
    return number >= 0 && number < static_cast<int>(devices_.size()) ? &devices_[number] : nullptr;
  }
  Device& Current() { return devices_[current->device]; }

  // The device whose memory all of [pointer, pointer + bytes) is allocated; nullptr when it is not.
  Device* Owner(std::uint64_t pointer, std::uint64_t bytes) {
    for (Device& device : devices_) {
      const auto base = reinterpret_cast<std::uint64_t>(device.arena);
      if (pointer < base || pointer + bytes > base + device.bytes) continue;
      for (const auto& [offset, size] : device.used) {
        if (pointer >= base + offset && pointer + bytes <= base + offset + size) return &device;
      }
    }
    return nullptr;
  }

  // Counts a launch towards the limit of the GPU.
  void Burden(int gpu) {
    if (gpu != script_.overload_gpu) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_launch_ >= std::chrono::milliseconds(1)) launches_without_rest_ = 0;
    last_launch_ = now;
    if (++launches_without_rest_ > script_.overload_launches) std::ofstream(LostMark()) << "lost";
  }

  // Bits that do not keep written values.
  void Stick(Device& device) {
    ++writes;
    for (const StuckBit& stuck : script_.stuck) {
      if (stuck.gpu != device.number || stuck.offset + 4 > device.bytes) continue;
      auto* const word = reinterpret_cast<unsigned*>(device.arena + stuck.offset / 4 * 4);
      *word = stuck.value != 0 ? *word | (1U << stuck.bit) : *word & ~(1U << stuck.bit);
    }
  }

  bool initialized = false;
  Context* current = nullptr;
  std::set<void*> pinned_;
  std::set<Context*> contexts_;
  std::uint64_t writes = 0;

 private:
  std::string LostMark() const { return script_.path + ".lost"; }

  const Script script_;
  std::chrono::steady_clock::time_point last_launch_;
  std::uint64_t launches_without_rest_ = 0;
  std::vector<std::uint64_t> fault_counts_;
  std::vector<Device> devices_;
};

inline Driver& TheDriver() {
  static Driver driver;
  return driver;
}

// Arguments of a launch, one after the other.
class Arguments {
 public:
  Arguments(const Function& function, void** values) : function_(function), values_(values) {}
  template <typename T>
  T Next() {
    T value = {};
    if (next_ < function_.parameters.size() && function_.parameters[next_] == sizeof(T)) {
      std::memcpy(&value, values_[next_], sizeof(T));
    } else {
      wrong_ = true;
    }
    ++next_;
    return value;
  }
  // Whether the kernel takes exactly these, by its PTX.
  bool right() const { return !wrong_ && next_ == function_.parameters.size(); }

 private:
  const Function& function_;
  void** values_;
  std::size_t next_ = 0;
  bool wrong_ = false;
};

// Runs a kernel by its name. Kernels are reimplemented here from the descriptions in the .cu files;
// they share only the words of patterns and the steps of a lane.
int Launch(Driver& driver, const Function& function, unsigned blocks, void** values);

}  // namespace galen::fake

#endif  // TESTS_UNIT_SERVICES_NODE_CHECKS_CUDA_FAKE_MACHINE_H_
