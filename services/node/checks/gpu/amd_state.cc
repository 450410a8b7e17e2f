#include "services/node/checks/gpu/amd_state.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxCards = 1024;
constexpr std::size_t kMaxTextBytes = 256;
constexpr absl::string_view kAmdVendor = "0x1002";
constexpr double kBytesPerMib = 1024.0 * 1024.0;
constexpr double kMilli = 1e-3;
constexpr double kMicro = 1e-6;
// The all-ones values of registers: of 20 bits except the last four, of 20 bits, and of 32 bits.
// knowledge/telemetry/sources.yaml has those that AMD's exporters pass on.
constexpr std::int64_t kFirstOnes = 0xFFFF0;
constexpr std::int64_t kLastOnes = 0xFFFFF;
constexpr std::int64_t kWideOnes = 0xFFFFFFFF;

// The files of one card. Records each value that it reads, for excerpts.
class Card {
 public:
  Card(const host::Host& host, std::string folder) : host_(host), folder_(std::move(folder)) {}

  std::string Text(absl::string_view section, absl::string_view file) {
    return TextOf(section, absl::StrCat(folder_, "/", file));
  }

  std::optional<double> Number(absl::string_view section, absl::string_view file) {
    return LeadingNumber(Text(section, file));
  }

  // A number in a file of the card's only hwmon, in thousandths or millionths.
  std::optional<double> Sensor(absl::string_view section, absl::string_view file, double unit) {
    const auto found = host_.Glob(absl::StrCat(folder_, "/hwmon/hwmon*/", file));
    if (!found.ok() || found->empty()) return std::nullopt;
    std::optional<double> value = LeadingNumber(TextOf(section, found->front()));
    if (value.has_value()) *value *= unit;
    return value;
  }

  std::vector<std::string> Files(absl::string_view pattern) const {
    const auto found = host_.Glob(absl::StrCat(folder_, "/", pattern));
    return found.ok() ? *found : std::vector<std::string>();
  }

  std::string TextOf(absl::string_view section, const std::string& path) {
    const auto content = host_.ReadFile(path);
    if (!content.ok()) return "";
    std::string text = CleanText(absl::StripAsciiWhitespace(*content), 64 * kMaxTextBytes);
    Note(section, path, text);
    return text;
  }

  // All of a file as it is; none where it cannot be read.
  std::optional<std::string> Content(absl::string_view section, absl::string_view file) {
    const std::string path = absl::StrCat(folder_, "/", file);
    auto content = host_.ReadFile(path);
    if (!content.ok()) return std::nullopt;
    Note(section, path, CleanText(absl::StripAsciiWhitespace(*content), kMaxTextBytes));
    return *std::move(content);
  }

  std::vector<GpuReading>& readings() { return readings_; }

 private:
  void Note(absl::string_view section, const std::string& path, const std::string& text) {
    readings_.push_back({.gpu = 0,
                         .section = std::string(section),
                         .text = absl::StrCat(path, ": ", text.substr(0, kMaxTextBytes))});
  }

  const host::Host& host_;
  std::string folder_;
  std::vector<GpuReading> readings_;
};

std::optional<double> Mib(std::optional<double> bytes) {
  if (bytes.has_value()) *bytes = std::floor(*bytes / kBytesPerMib);
  return bytes;
}

