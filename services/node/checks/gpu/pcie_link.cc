#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "services/node/checks/gpu/amd_state.h"
#include "services/node/checks/gpu/checks.h"
#include "services/node/checks/gpu/gpu_findings.h"
#include "services/node/checks/gpu/gpu_query.h"
#include "services/node/checks/gpu/pci_devices.h"

namespace galen::node {
namespace {

// GPUs lower their PCIe generation to save power when idle, and never the width. Computing goes on
// in P0 to P3: cards for desktops and workstations stay in P2 while CUDA runs, at full link speed
// (forums.developer.nvidia.com/t/remove-p2-forced-state-from-drivers/241998).
// AMD has no performance states; its links rest with the GPU.
bool MaySaveLinkPower(const Gpu& gpu) {
  if (gpu.utilization.value_or(0) == 0) return true;
  const std::string& state = gpu.performance_state;
  const bool computes = state == "P0" || state == "P1" || state == "P2" || state == "P3";
  return gpu.vendor != "AMD" && !computes;
}

std::optional<bool> Downgraded(const Gpu& gpu) {
  const GpuPcie& link = gpu.pcie;
  if (!link.width_current.has_value() || !link.width_max.has_value()) return std::nullopt;
  if (*link.width_current < *link.width_max) return true;
  if (!link.gen_current.has_value() || !link.gen_max.has_value()) return std::nullopt;
  if (*link.gen_current >= *link.gen_max) return false;
  if (MaySaveLinkPower(gpu)) return std::nullopt;
  return true;
}

// The most common value among the GPUs of one model, the greater of two that are equally common;
// unknown where there are no two such GPUs.
template <typename Value>
std::optional<std::int64_t> Usual(const Gpu& gpu, const std::vector<Gpu>& gpus, Value value) {
  std::map<std::int64_t, int> counts;
  int peers = 0;
  for (const Gpu& other : gpus) {
    const std::optional<std::int64_t> of_other = value(other);
    if (other.product != gpu.product || !of_other.has_value()) continue;
    ++counts[*of_other];
    ++peers;
  }
  if (peers < 2) return std::nullopt;
  const auto most = std::max_element(
      counts.begin(), counts.end(),
      [](const auto& left, const auto& right) { return left.second <= right.second; });
  return most->first;
}

std::optional<bool> PeersDiffer(const Gpu& gpu, const std::vector<Gpu>& gpus) {
  std::optional<bool> differs;
  const auto compare = [&](auto value) {
    const std::optional<std::int64_t> own = value(gpu);
    const std::optional<std::int64_t> usual = Usual(gpu, gpus, value);
    if (own.has_value() && usual.has_value()) {
      differs = differs.value_or(false) || *own != *usual;
    }
  };
  compare([](const Gpu& g) { return g.pcie.width_current; });
  compare([](const Gpu& g) { return g.pcie.gen_max; });
  return differs;
}

// A link of the chain from the GPU to the CPU that is narrower than both its ends are.
struct Bottleneck {
  std::string upper;  // the port
  std::string lower;  // what is behind it
  std::int64_t width = 0;
  std::int64_t width_max = 0;
};

// Fills in a device's link from sysfs, if lspci was not allowed to see it.
void CompleteFromSysfs(const host::Host& host, PciDevice& device) {
  const auto read = [&](const char* file) -> std::optional<double> {
    const auto content =
        host.ReadFile(absl::StrCat("/sys/bus/pci/devices/", device.address, "/", file));
    return content.ok() ? LeadingNumber(*content) : std::nullopt;
  };
  const auto lanes = [&](const char* file) -> std::optional<std::int64_t> {
    const auto width = read(file);
    // An unconnected port says 255.
    if (!width.has_value() || *width <= 0 || *width > 64) return std::nullopt;
    return static_cast<std::int64_t>(*width);
  };
  if (!device.link_width.has_value()) device.link_width = lanes("current_link_width");
  if (!device.link_width_max.has_value()) device.link_width_max = lanes("max_link_width");
  if (!device.link_gen.has_value()) device.link_gen = PcieGeneration(read("current_link_speed"));
  if (!device.link_gen_max.has_value())
    device.link_gen_max = PcieGeneration(read("max_link_speed"));
}

// The ends of the links between the GPU and the root complex, the GPU first: a switch has an end
// on each side.
std::vector<PciDevice> ChainOf(const host::Host& host, const Gpu& gpu,
                               const std::vector<PciDevice>& devices) {
  std::vector<PciDevice> chain;
  PciDevice own;
  own.address = gpu.pci_address;
  for (const PciDevice& device : devices) {
    if (device.address == gpu.pci_address) own = device;
  }
  chain.push_back(std::move(own));
  for (const PciDevice* const bridge : BridgesAbove(gpu.pci_address, devices)) {
    chain.push_back(*bridge);
  }
  for (PciDevice& device : chain) CompleteFromSysfs(host, device);
  return chain;
}

// Whether the device at `i` of the chain and the one above it are the two sides of one switch,
// between which there is no link.
bool WithinSwitch(const std::vector<PciDevice>& chain, std::size_t i) {
  const std::string& kind = chain[i].express_kind;
  if (!kind.empty()) return kind == "Downstream Port";
  // Not reported without root: below the root port, the two sides of switches alternate.
  const std::size_t depth = chain.size() - 1 - i;
  return i > 0 && depth > 0 && depth % 2 == 0;
}

// The narrowest such link; a slot that is built narrower than its card shows, too, as the card's
// own width then is below its maximum, which is judged apart.
std::optional<Bottleneck> FindBottleneck(const std::vector<PciDevice>& chain) {
  std::optional<Bottleneck> worst;
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
    if (WithinSwitch(chain, i)) continue;
    const PciDevice& lower = chain[i];
    const PciDevice& upper = chain[i + 1];
    if (!lower.link_width.has_value() || !lower.link_width_max.has_value() ||
        !upper.link_width_max.has_value()) {
      continue;
    }
    const std::int64_t possible = std::min(*lower.link_width_max, *upper.link_width_max);
    if (*lower.link_width >= possible || *lower.link_width <= 0) continue;
    if (worst.has_value() && worst->width <= *lower.link_width) continue;
    worst = Bottleneck{.upper = upper.address,
                       .lower = lower.address,
                       .width = *lower.link_width,
                       .width_max = possible};
  }
  return worst;
}

// Whether some link of the chain is narrow; unknown where no link above the GPU is known.
std::optional<bool> ChainNarrow(const std::vector<PciDevice>& chain,
                                const std::optional<Bottleneck>& bottleneck) {
  if (bottleneck.has_value()) return true;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (chain[i].link_width.has_value() && chain[i].link_width_max.has_value()) return false;
  }
  return std::nullopt;
}

