#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "services/node/checks/gpu/checks.h"
#include "services/node/checks/gpu/gpu_findings.h"
#include "services/node/checks/gpu/kernel_lines.h"
#include "services/node/checks/gpu/nvidia_smi.h"
#include "services/node/checks/gpu/pci_devices.h"

namespace galen::node {
namespace {

// Idle GPUs lower their PCIe generation to save power, and never the width.
bool MaySaveLinkPower(const Gpu& gpu) {
  return gpu.performance_state != "P0" || gpu.utilization.value_or(0) == 0;
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

std::string LinkText(const GpuPcie& link) {
  const auto text = [](const std::optional<std::int64_t>& value) {
    return value.has_value() ? absl::StrCat(*value) : std::string("?");
  };
  return absl::StrCat("gen ", text(link.gen_current), " of ", text(link.gen_max), ", x",
                      text(link.width_current), " of x", text(link.width_max));
}

// Sum of the corrected errors that the kernel counted for a device.
std::optional<std::int64_t> CorrectedErrors(const host::Host& host, const std::string& address,
                                            const absl::StatusOr<KernelPciEvents>& events) {
  const auto file =
      host.ReadFile(absl::StrCat("/sys/bus/pci/devices/", address, "/aer_dev_correctable"));
  if (file.ok()) {
    for (absl::string_view line : absl::StrSplit(*file, '\n')) {
      if (absl::ConsumePrefix(&line, "TOTAL_ERR_COR")) return LeadingInteger(line);
    }
  }
  // No line in the log is no proof: firmware may keep the reports to itself.
  if (!events.ok()) return std::nullopt;
  const auto logged = events->aer_corrected.find(address);
  if (logged == events->aer_corrected.end()) return std::nullopt;
  return logged->second;
}

std::optional<std::int64_t> UncorrectedErrors(const std::string& address,
                                              const absl::StatusOr<KernelPciEvents>& events) {
  if (!events.ok()) return std::nullopt;
  const auto logged = events->aer_uncorrected.find(address);
  if (logged == events->aer_uncorrected.end()) return std::nullopt;
  return logged->second;
}

// The port above a GPU: the bridge behind which its bus lies; "" when lspci does not tell.
std::string PortAbove(const Gpu& gpu, const std::vector<PciDevice>& devices) {
  const std::vector<std::string> parts = absl::StrSplit(gpu.pci_address, ':');
  if (parts.size() != 3) return "";
  for (const PciDevice& device : devices) {
    if (!device.secondary_bus.empty() && device.secondary_bus == parts[1] &&
        absl::StartsWith(device.address, absl::StrCat(parts[0], ":"))) {
      return device.address;
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuPcieLink(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const GpuState state, QueryGpus(context.host));
  GpuFindings findings(context);
  Sentence sentence("GPU", state.gpus.size());
  for (const Gpu& gpu : state.gpus) {
    const v1::Device subject = findings.Of(gpu);
    const auto add = [&](absl::string_view name, const std::optional<std::int64_t>& value,
                         const std::optional<std::int64_t>& best) {
      v1::Finding& finding = findings.Int(name, subject, value);
      if (best.has_value()) finding.set_expected(absl::StrCat(*best));
    };
    add("gen_current", gpu.pcie.gen_current, gpu.pcie.gen_max);
    add("gen_max", gpu.pcie.gen_max, std::nullopt);
    add("width_current", gpu.pcie.width_current, gpu.pcie.width_max);
    add("width_max", gpu.pcie.width_max, std::nullopt);
    const std::optional<bool> downgraded = Downgraded(gpu);
    const std::optional<bool> differs = PeersDiffer(gpu, state.gpus);
    findings.Bool("downgraded", subject, downgraded).set_expected("false");
    findings.Bool("peers_differ", subject, differs).set_expected("false");
    if (downgraded.value_or(false) || differs.value_or(false)) {
      sentence.Special(gpu, absl::StrCat(LinkText(gpu.pcie),
                                         differs.value_or(false) ? ", unlike its siblings" : ""));
    }
  }
  if (!findings.any_known()) {
    return absl::FailedPreconditionError("no GPU of this node reports its PCIe link");
  }
  return std::move(findings).Finish(
      sentence.Tell("the full PCIe width, generation full or lowered while idle"),
      XmlExcerptOfFirst(state, "pci_gpu_link_info",
                        [](const Gpu& gpu) { return Downgraded(gpu).value_or(false); }));
}

absl::StatusOr<CheckOutput> CheckGpuPcieErrors(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const GpuState state, QueryGpus(context.host));
  const auto events = ReadKernelPciEvents(context.host);
  const auto devices = ListPciDevices(context.host);
  GpuFindings findings(context);
  Sentence sentence("GPU", state.gpus.size());
  std::set<std::string> ports;
  for (const Gpu& gpu : state.gpus) {
    const v1::Device subject = findings.Of(gpu);
    std::vector<std::string> told;
    const auto tell = [&](const std::optional<std::int64_t>& count, absl::string_view what,
                          absl::string_view where = "") {
      if (count.value_or(0) > 0) told.push_back(absl::StrCat(Count(*count, what), where));
    };
    findings.Int("replay_count", subject, gpu.pcie.replays);
    // A counter read once has no rate.
    findings.Float("replay_rate_per_min", subject, std::nullopt);
    const auto corrected = CorrectedErrors(context.host, gpu.pci_address, events);
    const auto uncorrected = UncorrectedErrors(gpu.pci_address, events);
    findings.Int("aer_correctable", subject, corrected);
    findings.Int("aer_uncorrectable", subject, uncorrected);
    tell(gpu.pcie.replays, "replay");
    tell(corrected, "corrected AER error");
    tell(uncorrected, "uncorrected AER error");
    // Errors of the link are often seen by the other end only.
    const std::string port = devices.ok() ? PortAbove(gpu, *devices) : "";
    if (!port.empty() && ports.insert(port).second) {
      const auto at_port = CorrectedErrors(context.host, port, events);
      const auto bad_at_port = UncorrectedErrors(port, events);
      if (at_port.has_value()) {
        findings.Int("aer_correctable", findings.OfPci(port), at_port);
        tell(at_port, "corrected AER error", absl::StrCat(" at its port ", port));
      }
      if (bad_at_port.has_value()) {
        findings.Int("aer_uncorrectable", findings.OfPci(port), bad_at_port);
        tell(bad_at_port, "uncorrected AER error", absl::StrCat(" at its port ", port));
      }
    }
    if (!told.empty()) sentence.Special(gpu, absl::StrJoin(told, ", "));
  }
  if (!findings.any_known()) {
    return absl::FailedPreconditionError("no PCIe error counter of a GPU can be read");
  }
  return std::move(findings).Finish(
      sentence.Tell("no PCIe replay counted"),
      events.ok() ? absl::StrJoin(events->lines, "\n") : std::string());
}

absl::StatusOr<CheckOutput> CheckGpuBar(const CheckContext& context) {
  const auto state = QueryGpus(context.host);
  const auto events = ReadKernelPciEvents(context.host);
  GALEN_ASSIGN_OR_RETURN(const std::vector<PciDevice> devices, ListPciDevices(context.host));
  GpuFindings findings(context);
  std::map<std::string, const Gpu*> by_address;
  if (state.ok()) {
    for (const Gpu& gpu : state->gpus) by_address[gpu.pci_address] = &gpu;
  }
  std::size_t total = 0;
  bool no_space = false;
  std::vector<std::string> unassigned;
  std::string excerpt;
  for (const PciDevice& device : devices) {
    if (!IsNvidiaGpu(device)) continue;
    ++total;
    const auto listed = by_address.find(device.address);
    const bool known = listed != by_address.end();
    const v1::Device subject =
        known ? findings.Of(*listed->second) : findings.OfPci(device.address);
    // A dead device shows no regions at all, and a line without "Region" tells nothing.
    std::optional<bool> bad;
    if (!device.dead && absl::StrContains(device.text, "Region ")) bad = device.region_unassigned;
    findings.Bool("bar_unassigned", subject, bad).set_expected("false");
    findings.Float("bar1_mib", subject, known ? listed->second->bar1_mib : std::nullopt);
    no_space = no_space || (events.ok() && events->no_space.contains(device.address));
    if (bad.value_or(false)) {
      unassigned.push_back(device.address);
      if (excerpt.empty()) excerpt = device.text;
    }
  }
  if (total == 0) {
    return absl::FailedPreconditionError("no NVIDIA GPU on this node: lspci lists none");
  }
  findings
      .Bool("no_space_in_log", findings.Node(),
            events.ok() ? std::optional<bool>(no_space) : std::nullopt)
      .set_expected("false");
  std::string message =
      unassigned.empty()
          ? absl::StrCat("all memory regions of ", Count(static_cast<std::int64_t>(total), "GPU"),
                         " are assigned")
          : absl::StrCat("memory regions without an address on ", absl::StrJoin(unassigned, ", "));
  if (no_space) absl::StrAppend(&message, "; the kernel found no space for them");
  if (no_space && excerpt.empty()) excerpt = absl::StrJoin(events->lines, "\n");
  return std::move(findings).Finish(std::move(message), std::move(excerpt));
}

}  // namespace galen::node
