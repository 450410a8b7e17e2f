#ifndef TESTS_UNIT_SERVICES_NODE_CHECKS_CUDA_FAKE_SCRIPT_H_
#define TESTS_UNIT_SERVICES_NODE_CHECKS_CUDA_FAKE_SCRIPT_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

// The script of the driver (fake_cuda.cc), read from the file that GALEN_FAKE_CUDA names: one
// statement a line, words separated by spaces.
namespace galen::fake {

// "error CALL CODE GPU AFTER": call number AFTER (from 0) and later ones of CALL on that GPU
// (-1: any) give CODE. "hang CALL GPU AFTER": they never come back.
struct CallFault {
  std::string call;
  int code = 0;  // -1: hang
  int gpu = -1;
  std::uint64_t after = 0;
};

// "stuck GPU OFFSET BIT VALUE": the bit of the 32-bit word at that offset of the GPU's memory reads
// as VALUE whatever is written.
struct StuckBit {
  int gpu = 0;
  std::uint64_t offset = 0;
  unsigned bit = 0;
  unsigned value = 0;
};

// "sm GPU SM flip|nan": results of that SM are wrong.
struct BadSm {
  int gpu = 0;
  unsigned sm = 0;
  bool nan = false;
};

// "pair FROM TO slow|hang|corrupt|noaccess"
struct BadPair {
  int from = 0;
  int to = 0;
  std::string what;
};

struct Script {
  unsigned gpus = 2;                           // gpus N
  std::uint64_t mib = 16;                      // mib N: memory of each
  unsigned sms = 4;                            // sms N
  std::string name = "NVIDIA A100-SXM4-80GB";  // name REST OF LINE
  int capability = 80;                         // capability N
  std::string log;         // log PATH: objects left behind, one line for each process
  bool no_tensor = false;  // no_tensor: the driver refuses the module
  // rate GPU h2d|d2h|memory|gemm GB_PER_S: how fast, by the fake's own clock
  double h2d = 25;
  double d2h = 25;
  double memory = 1600;
  double peer = 280;
  double gflops = 18000;
  struct Slow {
    int gpu;
    std::string what;
    double factor;
  };
  std::vector<Slow> slow;  // slow GPU h2d|d2h|memory|gemm FACTOR
  std::vector<CallFault> faults;
  std::vector<StuckBit> stuck;
  std::vector<BadSm> bad_sms;
  std::vector<BadPair> bad_pairs;
  // overload GPU LAUNCHES: the GPU is lost, to every process from then on, after so many launches
  // without a rest of a millisecond.
  int overload_gpu = -1;
  std::uint64_t overload_launches = 0;
  std::string path;          // of the script
  double power = 390;        // power WATTS under load
  double power_limit = 400;  // power_limit WATTS

  double Factor(int gpu, const std::string& what) const;
  const BadPair* PairOf(int from, int to) const;
};

Script ReadScript();

}  // namespace galen::fake

#endif  // TESTS_UNIT_SERVICES_NODE_CHECKS_CUDA_FAKE_SCRIPT_H_
