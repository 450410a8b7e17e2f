#include "common/perfmodel/collective.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace galen::perfmodel {
namespace {

constexpr std::array<std::pair<Collective, absl::string_view>, 6> kNames = {{
    {Collective::kAllReduce, "all_reduce"},
    {Collective::kAllGather, "all_gather"},
    {Collective::kReduceScatter, "reduce_scatter"},
    {Collective::kAllToAll, "all_to_all"},
    {Collective::kBroadcast, "broadcast"},
    {Collective::kSendReceive, "send_receive"},
}};

}  // namespace

absl::string_view ToString(Collective kind) {
  for (const auto& [one, name] : kNames) {
    if (one == kind) return name;
  }
  return "";
}

std::optional<Collective> CollectiveNamed(absl::string_view name) {
  for (const auto& [one, its] : kNames) {
    if (its == name) return one;
  }
  return std::nullopt;
}

double BusFactor(Collective kind, std::int64_t ranks) {
  if (ranks < 2) return 0;
  const auto n = static_cast<double>(ranks);
  switch (kind) {
    case Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return (n - 1) / n;
    case Collective::kBroadcast:
    case Collective::kSendReceive:
      return 1;
  }
  return 1;
}

absl::StatusOr<Bottleneck> BottleneckOf(const Machine& machine, Collective kind,
                                        const Group& group) {
  const double volume = BusFactor(kind, group.ranks);
  const std::int64_t nodes = group.Nodes();
  const std::string links = machine.links.empty() ? "pcie" : machine.links;
  const double link = machine.links.empty()              ? machine.host
                      : kind == Collective::kSendReceive ? machine.pair
                                                         : machine.link;
  const bool switched = kind == Collective::kAllReduce && machine.adds_in_switch &&
                        group.local > 2 && machine.links == "nvlink";
  Bottleneck within = {absl::StrCat(switched ? "switch." : "ring.", links), link, volume, 0};
  if (group.local > 1 && link <= 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        machine.gpu, ": knowledge/hardware knows neither its links nor its PCIe generation"));
  }
  if (nodes < 2) return within;
  if (machine.nics <= 0) {
    return absl::FailedPreconditionError(
        "machine: nics: is missing; traffic between nodes needs the adapters' rate (nics=8x400)");
  }
  // The ranks of a group share the node's adapters in proportion; a ring leaves the node once for
  // each.
  const auto gpus = static_cast<double>(std::max<std::int64_t>(machine.gpus_per_node, 1));
  const double adapters = machine.nics * std::min(1.0, static_cast<double>(group.local) / gpus);
  const std::string net = absl::StrCat("net.", machine.fabric.empty() ? "any" : machine.fabric);
  const bool all_to_all = kind == Collective::kAllToAll;
  const std::int64_t around = (nodes - 1) * (kind == Collective::kAllReduce ? 2 : 1);
  Bottleneck between = {net, adapters, volume, around};
  if (kind == Collective::kSendReceive) between = {net, machine.nics / gpus, volume, 1};
  if (all_to_all) {
    // All traffic for another node passes the adapters, which its ranks share.
    const double abroad = 1 - static_cast<double>(group.local) / static_cast<double>(group.ranks);
    between = {net, adapters / static_cast<double>(group.local), abroad, 1};
  }
  if (switched) {
    // Nodes reduce internally, then exchange one copy each.
    const auto tree = static_cast<std::int64_t>(std::ceil(std::log2(static_cast<double>(nodes))));
    between.volume = BusFactor(kind, nodes);
    between.hops = 2 * tree;
  }
  const double in_seconds = group.local > 1 ? within.volume / within.rate : 0;
  if (in_seconds > between.volume / between.rate) {
    within.hops = between.hops;
    return within;
  }
  return between;
}

absl::StatusOr<double> CollectiveSeconds(const Machine& machine, Collective kind,
                                         const Group& group, double bytes, const Factors& factors) {
  if (group.ranks < 2) return 0.0;
  GALEN_ASSIGN_OR_RETURN(const Bottleneck held, BottleneckOf(machine, kind, group));
  GALEN_ASSIGN_OR_RETURN(const double share, factors.At(held.factor));
  GALEN_ASSIGN_OR_RETURN(double latency, factors.At("latency.node"));
  if (held.hops > 0) {
    GALEN_ASSIGN_OR_RETURN(const double hop, factors.At("latency.net"));
    latency += hop * static_cast<double>(held.hops);
  }
  return latency + bytes * held.volume / (held.rate * share);
}

}  // namespace galen::perfmodel
