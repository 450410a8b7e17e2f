#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "services/node/checks/gpu/checks.h"
#include "services/node/checks/gpu/gpu_findings.h"
#include "services/node/checks/gpu/gpu_query.h"
#include "services/node/checks/gpu/pci_devices.h"

namespace galen::node {
namespace {

constexpr double kMibPerGib = 1024;

// How many GPUs the kernel module knows; unknown when that was not captured.
std::optional<std::int64_t> CountOfKernelModule(const host::Host& host) {
  const auto files = host.Glob("/proc/driver/nvidia/gpus/*/information");
  if (!files.ok()) return std::nullopt;
  return static_cast<std::int64_t>(files->size());
}

// The accelerators of one make: a machine of NVIDIA's may have a CPU with AMD graphics.
std::vector<PciDevice> GpusOf(const std::vector<PciDevice>& devices, bool amd) {
  std::vector<PciDevice> gpus;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(gpus),
               amd ? IsAmdGpu : IsNvidiaGpu);
  return gpus;
}

// The headings of the GPUs' blocks.
std::string Headings(const std::vector<PciDevice>& gpus) {
  std::vector<std::string> lines;
  for (const PciDevice& gpu : gpus) lines.push_back(gpu.text.substr(0, gpu.text.find('\n')));
  return absl::StrJoin(lines, "\n");
}

// Known to the driver by its number only.
bool Gone(const Gpu& gpu) { return gpu.lost || gpu.unreachable; }

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuInventory(const CheckContext& context) {
  const absl::StatusOr<GpuState> state = QueryGpus(context.host);
  const absl::StatusOr<std::vector<PciDevice>> devices = ListPciDevices(context.host);
  const std::optional<std::int64_t> by_module = CountOfKernelModule(context.host);
  const bool amd = state.ok() && state->gpus.front().vendor == "AMD";
  const absl::string_view make = amd ? "AMD GPU" : "NVIDIA GPU";
  const std::vector<PciDevice> pci =
      devices.ok() ? GpusOf(*devices, amd) : std::vector<PciDevice>();

  // FAILED_PRECONDITION is an answer: the driver lists none.
  const bool none_listed = absl::IsFailedPrecondition(state.status());
  if (!state.ok() && !none_listed) {
    if (pci.empty()) return state.status();
    return absl::Status(state.status().code(),
                        absl::StrCat(state.status().message(), "; lspci shows ",
                                     Count(static_cast<std::int64_t>(pci.size()), make)));
  }
  if (none_listed && devices.ok() && pci.empty() && by_module.value_or(0) == 0) {
    return absl::FailedPreconditionError(
        "no NVIDIA GPU on this node: neither nvidia-smi nor lspci lists one");
  }

  GpuFindings findings(context);
  std::map<std::string, const Gpu*> by_address;
  std::int64_t by_driver = 0;
  if (state.ok()) {
    // One that fell off the bus is listed by name only.
    by_driver = std::count_if(state->gpus.begin(), state->gpus.end(),
                              [](const Gpu& gpu) { return !Gone(gpu); });
    for (const Gpu& gpu : state->gpus) {
      if (!Gone(gpu)) by_address[gpu.pci_address] = &gpu;
    }
  }
  std::optional<std::int64_t> by_pci;
  std::optional<std::int64_t> expected = by_module;
  if (devices.ok()) {
    by_pci = static_cast<std::int64_t>(pci.size());
    const auto usable = std::count_if(pci.begin(), pci.end(),
                                      [](const PciDevice& gpu) { return !BelongsToGuest(gpu); });
    expected = std::max<std::int64_t>(expected.value_or(0), usable);
  }
  // The same source twice is not a second opinion, but no driver lists more GPUs than exist.
  if (expected.has_value()) expected = std::max(*expected, by_driver);
  if (state.ok() && by_driver < static_cast<std::int64_t>(state->gpus.size())) {
    expected = std::max(expected.value_or(0), static_cast<std::int64_t>(state->gpus.size()));
  }

  v1::Finding& counted = findings.Int("gpu_count_driver", findings.Node(), by_driver);
  if (expected.has_value()) counted.set_expected(absl::StrCat(*expected));
  findings.Int("gpu_count_pci", findings.Node(), by_pci);
  findings.Int("gpu_count_expected", findings.Node(), expected);

  std::vector<std::string> missing;
  if (state.ok()) {
    for (const Gpu& gpu : state->gpus) {
      if (!Gone(gpu)) continue;
      missing.push_back(
          absl::StrCat("GPU ", gpu.index, gpu.lost ? " is lost" : " cannot be reached"));
    }
  }
  const absl::string_view own_driver = amd ? "amdgpu" : "nvidia";
  for (const PciDevice& device : pci) {
    const auto listed = by_address.find(device.address);
    const v1::Device subject =
        listed == by_address.end() ? findings.OfPci(device.address) : findings.Of(*listed->second);
    findings.Bool("pci_rev_ff", subject, device.dead).set_expected("false");
    findings.Text("driver_bound", subject, device.driver.empty() ? "none" : device.driver);
    if (listed == by_address.end() && !BelongsToGuest(device)) {
      missing.push_back(
          absl::StrCat(device.address, device.dead ? " answers with ff" : "",
                       device.driver.empty() || device.driver == own_driver ? "" : " is bound to ",
                       device.driver == own_driver ? "" : device.driver));
    }
  }
  if (state.ok()) {
    for (const Gpu& gpu : state->gpus) {
      std::optional<double> memory = gpu.memory_total_mib;
      if (memory.has_value()) *memory /= kMibPerGib;
      findings.Float("memory_total_gib", findings.Of(gpu), memory);
    }
  }

  std::string message = absl::StrCat("the driver lists ", Count(by_driver, "GPU"));
  if (expected.has_value()) absl::StrAppend(&message, " of ", *expected);
  absl::StrAppend(&message, devices.ok() ? absl::StrCat(", lspci shows ", pci.size())
                                         : std::string(", lspci was not read"));
  if (!missing.empty()) {
    absl::StrAppend(&message, "; not listed by the driver: ", absl::StrJoin(missing, ", "));
  }
  return std::move(findings).Finish(std::move(message), Headings(pci));
}

absl::StatusOr<CheckOutput> CheckGpuSmiHealth(const CheckContext& context) {
  const absl::StatusOr<GpuReport> report = AskNvidia(context.host);
  GpuFindings findings(context);
  if (absl::IsDeadlineExceeded(report.status())) {
    findings.Int("exit_code", findings.Node(), std::nullopt);
    findings.Float("duration_s", findings.Node(), std::nullopt);
    findings.Bool("hung", findings.Node(), true).set_expected("false");
    findings.Text("error_text", findings.Node(), std::nullopt);
    return std::move(findings).Finish(
        "the query of the GPUs did not answer in time: a call into the driver hangs",
        std::string(report.status().message()));
  }
  GALEN_RETURN_IF_ERROR(report.status());
  const double seconds = absl::ToDoubleSeconds(report->duration);
  findings.Int("exit_code", findings.Node(), report->exit_code).set_expected("0");
  findings.Float("duration_s", findings.Node(), seconds);
  findings.Bool("hung", findings.Node(), false).set_expected("false");
  findings.Text("error_text", findings.Node(), report->complaint);
  return std::move(findings).Finish(
      absl::StrCat(report->asked, " took ", Short(seconds), " s and ended with exit code ",
                   report->exit_code, report->complaint.empty() ? "" : ": ", report->complaint),
      report->complaint);
}

}  // namespace galen::node