std::optional<std::int64_t> Whole(const std::optional<double>& number) {
  if (!number.has_value() || std::abs(*number) > 9e15) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

// "PCI_SLOT_NAME=0000:83:00.0".
std::string SlotOf(absl::string_view uevent) {
  for (absl::string_view line : absl::StrSplit(uevent, '\n')) {
    if (absl::ConsumePrefix(&line, "PCI_SLOT_NAME=")) return CanonicalPciAddress(line);
  }
  return "";
}

// The marked line of "0: 132Mhz\n1: 2100Mhz *\n", and the greatest.
void ReadClockLevels(absl::string_view levels, GpuClocks& clocks) {
  for (const absl::string_view line : absl::StrSplit(levels, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == absl::string_view::npos) continue;
    const std::optional<double> mhz = LeadingNumber(line.substr(colon + 1));
    if (!mhz.has_value()) continue;
    clocks.sm_max = std::max(clocks.sm_max.value_or(0), *mhz);
    if (absl::StrContains(line, "*")) clocks.sm = mhz;
  }
}

void ReadRas(Card& card, Gpu& gpu) {
  std::vector<std::string> files = card.Files("ras/*_err_count");
  // With ACA (MI300) the files have other names and the same words.
  for (std::string& file : card.Files("ras/aca_*")) files.push_back(std::move(file));
  struct Sums {
    RasSum correctable;
    RasSum uncorrectable;
  };
  Sums dram;
  Sums sram;
  Sums xgmi;
  for (const std::string& file : files) {
    const RasCount count = ParseRasCount(card.TextOf("ecc_errors", file));
    const bool memory = absl::StrContains(file, "/umc_") || absl::EndsWith(file, "/aca_umc");
    Sums& sums = memory ? dram : absl::StrContains(file, "xgmi") ? xgmi : sram;
    sums.correctable.Add(count.correctable);
    sums.uncorrectable.Add(count.uncorrectable);
  }
  gpu.ecc.since_boot = {.dram_correctable = dram.correctable.value(),
                        .dram_uncorrectable = dram.uncorrectable.value(),
                        .sram_correctable = sram.correctable.value(),
                        .sram_uncorrectable = sram.uncorrectable.value()};
  gpu.xgmi.correctable = xgmi.correctable.value();
  gpu.xgmi.uncorrectable = xgmi.uncorrectable.value();
  // An empty file lists no page; one that cannot be read leaves it to the tools.
  if (const auto pages = card.Content("retired_pages", "ras/gpu_vram_bad_pages"); pages) {
    gpu.retired_pages = ParseBadPages(*pages);
  }
}

void ReadSensors(Card& card, Gpu& gpu) {
  // Sensor 1 is the edge, 2 the junction, 3 the memory (kernel documentation of amdgpu's hwmon).
  const auto edge = card.Sensor("temperature", "temp1_input", kMilli);
  const auto junction = card.Sensor("temperature", "temp2_input", kMilli);
  gpu.thermal.core = junction.has_value() ? junction : edge;
  gpu.thermal.memory = card.Sensor("temperature", "temp3_input", kMilli);
  gpu.thermal.slowdown =
      card.Sensor("temperature", junction.has_value() ? "temp2_crit" : "temp1_crit", kMilli);
  gpu.power.draw = card.Sensor("gpu_power_readings", "power1_average", kMicro);
  if (!gpu.power.draw.has_value()) {
    gpu.power.draw = card.Sensor("gpu_power_readings", "power1_input", kMicro);
  }
  gpu.power.limit = card.Sensor("gpu_power_readings", "power1_cap", kMicro);
  gpu.power.default_limit = card.Sensor("gpu_power_readings", "power1_cap_default", kMicro);
  gpu.power.max_limit = card.Sensor("gpu_power_readings", "power1_cap_max", kMicro);
}

Gpu ReadCard(Card& card) {
  Gpu gpu;
  gpu.vendor = "AMD";
  gpu.pci_address = SlotOf(card.Text("pci", "uevent"));
  gpu.product = card.Text("product_name", "product_name").substr(0, kMaxTextBytes);
  gpu.serial = card.Text("product_name", "serial_number").substr(0, kMaxTextBytes);
  gpu.uuid = card.Text("product_name", "unique_id").substr(0, kMaxTextBytes);
  gpu.vbios = card.Text("inforom_version", "vbios_version").substr(0, kMaxTextBytes);
  gpu.mes_firmware =
      card.Text("inforom_version", "fw_version/mes_fw_version").substr(0, kMaxTextBytes);
  gpu.smc_firmware =
      card.Text("inforom_version", "fw_version/smc_fw_version").substr(0, kMaxTextBytes);
  constexpr absl::string_view kLink = "pci_gpu_link_info";
  gpu.pcie = {.gen_current = PcieGeneration(card.Number(kLink, "current_link_speed")),
              .gen_max = PcieGeneration(card.Number(kLink, "max_link_speed")),
              .width_current = Whole(card.Number(kLink, "current_link_width")),
              .width_max = Whole(card.Number(kLink, "max_link_width")),
              .replays = Whole(card.Number(kLink, "pcie_replay_count"))};
  gpu.utilization = card.Number("utilization", "gpu_busy_percent");
  gpu.memory_total_mib = Mib(card.Number("utilization", "mem_info_vram_total"));
  gpu.memory_used_mib = Mib(card.Number("utilization", "mem_info_vram_used"));
  gpu.bar1_mib = Mib(card.Number("utilization", "mem_info_vis_vram_total"));
  ReadClockLevels(card.Text("clocks", "pp_dpm_sclk"), gpu.clocks);
  ReadSensors(card, gpu);
  ReadRas(card, gpu);
  return gpu;
}

template <typename T>
void Fill(std::optional<T>& into, const std::optional<T>& from) {
  if (!into.has_value()) into = from;
}

void Fill(std::string& into, const std::string& from) {
  if (into.empty()) into = from;
}

void Fill(EccCounts& into, const EccCounts& from) {
  Fill(into.dram_correctable, from.dram_correctable);
  Fill(into.dram_uncorrectable, from.dram_uncorrectable);
  Fill(into.sram_correctable, from.sram_correctable);
  Fill(into.sram_uncorrectable, from.sram_uncorrectable);
}

// Fills in only the fields that AMD's sources report.
void Fill(Gpu& into, const Gpu& from) {
  Fill(into.product, from.product);
  Fill(into.architecture, from.architecture);
  Fill(into.uuid, from.uuid);
  Fill(into.serial, from.serial);
  Fill(into.pci_address, from.pci_address);
  Fill(into.vbios, from.vbios);
  Fill(into.mes_firmware, from.mes_firmware);
  Fill(into.smc_firmware, from.smc_firmware);
  Fill(into.utilization, from.utilization);
  Fill(into.memory_total_mib, from.memory_total_mib);
  Fill(into.memory_used_mib, from.memory_used_mib);
  Fill(into.bar1_mib, from.bar1_mib);
  Fill(into.ecc.mode, from.ecc.mode);
  Fill(into.ecc.since_boot, from.ecc.since_boot);
  Fill(into.retired_pages.count, from.retired_pages.count);
  Fill(into.retired_pages.pending, from.retired_pages.pending);
  Fill(into.retired_pages.threshold, from.retired_pages.threshold);
  Fill(into.thermal.core, from.thermal.core);
  Fill(into.thermal.memory, from.thermal.memory);
  Fill(into.thermal.slowdown, from.thermal.slowdown);
  Fill(into.power.draw, from.power.draw);
  Fill(into.power.limit, from.power.limit);
  Fill(into.power.default_limit, from.power.default_limit);
  Fill(into.power.max_limit, from.power.max_limit);
  Fill(into.clocks.sm, from.clocks.sm);
  Fill(into.clocks.sm_max, from.clocks.sm_max);
  Fill(into.throttle.hw_thermal, from.throttle.hw_thermal);
  Fill(into.throttle.hw_power_brake, from.throttle.hw_power_brake);
  Fill(into.throttle.sw_power_cap, from.throttle.sw_power_cap);
  Fill(into.pcie.gen_current, from.pcie.gen_current);
  Fill(into.pcie.gen_max, from.pcie.gen_max);
  Fill(into.pcie.width_current, from.pcie.width_current);
  Fill(into.pcie.width_max, from.pcie.width_max);
  Fill(into.pcie.replays, from.pcie.replays);
  Fill(into.xgmi.correctable, from.xgmi.correctable);
  Fill(into.xgmi.uncorrectable, from.xgmi.uncorrectable);
  Fill(into.xgmi.link_gb_s, from.xgmi.link_gb_s);
  for (const auto& [peer, up] : from.xgmi.up) Fill(into.xgmi.up[peer], up);
}

Gpu* FindSame(GpuState& state, const Gpu& wanted) {
  for (Gpu& gpu : state.gpus) {
    const bool addressed = !gpu.pci_address.empty() && !wanted.pci_address.empty();
    if (addressed ? gpu.pci_address == wanted.pci_address : gpu.index == wanted.index) return &gpu;
  }
  return nullptr;
}

// The answer of a tool; the error of the host, or of a tool that failed.
template <typename Parse>
absl::StatusOr<GpuState> Ask(const host::Host& host, const std::vector<std::string>& argv,
                             Parse parse) {
  GALEN_ASSIGN_OR_RETURN(const host::CommandResult result, host.Run(argv));
  if (result.truncated) {
    return absl::DataLossError(
        absl::StrCat(argv.front(), ": the output is longer than may be read"));
  }
  absl::StatusOr<GpuState> state = parse(result.out);
  if (!state.ok() && result.exit_code != 0) {
    return absl::AbortedError(
        absl::StrCat(argv.front(), ": exit code ", result.exit_code, ": ",
                     CleanText(result.err.empty() ? result.out : result.err, kMaxTextBytes)));
  }
  return state;
}

}  // namespace

