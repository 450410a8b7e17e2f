// Parsers of amd-smi and rocm-smi.
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/json_access.h"
#include "common/base/json_prune.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/checks/gpu/amd_state.h"

namespace galen::node {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxAmdGpus = 1024;
constexpr std::size_t kMaxToolTextBytes = 256;
constexpr std::size_t kMaxReadingBytes = 2000;
constexpr double kMib = 1024.0 * 1024.0;

using Path = std::initializer_list<const char*>;

const json* At(const json& value, Path path) {
  const json* at = &value;
  for (const char* key : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(key);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

// A number, "12.5" or {"value": 12.5, "unit": "W"}; none for "N/A".
std::optional<double> NumberOf(const json* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_object()) return NumberOf(At(*value, {"value"}));
  if (value->is_number()) {
    const double number = value->get<double>();
    return std::isfinite(number) ? std::optional<double>(number) : std::nullopt;
  }
  if (!value->is_string()) return std::nullopt;
  const auto& text = value->get_ref<const std::string&>();
  return SaysNothing(text) ? std::nullopt : LeadingNumber(text);
}

std::optional<double> NumberAt(const json& value, std::initializer_list<Path> paths) {
  for (const Path& path : paths) {
    if (const auto number = NumberOf(At(value, path)); number.has_value()) return number;
  }
  return std::nullopt;
}

std::optional<std::int64_t> IntegerAt(const json& value, std::initializer_list<Path> paths) {
  const std::optional<double> number = NumberAt(value, paths);
  if (!number.has_value() || std::abs(*number) > 9e15) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::string TextAt(const json& value, std::initializer_list<Path> paths) {
  for (const Path& path : paths) {
    const json* const at = At(value, path);
    if (at == nullptr || !at->is_string()) continue;
    const auto& text = at->get_ref<const std::string&>();
    if (!SaysNothing(text)) {
      return CleanText(absl::StripAsciiWhitespace(text), kMaxToolTextBytes);
    }
  }
  return "";
}

// "ACTIVE" and "NOT ACTIVE"; none for anything else.
std::optional<bool> ActiveAt(const json& value, std::initializer_list<Path> paths) {
  const std::string text = TextAt(value, paths);
  if (absl::EqualsIgnoreCase(text, "ACTIVE")) return true;
  if (absl::EqualsIgnoreCase(text, "NOT ACTIVE")) return false;
  return std::nullopt;
}

std::optional<bool> Either(std::initializer_list<std::optional<bool>> parts) {
  std::optional<bool> any;
  for (const std::optional<bool>& part : parts) {
    if (part.has_value()) any = any.value_or(false) || *part;
  }
  return any;
}

void Note(GpuState& state, int gpu, const char* section, const json* value) {
  if (value == nullptr) return;
  const std::string text = value->dump(-1, ' ', false, json::error_handler_t::replace);
  state.readings.push_back(
      {.gpu = gpu, .section = section, .text = CleanText(text, kMaxReadingBytes)});
}

// Counts of the RAS blocks: memory (UMC), links (XGMI) and all others.
void ReadEcc(const json& entry, Gpu& gpu) {
  struct Sums {
    RasSum dram;
    RasSum sram;
    RasSum xgmi;
  };
  Sums correctable;
  Sums uncorrectable;
  const json* const blocks = At(entry, {"ecc_blocks"});
  if (blocks != nullptr && blocks->is_object()) {
    for (const auto& [name, block] : blocks->items()) {
      RasSum Sums::*const sum = name == "UMC"                    ? &Sums::dram
                                : absl::StartsWith(name, "XGMI") ? &Sums::xgmi
                                                                 : &Sums::sram;
      (correctable.*sum).Add(IntegerAt(block, {{"correctable_count"}}));
      (uncorrectable.*sum).Add(IntegerAt(block, {{"uncorrectable_count"}}));
    }
  }
  gpu.xgmi.correctable = correctable.xgmi.value();
  gpu.xgmi.uncorrectable = uncorrectable.xgmi.value();
  const json* const ecc = At(entry, {"ecc"});
  const auto take = [&](const Sums& sums, const char* of_caches, const char* of_all,
                        std::optional<std::int64_t>& sram, std::optional<std::int64_t>& dram) {
    sram = sums.sram.value();
    dram = sums.dram.value();
    if (ecc == nullptr) return;
    const auto caches = IntegerAt(*ecc, {{of_caches}});
    const auto all = IntegerAt(*ecc, {{of_all}});
    // The sum of all blocks includes the value that a sleeping block returns.
    if (sums.sram.incomplete() || sums.dram.incomplete() || sums.xgmi.incomplete() ||
        AllOnes(caches) || AllOnes(all)) {
      return;
    }
    if (!sram.has_value()) sram = caches;
    // ROCm before 6.2 has the sum of all blocks and no blocks.
    if (!dram.has_value() && all.has_value()) dram = *all - sram.value_or(0);
  };
  EccCounts& counts = gpu.ecc.since_boot;
  take(correctable, "cache_correctable_count", "total_correctable_count", counts.sram_correctable,
       counts.dram_correctable);
  take(uncorrectable, "cache_uncorrectable_count", "total_uncorrectable_count",
       counts.sram_uncorrectable, counts.dram_uncorrectable);
}

void ReadThrottle(const json& entry, Gpu& gpu) {
  const json* const throttle = At(entry, {"throttle"});
  if (throttle == nullptr) return;
  gpu.throttle.hw_thermal = Either({ActiveAt(*throttle, {{"socket_thermal_violation_status"}}),
                                    ActiveAt(*throttle, {{"hbm_thermal_violation_status"}}),
                                    ActiveAt(*throttle, {{"vr_thermal_violation_status"}})});
  gpu.throttle.hw_power_brake = ActiveAt(*throttle, {{"prochot_violation_status"}});
  gpu.throttle.sw_power_cap = ActiveAt(*throttle, {{"ppt_violation_status"}});
}

// Retired and pending pages: lists, or a sentence that there is none.
void ReadBadPages(const json& entry, Gpu& gpu) {
  const auto count = [&](Path path) -> std::optional<std::int64_t> {
    const json* const pages = At(entry, path);
    if (pages == nullptr) return std::nullopt;
    if (pages->is_array()) return static_cast<std::int64_t>(pages->size());
    if (pages->is_string() &&
        absl::StrContains(absl::AsciiStrToLower(pages->get_ref<const std::string&>()),
                          "no bad pages")) {
      return 0;
    }
    return std::nullopt;
  };
  // Pages that could not be reserved are bad and still in use.
  const std::int64_t unreserved = count({"un_res"}).value_or(0);
  if (const auto retired = count({"retired"}); retired.has_value()) {
    gpu.retired_pages.count = *retired + unreserved;
  }
  if (const auto pending = count({"pending"}); pending.has_value() || unreserved > 0) {
    gpu.retired_pages.pending = pending.value_or(0) + unreserved > 0;
  }
}

// "link_status": ["X", "U", "D"], by the other GPU's number; X stands for the GPU itself or for a
// link that does not exist.
void ReadXgmi(const json& entry, Gpu& gpu) {
  if (const json* const status = At(entry, {"link_status"});
      status != nullptr && status->is_array()) {
    int peer = 0;
    for (const json& link : *status) {
      if (link.is_string() && peer < static_cast<int>(kMaxAmdGpus)) {
        const auto& text = link.get_ref<const std::string&>();
        if (text == "U" || text == "D") gpu.xgmi.up[peer] = text == "U";
      }
      ++peer;
    }
  }
  // Gb/s of one direction.
  constexpr double kBitsPerByte = 8;
  if (const auto bandwidth = NumberAt(entry, {{"link_metrics", "max_bandwidth"}});
      bandwidth.has_value() && *bandwidth > 0) {
    gpu.xgmi.link_gb_s = 2 * *bandwidth / kBitsPerByte;
  }
}

void ReadStatic(const json& entry, Gpu& gpu, GpuState& state) {
  gpu.product = TextAt(entry, {{"asic", "market_name"}, {"board", "product_name"}});
  gpu.architecture = TextAt(entry, {{"asic", "target_graphics_version"}});
  gpu.serial = TextAt(entry, {{"board", "product_serial"}});
  if (gpu.serial == "0") gpu.serial.clear();
  gpu.uuid = TextAt(entry, {{"asic", "asic_serial"}});
  gpu.pci_address = CanonicalPciAddress(TextAt(entry, {{"bus", "bdf"}, {"bdf"}}));
  gpu.vbios = TextAt(entry, {{"vbios", "version"}, {"ifwi", "version"}, {"vbios", "part_number"}});
  gpu.pcie.width_max = IntegerAt(entry, {{"bus", "max_pcie_width"}});
  gpu.pcie.gen_max = PcieGeneration(NumberAt(entry, {{"bus", "max_pcie_speed"}}));
  gpu.power.limit = NumberAt(entry, {{"limit", "socket_power"},
                                     {"limit", "current_power_limit"},
                                     {"limit", "ppt0", "socket_power_limit"}});
  gpu.power.max_limit = NumberAt(
      entry,
      {{"limit", "max_power"}, {"limit", "max_power_limit"}, {"limit", "ppt0", "max_power_limit"}});
  // AMD's default is the most that the board takes.
  gpu.power.default_limit = gpu.power.max_limit;
  if (state.driver_version.empty()) state.driver_version = TextAt(entry, {{"driver", "version"}});
  if (const std::string umc = TextAt(entry, {{"ras", "ecc_block_state", "UMC"}}); !umc.empty()) {
    gpu.ecc.mode = absl::EqualsIgnoreCase(umc, "ENABLED") ? "Enabled" : "Disabled";
  }
  gpu.retired_pages.threshold = IntegerAt(entry, {{"ras", "bad_page_threshold"}});
  gpu.memory_total_mib = NumberAt(entry, {{"vram", "size"}});
}

void ReadMetric(const json& entry, Gpu& gpu) {
  gpu.utilization = NumberAt(entry, {{"usage", "gfx_activity"}});
  gpu.power.draw = NumberAt(entry, {{"power", "socket_power"}, {"power", "current_socket_power"}});
  gpu.clocks.sm = NumberAt(entry, {{"clock", "gfx_0", "clk"}, {"clock", "gfx", "clk"}});
  gpu.clocks.sm_max = NumberAt(entry, {{"clock", "gfx_0", "max_clk"}, {"clock", "gfx", "max_clk"}});
  if (gpu.clocks.sm_max == 0.0) gpu.clocks.sm_max = std::nullopt;
  gpu.thermal.core = NumberAt(entry, {{"temperature", "hotspot"}, {"temperature", "edge"}});
  gpu.thermal.memory = NumberAt(entry, {{"temperature", "mem"}});
  gpu.pcie.width_current = IntegerAt(entry, {{"pcie", "width"}});
  gpu.pcie.gen_current = PcieGeneration(NumberAt(entry, {{"pcie", "speed"}}));
  gpu.pcie.replays = IntegerAt(entry, {{"pcie", "replay_count"}});
  if (!gpu.memory_total_mib.has_value()) {
    gpu.memory_total_mib = NumberAt(entry, {{"mem_usage", "total_vram"}});
  }
  gpu.memory_used_mib = NumberAt(entry, {{"mem_usage", "used_vram"}});
  gpu.bar1_mib = NumberAt(entry, {{"mem_usage", "total_visible_vram"}});
  ReadEcc(entry, gpu);
  ReadThrottle(entry, gpu);
}

void NoteAmdSmi(const json& entry, int gpu, GpuState& state) {
  Note(state, gpu, "inforom_version", At(entry, {"vbios"}));
  Note(state, gpu, "inforom_version", At(entry, {"ifwi"}));
  Note(state, gpu, "ecc_errors", At(entry, {"ecc"}));
  Note(state, gpu, "ecc_errors", At(entry, {"ecc_blocks"}));
  Note(state, gpu, "retired_pages", At(entry, {"retired"}));
  Note(state, gpu, "retired_pages", At(entry, {"pending"}));
  Note(state, gpu, "temperature", At(entry, {"temperature"}));
  Note(state, gpu, "gpu_power_readings", At(entry, {"power"}));
  Note(state, gpu, "gpu_power_readings", At(entry, {"limit"}));
  Note(state, gpu, "clocks", At(entry, {"clock", "gfx_0"}));
  Note(state, gpu, "clocks_event_reasons", At(entry, {"throttle"}));
  Note(state, gpu, "pci_gpu_link_info", At(entry, {"pcie"}));
  Note(state, gpu, "xgmi", At(entry, {"link_metrics"}));
  Note(state, gpu, "xgmi", At(entry, {"link_status"}));
}

// The GPU of that number, which is added when it is new.
Gpu& GpuOf(GpuState& state, int index) {
  for (Gpu& gpu : state.gpus) {
    if (gpu.index == index) return gpu;
  }
  Gpu& gpu = state.gpus.emplace_back();
  gpu.index = index;
  gpu.vendor = "AMD";
  return gpu;
}

absl::Status NoJson(absl::string_view tool) {
  return absl::DataLossError(absl::StrCat(tool, ": the output is not its JSON"));
}

// The product is in brackets: "Arcturus GL-XL [Instinct MI100]".
std::string RocmProduct(const json& card) {
  std::string series = TextAt(
      card, {{"Card Series"}, {"Card series"}, {"Device Name"}, {"Card model"}, {"Card Model"}});
  const std::size_t open = series.find('[');
  const std::size_t close = series.rfind(']');
  if (open != std::string::npos && close != std::string::npos && close > open + 1) {
    return series.substr(open + 1, close - open - 1);
  }
  return series;
}

// "0 (16.0GT/s x16)".
void ReadRocmLink(const std::string& text, GpuPcie& pcie) {
  static const LazyRE2 kLink = {R"(([0-9.]+)GT/s x(\d+))"};
  std::string rate;
  int width = 0;
  if (!RE2::PartialMatch(text, *kLink, &rate, &width)) return;
  pcie.gen_current = PcieGeneration(LeadingNumber(rate));
  pcie.width_current = width;
}

void ReadRocmCard(const json& card, Gpu& gpu) {
  gpu.product = RocmProduct(card);
  gpu.architecture = TextAt(card, {{"GFX Version"}});
  gpu.serial = TextAt(card, {{"Serial Number"}});
  gpu.uuid = TextAt(card, {{"Unique ID"}});
  gpu.vbios = TextAt(card, {{"VBIOS version"}});
  gpu.smc_firmware = TextAt(card, {{"SMC firmware version"}});
  gpu.mes_firmware = TextAt(card, {{"MES firmware version"}});
  gpu.pci_address = CanonicalPciAddress(TextAt(card, {{"PCI Bus"}}));
  gpu.thermal.core =
      NumberAt(card, {{"Temperature (Sensor junction) (C)"}, {"Temperature (Sensor edge) (C)"}});
  gpu.thermal.memory = NumberAt(card, {{"Temperature (Sensor memory) (C)"}});
  gpu.power.limit = NumberAt(card, {{"Max Graphics Package Power (W)"}});
  gpu.power.draw = NumberAt(card, {{"Current Socket Graphics Package Power (W)"},
                                   {"Average Graphics Package Power (W)"}});
  gpu.utilization = NumberAt(card, {{"GPU use (%)"}});
  gpu.pcie.replays = IntegerAt(card, {{"PCIe Replay Count"}});
  ReadRocmLink(TextAt(card, {{"pcie clock level"}}), gpu.pcie);
  if (std::string clock = TextAt(card, {{"sclk clock speed:"}}); !clock.empty()) {
    gpu.clocks.sm = LeadingNumber(absl::StripPrefix(clock, "("));
  }
  const auto mib = [&](const char* name) -> std::optional<double> {
    const auto bytes = NumberAt(card, {{name}});
    if (!bytes.has_value()) return std::nullopt;
    return std::floor(*bytes / kMib);
  };
  gpu.memory_total_mib = mib("VRAM Total Memory (B)");
  gpu.memory_used_mib = mib("VRAM Total Used Memory (B)");
  gpu.bar1_mib = mib("VIS_VRAM Total Memory (B)");
}

// "(Topology) Link type between DRM devices 0 and 1": "XGMI" or "PCIE".
void ReadRocmTopology(const json& system, GpuState& state) {
  static const LazyRE2 kLink = {
      R"(^\(Topology\) Link type between DRM devices (\d{1,4}) and (\d{1,4})$)"};
  for (const auto& [name, value] : system.items()) {
    int one = 0;
    int other = 0;
    if (!value.is_string() || !RE2::FullMatch(name, *kLink, &one, &other)) continue;
    const bool xgmi = value.get_ref<const std::string&>() == "XGMI";
    for (Gpu& gpu : state.gpus) {
      if (gpu.index == one) gpu.xgmi.up[other] = xgmi;
      if (gpu.index == other) gpu.xgmi.up[one] = xgmi;
    }
  }
}

}  // namespace

std::optional<std::int64_t> PcieGeneration(std::optional<double> giga_transfers) {
  if (!giga_transfers.has_value()) return std::nullopt;
  std::int64_t generation = 1;
  for (const double rate : {2.5, 5.0, 8.0, 16.0, 32.0, 64.0}) {
    if (*giga_transfers == rate) return generation;
    ++generation;
  }
  return std::nullopt;
}

absl::StatusOr<GpuState> ParseAmdSmi(absl::string_view output) {
  // Warnings may come before the JSON.
  const std::size_t begin = output.find_first_of("[{");
  if (begin == absl::string_view::npos) return NoJson("amd-smi");
  output.remove_prefix(begin);
  const json root = ParseJson(PrunedJson(output));
  if (root.is_discarded()) return NoJson("amd-smi");
  // A list of GPUs, since ROCm 7 within an object.
  std::vector<const json*> entries;
  const auto collect = [&](const json& list) {
    if (!list.is_array()) return;
    for (const json& entry : list) {
      if (At(entry, {"gpu"}) != nullptr) entries.push_back(&entry);
    }
  };
  if (root.is_object()) {
    for (const auto& item : root.items()) collect(item.value());
  } else {
    collect(root);
  }
  if (entries.empty()) return NoJson("amd-smi");
  GpuState state;
  state.source = "amd-smi";
  for (const json* const entry : entries) {
    const auto index = IntegerAt(*entry, {{"gpu"}});
    if (!index.has_value() || *index < 0 || *index >= static_cast<std::int64_t>(kMaxAmdGpus))
      continue;
    Gpu& gpu = GpuOf(state, static_cast<int>(*index));
    if (At(*entry, {"asic"}) != nullptr || At(*entry, {"bus"}) != nullptr) {
      ReadStatic(*entry, gpu, state);
    }
    const auto limit = NumberAt(*entry, {{"limit", "slowdown_hotspot_temperature"}});
    if (At(*entry, {"usage"}) != nullptr || At(*entry, {"temperature"}) != nullptr) {
      ReadMetric(*entry, gpu);
    }
    if (limit.has_value()) gpu.thermal.slowdown = limit;
    if (gpu.pci_address.empty()) {
      gpu.pci_address = CanonicalPciAddress(TextAt(*entry, {{"bdf"}}));
    }
    ReadBadPages(*entry, gpu);
    ReadXgmi(*entry, gpu);
    NoteAmdSmi(*entry, gpu.index, state);
  }
  return state;
}

absl::StatusOr<GpuState> ParseRocmSmi(absl::string_view output) {
  const std::size_t begin = output.find('{');
  if (begin == absl::string_view::npos) return NoJson("rocm-smi");
  output.remove_prefix(begin);
  const json root = ParseJson(PrunedJson(output));
  if (root.is_discarded() || !root.is_object()) return NoJson("rocm-smi");
  GpuState state;
  state.source = "rocm-smi";
  for (const auto& [name, card] : root.items()) {
    absl::string_view number = name;
    int index = 0;
    if (!absl::ConsumePrefix(&number, "card") || !absl::SimpleAtoi(number, &index) || index < 0 ||
        index >= static_cast<int>(kMaxAmdGpus) || !card.is_object()) {
      continue;
    }
    ReadRocmCard(card, GpuOf(state, index));
  }
  if (state.gpus.empty()) return NoJson("rocm-smi");
  if (const json* const system = At(root, {"system"}); system != nullptr && system->is_object()) {
    state.driver_version = TextAt(*system, {{"Driver version"}});
    ReadRocmTopology(*system, state);
  }
  return state;
}

}  // namespace galen::node
