#include <string>
#include <vector>

#include "services/node/checks/check_data.h"
#include "services/node/checks/cuda/gputest_run.h"
#include "services/node/checks/gpu/amd_state.h"
#include "services/node/checks/gpu/clock_offsets.h"
#include "services/node/checks/gpu/driver_packages.h"
#include "services/node/checks/gpu/kernel_lines.h"
#include "services/node/checks/gpu/known_versions.h"
#include "services/node/checks/gpu/link_reports.h"
#include "services/node/checks/gpu/pci_devices.h"
#include "services/node/checks/gpu/topology_matrix.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/device_names.h"
#include "tests/fuzz/check_parsers.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

void LinkStatus(absl::string_view text) { Use(node::ParseLinkStatus(text)); }

void LinkErrors(absl::string_view text) { Use(node::ParseLinkErrors(text)); }

void Topology(absl::string_view text) {
  const auto matrix = node::ParseTopologyMatrix(text);
  if (!matrix.ok()) return;
  for (const auto& [pair, relation] : matrix->relations) Use(node::NvlinksOf(relation));
}

void Lspci(absl::string_view text) {
  for (const node::PciDevice& device : node::ParseLspci(text)) {
    Use(node::IsNvidiaGpu(device));
    Use(node::IsNvSwitch(device));
    Use(node::BelongsToGuest(device));
  }
}

void KernelLines(absl::string_view text) { Use(node::ParseKernelPciEvents(text)); }

void Dpkg(absl::string_view text) { Use(node::LibraryVersion(node::DriverPackagesOfDpkg(text))); }

void Rpm(absl::string_view text) { Use(node::LibraryVersion(node::DriverPackagesOfRpm(text))); }

void Module(absl::string_view text) { Use(node::LoadedModuleVersion(text)); }

void RocmSmi(absl::string_view text) { Use(node::GpusOfRocmSmi(text)); }

// Terse for half of the inputs.
void NvidiaSettings(absl::string_view text) {
  std::vector<std::string> argv = {"nvidia-settings", "-q",
                                   "GPUGraphicsClockOffsetAllPerformanceLevels", "-q",
                                   "GPUMemoryTransferRateOffsetAllPerformanceLevels"};
  if (text.size() % 2 == 0) argv.emplace_back("-t");
  Use(node::ParseNvidiaSettings(argv, text));
}

void TuningTools(absl::string_view text) {
  static const std::vector<node::CheckData::Pattern> kTools =
      node::PatternsOf(TheKnowledge(), "gpu.clocks", "tuning_tool");
  Use(node::OffsetsOfTools(text, kTools));
}

// Two releases cannot each be the older one.
void Releases(absl::string_view text) {
  const std::size_t half = text.size() / 2;
  const int there = node::CompareReleases(text.substr(0, half), text.substr(half));
  const int back = node::CompareReleases(text.substr(half), text.substr(0, half));
  if ((there < 0) != (back > 0) || (there == 0) != (back == 0)) __builtin_trap();
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"nvlink_status", LinkStatus},
      {"nvlink_errors", LinkErrors},
      {"topology", Topology},
      {"lspci", Lspci},
      {"kernel_lines", KernelLines},
      {"dpkg", Dpkg},
      {"rpm", Rpm},
      {"module", Module},
      {"rocm_smi", RocmSmi},
      {"rocm_smi_state", [](absl::string_view text) { Use(node::ParseRocmSmi(text)); }},
      {"gputest_line",
       [](absl::string_view text) {
         for (const absl::string_view line : node::Lines(text)) Use(node::ParseGpuTestLine(line));
       }},
      {"amd_smi", [](absl::string_view text) { Use(node::ParseAmdSmi(text)); }},
      {"amd_ras", [](absl::string_view text) { Use(node::ParseRasCount(text)); }},
      {"amd_bad_pages", [](absl::string_view text) { Use(node::ParseBadPages(text)); }},
      {"amd_firmware", [](absl::string_view text) { Use(node::ParseAmdFirmwareInfo(text)); }},
      {"nvidia_settings", NvidiaSettings},
      {"tuning_tools", TuningTools},
      {"releases", Releases},
  };
  return kParsers;
}

}  // namespace galen::fuzz
