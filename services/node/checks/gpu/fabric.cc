#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"
#include "services/node/checks/gpu/amd_state.h"
#include "services/node/checks/gpu/checks.h"
#include "services/node/checks/gpu/gpu_findings.h"
#include "services/node/checks/gpu/gpu_query.h"
#include "services/node/checks/gpu/nvidia_smi.h"
#include "services/node/checks/gpu/pci_devices.h"
#include "services/node/checks/gpu/topology_matrix.h"

namespace galen::node {
namespace {

// "In Progress" becomes "IN_PROGRESS".
std::optional<std::string> EnumValue(absl::string_view text) {
  if (text.empty()) return std::nullopt;
  return absl::AsciiStrToUpper(absl::StrReplaceAll(text, {{" ", "_"}}));
}

bool FabricFine(const Gpu& gpu) {
  return gpu.fabric.state == "Completed" &&
         (gpu.fabric.status.empty() || gpu.fabric.status == "Success") &&
         !gpu.fabric.health_bad.value_or(false);
}

bool SameSwitch(absl::string_view relation) { return relation == "PIX" || relation == "PXB"; }

bool ThroughHost(absl::string_view relation) {
  return relation == "PHB" || relation == "NODE" || relation == "SYS";
}

struct PairCounts {
  std::int64_t over_nvlink = 0;
  std::int64_t through_host = 0;
};

PairCounts CountPairs(const TopologyMatrix& matrix) {
  PairCounts counts;
  for (std::size_t i = 0; i < matrix.gpus.size(); ++i) {
    for (std::size_t j = i + 1; j < matrix.gpus.size(); ++j) {
      const std::string relation = matrix.Relation(matrix.gpus[i], matrix.gpus[j]);
      counts.over_nvlink += NvlinksOf(relation) > 0 ? 1 : 0;
      counts.through_host += ThroughHost(relation) ? 1 : 0;
    }
  }
  return counts;
}

// Whether the GPUs have unlike numbers of NVLinks in all.
std::optional<bool> PeersDiffer(const TopologyMatrix& matrix) {
  if (matrix.gpus.size() < 2) return std::nullopt;
  std::set<int> sums;
  for (const std::string& gpu : matrix.gpus) {
    int sum = 0;
    for (const std::string& other : matrix.gpus) sum += NvlinksOf(matrix.Relation(gpu, other));
    sums.insert(sum);
  }
  return sums.size() > 1;
}

// Whether a GPU has an adapter behind its own PCIe switch. If no GPU has one, the machine may be
// designed that way, and nothing can be concluded unless there is an adapter for each GPU.
std::optional<bool> NearestNicOk(const TopologyMatrix& matrix, const std::string& gpu) {
  if (matrix.nics.empty()) return std::nullopt;
  const auto near_some = [&](const std::string& name) {
    return std::any_of(matrix.nics.begin(), matrix.nics.end(), [&](const std::string& nic) {
      return SameSwitch(matrix.Relation(name, nic));
    });
  };
  if (near_some(gpu)) return true;
  const bool others_have = std::any_of(matrix.gpus.begin(), matrix.gpus.end(), near_some);
  if (others_have && matrix.nics.size() >= matrix.gpus.size()) return false;
  return std::nullopt;
}

std::optional<bool> HasNvSwitch(const host::Host& host, const absl::StatusOr<GpuState>& state) {
  const auto devices = ListPciDevices(host);
  if (devices.ok() && std::any_of(devices->begin(), devices->end(), IsNvSwitch)) return true;
  // A rack's switches are in other machines; its GPUs register with the fabric all the same.
  if (state.ok() && std::any_of(state->gpus.begin(), state->gpus.end(),
                                [](const Gpu& gpu) { return !gpu.fabric.state.empty(); })) {
    return true;
  }
  if (devices.ok() && state.ok()) return false;
  return std::nullopt;
}

// AMD's tool reports for each pair of GPUs whether XGMI connects it.
absl::StatusOr<CheckOutput> AmdTopology(const CheckContext& context, const GpuState& state) {
  std::int64_t pairs = 0;
  std::int64_t through_host = 0;
  std::set<std::size_t> peers;
  for (const Gpu& gpu : state.gpus) {
    std::size_t connected = 0;
    for (const auto& [peer, up] : gpu.xgmi.up) {
      connected += up.value_or(false) ? 1 : 0;
      if (peer <= gpu.index) continue;
      ++pairs;
      through_host += up.value_or(true) ? 0 : 1;
    }
    peers.insert(connected);
  }
  if (pairs == 0) {
    return absl::FailedPreconditionError("no pair of GPUs whose connection is told");
  }
  GpuFindings findings(context);
  findings.Bool("peers_differ", findings.Node(), peers.size() > 1).set_expected("false");
  findings.Int("p2p_pairs_through_host", findings.Node(), through_host);
  return std::move(findings).Finish(
      absl::StrCat(Count(static_cast<std::int64_t>(state.gpus.size()), "GPU"), ": ",
                   pairs - through_host, " of ", Count(pairs, "pair"), " over XGMI, ", through_host,
                   " through the host"),
      "");
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuFabricState(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const GpuState state, QueryNvidia(context.host));
  GpuFindings findings(context);
  Sentence sentence("GPU", state.gpus.size());
  for (const Gpu& gpu : state.gpus) {
    const v1::Device subject = findings.Of(gpu);
    findings.Text("state", subject, EnumValue(gpu.fabric.state)).set_expected("COMPLETED");
    findings.Text("status", subject, EnumValue(gpu.fabric.status)).set_expected("SUCCESS");
    findings.Bool("health_mask_bad", subject, gpu.fabric.health_bad).set_expected("false");
    if (gpu.fabric.state.empty()) {
      sentence.Special(gpu, "reports no fabric state");
    } else if (!FabricFine(gpu)) {
      sentence.Special(
          gpu, absl::StrCat("fabric state ", gpu.fabric.state,
                            gpu.fabric.status.empty() ? "" : ", status ", gpu.fabric.status,
                            gpu.fabric.health_bad.value_or(false) ? ", health mask bad" : ""));
    }
  }
  if (!findings.any_known()) {
    return absl::FailedPreconditionError(
        "no GPU of this node reports an NVSwitch fabric (that came with Hopper)");
  }
  return std::move(findings).Finish(
      sentence, "registered with the NVSwitch fabric",
      ExcerptOfFirst(state, "fabric", [](const Gpu& gpu) { return !FabricFine(gpu); }));
}

absl::StatusOr<CheckOutput> CheckGpuTopology(const CheckContext& context) {
  const absl::StatusOr<std::string> answer = NvidiaSmiOutput(context.host, "topo -m");
  if (absl::IsNotFound(answer.status()) || absl::IsUnavailable(answer.status())) {
    const absl::StatusOr<GpuState> amd = QueryAmd(context.host);
    return amd.ok() ? AmdTopology(context, *amd) : answer.status();
  }
  GALEN_RETURN_IF_ERROR(answer.status());
  const std::string& output = *answer;
  GALEN_ASSIGN_OR_RETURN(const TopologyMatrix matrix, ParseTopologyMatrix(output));
  GALEN_ASSIGN_OR_RETURN(const host::CommandResult result, RunNvidiaSmi(context.host, "topo -m"));
  const absl::StatusOr<GpuState> state = QueryNvidia(context.host);
  const PairCounts pairs = CountPairs(matrix);
  const double seconds = absl::ToDoubleSeconds(result.duration);
  GpuFindings findings(context);
  findings.Bool("has_nvswitch", findings.Node(), HasNvSwitch(context.host, state));
  findings.Int("nvlink_pairs", findings.Node(), pairs.over_nvlink);
  findings.Bool("peers_differ", findings.Node(), PeersDiffer(matrix)).set_expected("false");
  findings.Float("topo_duration_s", findings.Node(), seconds);
  findings.Int("p2p_pairs_through_host", findings.Node(), pairs.through_host);
  std::vector<std::string> far;
  for (std::size_t i = 0; i < matrix.gpus.size(); ++i) {
    Gpu gpu;
    gpu.index = static_cast<int>(i);
    if (state.ok() && i < state->gpus.size()) gpu = state->gpus[i];
    const std::optional<bool> near = NearestNicOk(matrix, matrix.gpus[i]);
    findings.Bool("nearest_nic_ok", findings.Of(gpu), near).set_expected("true");
    if (near.has_value() && !*near) far.push_back(matrix.gpus[i]);
  }
  const auto gpus = static_cast<std::int64_t>(matrix.gpus.size());
  std::string message =
      absl::StrCat(Count(gpus, "GPU"), ": ", pairs.over_nvlink, " of ",
                   Count(gpus * (gpus - 1) / 2, "pair"), " over NVLink, ", pairs.through_host,
                   " through the host; the query took ", Short(seconds), " s");
  if (!far.empty()) {
    absl::StrAppend(&message, "; no adapter behind the switch of ", absl::StrJoin(far, ", "));
  }
  return std::move(findings).Finish(std::move(message), output);
}

}  // namespace galen::node
