#ifndef COMMON_PERFMODEL_COLLECTIVE_H_
#define COMMON_PERFMODEL_COLLECTIVE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/perfmodel/factors.h"
#include "common/perfmodel/machine.h"

namespace galen::perfmodel {

enum class Collective {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kSendReceive
};

absl::string_view ToString(Collective kind);
std::optional<Collective> CollectiveNamed(absl::string_view name);  // "all_reduce"

// The participants: `local` ranks of a node, and this many nodes.
struct Group {
  std::int64_t ranks = 1;
  std::int64_t local = 1;
  std::int64_t Nodes() const { return (ranks + local - 1) / local; }
};

// Bytes that cross a rank's link for each byte of the collective's size: 2 (n-1) / n for an
// all-reduce, (n-1) / n for gathering, scattering or exchanging, 1 for a broadcast (nccl-tests,
// doc/PERFORMANCE.md). The size is the one that nccl-tests prints: all ranks' together for a
// gather.
double BusFactor(Collective kind, std::int64_t ranks);

// The slowest part of a collective's path.
struct Bottleneck {
  std::string factor;     // the factor whose share of `rate` is reached: "ring.nvlink"
  double rate = 0;        // bytes a second of one rank, by the data sheet
  double volume = 0;      // bytes that cross there for each byte of size
  std::int64_t hops = 0;  // from node to node, one after another
};

// A ring of all ranks, or, if the switch of the links adds up, a tree of nodes over it: the faster
// one by the data sheets (../shared/facts/hardware.yaml, rules: with NVLS and trees the bus
// bandwidth exceeds the wire's). FAILED_PRECONDITION: the links or adapters are unknown.
absl::StatusOr<Bottleneck> BottleneckOf(const Machine& machine, Collective kind,
                                        const Group& group);

// Seconds of one collective of `bytes`: alpha + bytes * beta. A group of one takes none.
absl::StatusOr<double> CollectiveSeconds(const Machine& machine, Collective kind,
                                         const Group& group, double bytes, const Factors& factors);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_COLLECTIVE_H_