RasCount ParseRasCount(absl::string_view content) {
  RasCount count;
  for (absl::string_view line : absl::StrSplit(content, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (absl::ConsumePrefix(&line, "ue:")) count.uncorrectable = LeadingInteger(line);
    if (absl::ConsumePrefix(&line, "ce:")) count.correctable = LeadingInteger(line);
  }
  return count;
}

bool AllOnes(const std::optional<std::int64_t>& count) {
  return count.has_value() &&
         ((*count >= kFirstOnes && *count <= kLastOnes) || *count == kWideOnes);
}

void RasSum::Add(const std::optional<std::int64_t>& count) {
  if (AllOnes(count)) {
    incomplete_ = true;
  } else if (count.has_value()) {
    sum_ = sum_.value_or(0) + *count;
  }
}

std::optional<std::int64_t> RasSum::value() const {
  return incomplete_ && sum_ == 0 ? std::nullopt : sum_;
}

GpuRetiredPages ParseBadPages(absl::string_view content) {
  GpuRetiredPages pages{.count = 0, .pending = false, .threshold = std::nullopt};
  for (absl::string_view line : absl::StrSplit(content, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!absl::StartsWith(line, "0x")) continue;
    const bool unreserved = absl::EndsWith(line, "F");
    if (absl::EndsWith(line, "R") || unreserved) ++*pages.count;
    if (absl::EndsWith(line, "P") || unreserved) pages.pending = true;
  }
  return pages;
}

AmdFirmware ParseAmdFirmwareInfo(absl::string_view content) {
  AmdFirmware firmware;
  for (absl::string_view line : absl::StrSplit(content, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    const auto version = [&](absl::string_view key) -> std::string {
      const std::size_t at = line.find(key);
      if (at == absl::string_view::npos) return "";
      const absl::string_view rest =
          absl::StripLeadingAsciiWhitespace(line.substr(at + key.size()));
      return CleanText(rest.substr(0, rest.find(' ')), kMaxTextBytes);
    };
    if (absl::StartsWith(line, "MES feature version")) firmware.mes = version("firmware version:");
    if (absl::StartsWith(line, "SMC feature version")) firmware.smc = version("firmware version:");
    if (absl::StartsWith(line, "VBIOS version:")) firmware.vbios = version("VBIOS version:");
  }
  return firmware;
}

absl::StatusOr<GpuState> ReadAmdSysfs(const host::Host& host) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                         host.Glob("/sys/class/drm/card*/device/vendor"));
  GpuState state;
  state.source = "amdgpu";
  // Connectors are listed beside the cards ("card1-DP-1") and link to the same device.
  std::set<std::string> seen;
  std::vector<std::pair<Gpu, std::vector<GpuReading>>> found;
  for (absl::string_view path : files) {
    if (found.size() == kMaxCards) break;
    const auto vendor = host.ReadFile(path);
    if (!vendor.ok() || absl::StripAsciiWhitespace(*vendor) != kAmdVendor) continue;
    absl::ConsumeSuffix(&path, "/vendor");
    if (absl::StrContains(path, "-")) continue;
    Card card(host, std::string(path));
    Gpu gpu = ReadCard(card);
    if (!gpu.pci_address.empty() && !seen.insert(gpu.pci_address).second) continue;
    found.emplace_back(std::move(gpu), std::move(card.readings()));
  }
  if (found.empty()) return absl::NotFoundError("no graphics card of this node is AMD's");
  std::stable_sort(found.begin(), found.end(), [](const auto& left, const auto& right) {
    return left.first.pci_address < right.first.pci_address;
  });
  for (auto& [gpu, readings] : found) {
    gpu.index = static_cast<int>(state.gpus.size());
    for (GpuReading& reading : readings) {
      reading.gpu = gpu.index;
      state.readings.push_back(std::move(reading));
    }
    state.gpus.push_back(std::move(gpu));
  }
  return state;
}