std::string LinkText(const GpuPcie& link) {
  const auto text = [](const std::optional<std::int64_t>& value) {
    return value.has_value() ? absl::StrCat(*value) : std::string("?");
  };
  return absl::StrCat("gen ", text(link.gen_current), " of ", text(link.gen_max), ", x",
                      text(link.width_current), " of x", text(link.width_max));
}

std::optional<std::int64_t> WholeFact(const knowledge::Knowledge& knowledge,
                                      absl::string_view product, absl::string_view name) {
  const std::optional<double> fact = HardwareFact(knowledge, product, name);
  if (!fact.has_value()) return std::nullopt;
  return static_cast<std::int64_t>(*fact);
}

// The number of a GPU that no driver numbered.
constexpr int kUnnumbered = -1;

// The GPUs whose links lspci shows. Their load and their numbers are unknown.
GpuState GpusOfBus(const std::vector<PciDevice>& devices) {
  GpuState state;
  for (const PciDevice& device : devices) {
    const bool nvidia = IsNvidiaGpu(device);
    if ((!nvidia && !IsAmdGpu(device)) || BelongsToGuest(device) || device.dead ||
        !device.link_width.has_value()) {
      continue;
    }
    Gpu& gpu = state.gpus.emplace_back();
    gpu.index = kUnnumbered;
    gpu.vendor = nvidia ? "NVIDIA" : "AMD";
    // Cards of one model are compared with each other.
    gpu.product = device.device_id.empty() ? device.address
                                           : absl::StrCat(device.vendor, ":", device.device_id);
    gpu.pci_address = device.address;
    gpu.pcie.gen_current = device.link_gen;
    gpu.pcie.gen_max = device.link_gen_max;
    gpu.pcie.width_current = device.link_width;
    gpu.pcie.width_max = device.link_width_max;
  }
  return state;
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuPcieLink(const CheckContext& context) {
  absl::StatusOr<GpuState> asked = QueryGpus(context.host);
  const absl::StatusOr<std::vector<PciDevice>> devices = ListPciDevices(context.host);
  if (!asked.ok() && devices.ok()) {
    GpuState of_bus = GpusOfBus(*devices);
    if (!of_bus.gpus.empty()) asked = std::move(of_bus);
  }
  GALEN_ASSIGN_OR_RETURN(GpuState state, std::move(asked));
  GpuFindings findings(context);
  Sentence sentence("GPU", state.gpus.size());
  for (Gpu& gpu : state.gpus) {
    const bool numbered = gpu.index != kUnnumbered;
    const v1::Device subject = numbered ? findings.Of(gpu) : findings.OfPci(gpu.pci_address);
    const std::vector<PciDevice> chain =
        devices.ok() ? ChainOf(context.host, gpu, *devices) : std::vector<PciDevice>();
    const std::optional<Bottleneck> bottleneck = FindBottleneck(chain);
    // The model's data sheet, if the device was not queried.
    if (!gpu.pcie.width_max.has_value()) {
      gpu.pcie.width_max = WholeFact(context.knowledge, gpu.product, "pcie_width");
    }
    if (!gpu.pcie.gen_max.has_value()) {
      gpu.pcie.gen_max = WholeFact(context.knowledge, gpu.product, "pcie_gen");
    }
    const auto add = [&](absl::string_view name, const std::optional<std::int64_t>& value,
                         const std::optional<std::int64_t>& best) {
      v1::Finding& finding = findings.Int(name, subject, value);
      if (best.has_value()) finding.set_expected(absl::StrCat(*best));
    };
    add("gen_current", gpu.pcie.gen_current, gpu.pcie.gen_max);
    add("gen_max", gpu.pcie.gen_max, std::nullopt);
    add("width_current", gpu.pcie.width_current, gpu.pcie.width_max);
    add("width_max", gpu.pcie.width_max, std::nullopt);
    const std::optional<bool> narrow = ChainNarrow(chain, bottleneck);
    std::optional<bool> downgraded = Downgraded(gpu);
    if (narrow.value_or(false)) downgraded = true;
    const std::optional<bool> differs = PeersDiffer(gpu, state.gpus);
    findings.Bool("downgraded", subject, downgraded).set_expected("false");
    findings.Bool("upstream_downgraded", subject, narrow).set_expected("false");
    findings.Bool("peers_differ", subject, differs).set_expected("false");
    if (downgraded.value_or(false) || differs.value_or(false)) {
      const std::string text = absl::StrCat(
          LinkText(gpu.pcie),
          bottleneck.has_value()
              ? absl::StrCat(", the link from ", bottleneck->upper, " to ", bottleneck->lower,
                             " is x", bottleneck->width, " of x", bottleneck->width_max)
              : std::string(),
          differs.value_or(false) ? ", unlike its siblings" : "");
      if (numbered) {
        sentence.Special(gpu, text);
      } else {
        sentence.Special(gpu.pci_address, text);
      }
    }
  }
  if (!findings.any_known()) {
    return absl::FailedPreconditionError("no GPU of this node reports its PCIe link");
  }
  return std::move(findings).Finish(
      sentence, "the full PCIe width, generation full or lowered while idle",
      ExcerptOfFirst(state, "pci_gpu_link_info",
                     [](const Gpu& gpu) { return Downgraded(gpu).value_or(false); }));
}

}  // namespace galen::node
