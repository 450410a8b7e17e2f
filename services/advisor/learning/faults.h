#ifndef SERVICES_ADVISOR_LEARNING_FAULTS_H_
#define SERVICES_ADVISOR_LEARNING_FAULTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

// Classifies the failure history of a machine or device.
namespace galen::advisor {

// Benson, section 3.1.
enum class FaultKind {
  kUnknown,     // too little is known
  kHealthy,     // it does not fail more than others
  kTransient,   // it failed, and the same work ran on it afterwards: a rerun is enough
  kGray,        // it fails with some workloads and not with others: keep those away from it
  kPersistent,  // it fails with every workload: take it out of service
};
absl::string_view ToString(FaultKind kind);

// The runs on one device and whether they failed there. The kMost workloads that ran most are
// counted separately (Misra and Gries, 1982); counts that the others lose are kept in the sums.
class DeviceHistory {
 public:
  static constexpr std::size_t kMost = 8;
  void Add(std::uint32_t workload, bool failed);

  std::int64_t runs() const { return runs_; }
  std::int64_t failures() const { return failures_; }
  // One bit for each of the last 64 runs: 1 for a failure, the newest in the lowest bit.
  std::uint64_t last() const { return last_; }

  struct Work {
    std::uint32_t workload = 0;
    std::uint32_t runs = 0;
    double failures = 0;  // of `runs`: lost counts are lost for both alike
  };
  const std::vector<Work>& work() const { return work_; }

 private:
  std::int64_t runs_ = 0;
  std::int64_t failures_ = 0;
  std::uint64_t last_ = 0;
  std::vector<Work> work_;
};

struct FaultVerdict {
  FaultKind kind = FaultKind::kUnknown;
  // Probability of this many failures or more if the device were as good as the fleet.
  double p = 1;
  std::vector<std::uint32_t> workloads;  // of kGray: the workloads with which it fails
  std::string reason;
};

// Classifies the history, given the average failure rate of a run on a device of the fleet.
// `alpha`: of each test. Pure.
FaultVerdict TellFault(const DeviceHistory& history, double fleet_rate, double alpha = 0.001);

// Histories of the machines of a fleet, at most `most`; further machines are counted and left out.
// A machine is compared with the others of the same context, in each context that it was in: if all
// machines fail more, or did before an upgrade, no machine is a lemon.
class FleetHistory {
 public:
  explicit FleetHistory(std::size_t most = 1 << 17) : most_(most) {}
  // Contexts of a machine that are counted separately: the most recent ones.
  static constexpr std::size_t kMostContexts = 8;
  // One completed run that used the machine; `failed`: the failure is attributed to this machine.
  void Add(absl::string_view node, std::uint32_t context, std::uint32_t workload, bool failed);

  const DeviceHistory* Find(absl::string_view node) const;
  // The failure rate of a run on the other machines, in the contexts of this one, weighted by its
  // runs in each.
  double RateBeside(absl::string_view node) const;
  std::size_t nodes() const { return nodes_.size(); }
  std::int64_t left_out() const { return left_out_; }

  struct Lemon {
    std::string node;
    std::int64_t runs = 0;
    std::int64_t failures = 0;
    FaultVerdict verdict;
  };
  // Machines that fail more than the others of their context, worst first; on average at most a
  // share of `q` of them are not worse (after Kokolis et al., "Revisiting Reliability in
  // Large-Scale Machine Learning Research Clusters", lemon nodes). At least `least_failures` each.
  std::vector<Lemon> Lemons(double q = 0.05, std::int64_t least_failures = 3) const;

 private:
  struct Sum {
    std::int64_t runs = 0;
    std::int64_t failures = 0;
  };
  using Sums = absl::flat_hash_map<std::uint32_t, Sum>;
  struct Node {
    DeviceHistory history;
    std::vector<std::pair<std::uint32_t, Sum>> contexts;  // the last one at the end
  };
  static double RateBeside(const Node& node, const Sums& sums);
  // The probability of at least this many failures if the machine were like the others of each
  // context.
  static double TailBeside(const Node& node, const Sums& sums);
  Sums SumsOfContexts() const;

  const std::size_t most_;
  absl::flat_hash_map<std::string, Node> nodes_;
  std::int64_t left_out_ = 0;
};

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_LEARNING_FAULTS_H_