void Complete(GpuState& into, const GpuState& from) {
  Fill(into.driver_version, from.driver_version);
  for (const Gpu& gpu : from.gpus) {
    if (Gpu* const same = FindSame(into, gpu); same != nullptr) {
      Fill(*same, gpu);
    } else if (into.gpus.size() < kMaxCards) {
      into.gpus.push_back(gpu);
    }
  }
  into.readings.insert(into.readings.end(), from.readings.begin(), from.readings.end());
}

absl::StatusOr<GpuState> QueryAmd(const host::Host& host) {
  absl::StatusOr<GpuState> state = ReadAmdSysfs(host);
  absl::Status refusal;  // of a tool that is there
  const auto add = [&](const absl::StatusOr<GpuState>& part) {
    if (part.ok()) {
      if (state.ok()) {
        Complete(*state, *part);
      } else {
        state = *part;
      }
    } else if (!absl::IsNotFound(part.status()) && !absl::IsUnavailable(part.status())) {
      refusal.Update(part.status());
    }
    return part.ok();
  };
  // On a live node the kernel's files come first: tools add only the rest.
  const auto amd_smi = [&](const char* what) {
    return Ask(host, {"amd-smi", what, "--json"}, ParseAmdSmi);
  };
  const bool modern = add(amd_smi("static"));
  if (modern) {
    for (const char* what : {"metric", "bad-pages", "xgmi"}) add(amd_smi(what));
  }
  // The older tool, for when the newer one does not answer, and for the topology that it alone
  // reports.
  add(Ask(host, {"rocm-smi", "--showallinfo", "--json"}, ParseRocmSmi));
  if (!state.ok()) return refusal.ok() ? state.status() : refusal;
  if (state->driver_version.empty()) {
    if (const auto version = host.ReadFile("/sys/module/amdgpu/version"); version.ok()) {
      state->driver_version = CleanText(absl::StripAsciiWhitespace(*version), kMaxTextBytes);
    }
  }
  for (Gpu& gpu : state->gpus) {
    if (gpu.thermal.slowdown.has_value() && gpu.thermal.core.has_value()) {
      gpu.thermal.margin_to_slowdown = *gpu.thermal.slowdown - *gpu.thermal.core;
    }
    if (gpu.ecc.mode.empty() && gpu.ecc.since_boot.dram_uncorrectable.has_value()) {
      gpu.ecc.mode = "Enabled";
    }
    // On a module with two dies (MI200) the first die reports the power of both, and the second
    // reports zeros.
    if (gpu.power.draw.value_or(0) <= 0 && gpu.power.limit.value_or(0) <= 0) gpu.power = {};
  }
  state->source = "amdgpu";
  return state;
}

}  // namespace galen::node
