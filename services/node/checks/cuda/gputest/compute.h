#ifndef SERVICES_NODE_CHECKS_CUDA_GPUTEST_COMPUTE_H_
#define SERVICES_NODE_CHECKS_CUDA_GPUTEST_COMPUTE_H_

#include <cstdint>
#include <map>
#include <vector>

#include "services/node/checks/cuda/gputest/gpu.h"

namespace galen::node::cuda {

// Work for all SMs whose every result is known, again and again the same few inputs.
class KnownWork {
 public:
  explicit KnownWork(Gpu& gpu);

  // Launches one piece: ordinary and tensor cores in turn where there are both.
  void Launch();
  // Compares what was launched last; after a wait.
  void Compare();

  struct Wrong {
    std::uint64_t mismatches = 0;  // blocks
    std::uint64_t not_finite = 0;  // lanes
  };
  const std::map<unsigned, Wrong>& wrong_by_sm() const { return wrong_; }
  std::uint64_t mismatches() const { return mismatches_; }
  std::uint64_t not_finite() const { return not_finite_; }
  std::uint64_t blocks() const { return compared_; }
  std::uint64_t launches() const { return launches_; }
  unsigned sms_seen() const { return sms_seen_; }

 private:
  Gpu& gpu_;
  const unsigned blocks_;
  CuPointer results_ = 0;
  CuPointer tile_a_ = 0;
  CuPointer tile_b_ = 0;
  BlockResult* seen_ = nullptr;  // pinned
  std::vector<unsigned> seeds_;
  std::vector<unsigned long long> expected_compute_;  // of each seed
  unsigned long long expected_tensor_ = 0;
  unsigned long long expected_ = 0;  // of what was launched last
  std::vector<bool> sm_seen_;
  unsigned sms_seen_ = 0;
  std::uint64_t launches_ = 0;
  std::uint64_t compared_ = 0;
  std::uint64_t mismatches_ = 0;
  std::uint64_t not_finite_ = 0;
  std::map<unsigned, Wrong> wrong_;
};

}  // namespace galen::node::cuda

#endif  // SERVICES_NODE_CHECKS_CUDA_GPUTEST_COMPUTE_H_
