#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/gpu/checks.h"
#include "services/node/checks/gpu/counter_window.h"
#include "services/node/checks/gpu/gpu_findings.h"
#include "services/node/checks/gpu/gpu_query.h"
#include "services/node/checks/gpu/kernel_lines.h"
#include "services/node/checks/gpu/pci_devices.h"

namespace galen::node {
namespace {

// A line "TOTAL_ERR_COR 42" of what the kernel counted for a device.
std::optional<std::int64_t> AerTotal(const host::Host& host, const std::string& address,
                                     absl::string_view file, absl::string_view total) {
  const auto content = host.ReadFile(absl::StrCat("/sys/bus/pci/devices/", address, "/", file));
  if (!content.ok()) return std::nullopt;
  for (absl::string_view line : absl::StrSplit(*content, '\n')) {
    if (absl::ConsumePrefix(&line, total)) return LeadingInteger(line);
  }
  return std::nullopt;
}

// Sum of the corrected errors that the kernel counted for a device.
std::optional<std::int64_t> CorrectedErrors(const host::Host& host, const std::string& address,
                                            const absl::StatusOr<KernelPciEvents>& events) {
  const auto counted = AerTotal(host, address, "aer_dev_correctable", "TOTAL_ERR_COR");
  if (counted.has_value()) return counted;
  // A log without such a line proves nothing: firmware may keep the reports to itself.
  if (!events.ok()) return std::nullopt;
  const auto logged = events->aer_corrected.find(address);
  if (logged == events->aer_corrected.end()) return std::nullopt;
  return logged->second;
}

// Counts only the fatal errors of the kernel's counters, since healthy devices collect others, such
// as unsupported requests. A count of 0 proves nothing: the log may report others.
std::optional<std::int64_t> UncorrectedErrors(const host::Host& host, const std::string& address,
                                              const absl::StatusOr<KernelPciEvents>& events) {
  std::optional<std::int64_t> errors = AerTotal(host, address, "aer_dev_fatal", "TOTAL_ERR_FATAL");
  if (errors.value_or(0) <= 0) errors = std::nullopt;
  if (!events.ok()) return errors;
  const auto logged = events->aer_uncorrected.find(address);
  if (logged == events->aer_uncorrected.end()) return errors;
  // One error may be in both.
  return std::max<std::int64_t>(logged->second, errors.value_or(0));
}

// How often the GPU replayed in the window; unknown where the counter is, or was set back.
std::optional<std::int64_t> Replays(const Gpu& gpu, const absl::StatusOr<CounterWindow>& window) {
  if (!window.ok()) return std::nullopt;
  const Gpu* const before = SameGpu(gpu, window->before);
  const Gpu* const after = SameGpu(gpu, window->after);
  if (before == nullptr || after == nullptr || !before->pcie.replays.has_value() ||
      !after->pcie.replays.has_value() || *after->pcie.replays < *before->pcie.replays) {
    return std::nullopt;
  }
  return *after->pcie.replays - *before->pcie.replays;
}

// The same per minute. A burst within a few seconds does not give a rate per minute: the result is
// unknown if the rate alone, and not the count, exceeds the limit of a minute.
std::optional<double> ReplayRate(const std::optional<std::int64_t>& replays,
                                 const absl::StatusOr<CounterWindow>& window,
                                 const std::optional<double>& limit) {
  if (!replays.has_value() || !window.ok()) return std::nullopt;
  const auto count = static_cast<double>(*replays);
  const double rate = count / absl::ToDoubleMinutes(window->length);
  if (limit.has_value() && rate > *limit && count <= *limit) return std::nullopt;
  return rate;
}

// The most replays a minute of a sound link of that generation and width; unknown if the device or
// the catalogue does not say.
std::optional<double> ReplayLimit(const GpuPcie& link, const CheckData& data) {
  const auto generation = link.gen_current.has_value() ? link.gen_current : link.gen_max;
  const auto lanes = link.width_current.has_value() ? link.width_current : link.width_max;
  if (!generation.has_value() || !lanes.has_value()) return std::nullopt;
  for (const std::vector<std::string>& texts : data.Lists("replays_per_lane")) {
    double rate = 0;
    if (texts.size() == 2 && texts[0] == absl::StrCat(*generation) &&
        absl::SimpleAtod(texts[1], &rate)) {
      return std::ceil(rate * static_cast<double>(*lanes));
    }
  }
  return std::nullopt;
}

bool AnyReplayed(const GpuState& before, const GpuState& after) {
  return std::any_of(before.gpus.begin(), before.gpus.end(), [&](const Gpu& gpu) {
    const Gpu* const later = SameGpu(gpu, after);
    return later != nullptr && later->pcie.replays != gpu.pcie.replays;
  });
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuPcieErrors(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "gpu.pcie_errors"));
  GALEN_ASSIGN_OR_RETURN(const GpuState state, QueryGpus(context.host));
  // A counter read once has no rate.
  const absl::StatusOr<CounterWindow> window = WatchCounters(context, AnyReplayed);
  if (absl::IsCancelled(window.status())) return window.status();
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
    const std::optional<std::int64_t> replays = Replays(gpu, window);
    const std::optional<double> limit = ReplayLimit(gpu.pcie, data);
    const std::optional<double> rate = ReplayRate(replays, window, limit);
    v1::Finding& replaying = findings.Float("replay_rate_per_min", subject, rate);
    if (limit.has_value()) {
      replaying.set_expected(absl::StrCat("at most ", Short(*limit)));
      findings.Float("replay_limit_per_min", subject, limit);
    }
    const auto corrected = CorrectedErrors(context.host, gpu.pci_address, events);
    const auto uncorrected = UncorrectedErrors(context.host, gpu.pci_address, events);
    findings.Int("aer_correctable", subject, corrected);
    findings.Int("aer_uncorrectable", subject, uncorrected);
    tell(gpu.pcie.replays, "replay");
    if (rate.value_or(0) > 0) told.push_back(absl::StrCat(Short(*rate), " replays a minute"));
    if (!rate.has_value()) tell(replays, "replay", " while it was watched");
    tell(corrected, "corrected AER error");
    tell(uncorrected, "uncorrected AER error");
    // Errors of the link are often seen by the other end only.
    const std::vector<const PciDevice*> bridges =
        devices.ok() ? BridgesAbove(gpu.pci_address, *devices) : std::vector<const PciDevice*>();
    for (const PciDevice* const bridge : bridges) {
      const std::string& port = bridge->address;
      if (!ports.insert(port).second) continue;
      const auto at_port = CorrectedErrors(context.host, port, events);
      const auto bad_at_port = UncorrectedErrors(context.host, port, events);
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
      sentence, "no PCIe replay counted",
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
  const bool amd = state.ok() && state->gpus.front().vendor == "AMD";
  std::size_t total = 0;
  bool no_space = false;
  std::vector<std::string> unassigned;
  std::string excerpt;
  for (const PciDevice& device : devices) {
    if (!(amd ? IsAmdGpu(device) : IsNvidiaGpu(device))) continue;
    ++total;
    const auto listed = by_address.find(device.address);
    const bool known = listed != by_address.end();
    const v1::Device subject =
        known ? findings.Of(*listed->second) : findings.OfPci(device.address);
    // A dead device shows no regions at all, and a text without "Region" proves nothing.
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
    return absl::FailedPreconditionError(
        absl::StrCat("no ", amd ? "AMD" : "NVIDIA", " GPU on this node: lspci lists none"));
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
