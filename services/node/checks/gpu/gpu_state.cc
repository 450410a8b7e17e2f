#include "services/node/checks/gpu/gpu_state.h"

#include <cmath>
#include <cstddef>
#include <iterator>
#include <pugixml.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxListedGpus = 1024;
constexpr std::size_t kMaxProcesses = 1000;
constexpr std::size_t kMaxFieldBytes = 256;
constexpr absl::string_view kRootOpen = "<nvidia_smi_log";
constexpr absl::string_view kRootClose = "</nvidia_smi_log>";

std::string RawText(pugi::xml_node node, const char* path) {
  const pugi::xml_node found = node.first_element_by_path(path);
  return std::string(absl::StripAsciiWhitespace(found.child_value()));
}

// The text at the first of `paths` that has one: drivers moved fields about.
template <typename... Paths>
std::string Text(pugi::xml_node node, Paths... paths) {
  for (const char* path : {paths...}) {
    std::string text = RawText(node, path);
    if (!SaysNothing(text)) return CleanText(text, kMaxFieldBytes);
  }
  return "";
}

template <typename... Paths>
std::optional<double> Number(pugi::xml_node node, Paths... paths) {
  return LeadingNumber(Text(node, paths...));
}

template <typename... Paths>
std::optional<std::int64_t> Integer(pugi::xml_node node, Paths... paths) {
  return LeadingInteger(Text(node, paths...));
}

template <typename... Paths>
std::optional<bool> Truth(pugi::xml_node node, Paths... paths) {
  const std::string text = absl::AsciiStrToLower(Text(node, paths...));
  if (text == "yes" || text == "enabled" || text == "active" || text == "true") return true;
  if (text == "no" || text == "disabled" || text == "not active" || text == "false") return false;
  return std::nullopt;
}

// The sum of those that are known; unknown when none is.
std::optional<std::int64_t> Sum(std::initializer_list<std::optional<std::int64_t>> parts) {
  std::optional<std::int64_t> sum;
  for (const std::optional<std::int64_t>& part : parts) {
    if (part.has_value()) sum = sum.value_or(0) + *part;
  }
  return sum;
}

// Three layouts: dram_*/sram_*, the same with SRAM split into parity and SEC-DED, and up to Volta
// single_bit and double_bit with a count for each structure.
EccCounts ReadEccCounts(pugi::xml_node node) {
  EccCounts counts;
  counts.dram_correctable = Integer(node, "dram_correctable", "single_bit/device_memory");
  counts.dram_uncorrectable = Integer(node, "dram_uncorrectable", "double_bit/device_memory");
  counts.sram_correctable = Integer(node, "sram_correctable");
  counts.sram_uncorrectable = Integer(node, "sram_uncorrectable");
  if (!counts.sram_uncorrectable.has_value()) {
    counts.sram_uncorrectable = Sum(
        {Integer(node, "sram_uncorrectable_parity"), Integer(node, "sram_uncorrectable_secded")});
  }
  const auto on_chip = [&](const char* kind) {
    const pugi::xml_node bits = node.child(kind);
    return Sum({Integer(bits, "register_file"), Integer(bits, "l1_cache"),
                Integer(bits, "l2_cache"), Integer(bits, "texture_memory"),
                Integer(bits, "texture_shm"), Integer(bits, "cbu")});
  };
  if (!counts.sram_correctable.has_value()) counts.sram_correctable = on_chip("single_bit");
  if (!counts.sram_uncorrectable.has_value()) counts.sram_uncorrectable = on_chip("double_bit");
  return counts;
}

GpuEcc ReadEcc(pugi::xml_node gpu) {
  GpuEcc ecc;
  ecc.mode = Text(gpu, "ecc_mode/current_ecc");
  const pugi::xml_node errors = gpu.child("ecc_errors");
  ecc.since_boot = ReadEccCounts(errors.child("volatile"));
  ecc.lifetime = ReadEccCounts(errors.child("aggregate"));
  ecc.sram_threshold_exceeded = Truth(errors, "aggregate/sram_threshold_exceeded");
  return ecc;
}

GpuRowRemap ReadRowRemap(pugi::xml_node gpu) {
  const pugi::xml_node rows = gpu.child("remapped_rows");
  return {
      .correctable_rows = Integer(rows, "remapped_row_corr"),
      .uncorrectable_rows = Integer(rows, "remapped_row_unc"),
      .pending = Truth(rows, "remapped_row_pending"),
      .failure_occurred = Truth(rows, "remapped_row_failure"),
      .banks_without_spare = Integer(rows, "row_remapper_histogram/row_remapper_histogram_none")};
}

GpuRetiredPages ReadRetiredPages(pugi::xml_node gpu) {
  const pugi::xml_node pages = gpu.child("retired_pages");
  return {.count = Sum({Integer(pages, "multiple_single_bit_retirement/retired_count"),
                        Integer(pages, "double_bit_retirement/retired_count")}),
          .pending = Truth(pages, "pending_retirement", "pending_blacklist"),
          .threshold = std::nullopt};
}

GpuThermal ReadThermal(pugi::xml_node gpu) {
  const pugi::xml_node temperature = gpu.child("temperature");
  GpuThermal thermal{.core = Number(temperature, "gpu_temp"),
                     .memory = Number(temperature, "memory_temp"),
                     .slowdown = std::nullopt,
                     .margin_to_slowdown = std::nullopt};
  // Newer boards give no limits, but the distance to the limit and the distance at which they slow
  // down.
  const std::optional<double> left = Number(temperature, "gpu_temp_tlimit");
  const std::optional<double> slow_at = Number(temperature, "gpu_temp_slow_tlimit_threshold");
  const std::optional<double> slowdown = Number(temperature, "gpu_temp_slow_threshold");
  thermal.slowdown = slowdown;
  if (left.has_value() && slow_at.has_value()) {
    thermal.margin_to_slowdown = *left - *slow_at;
  } else if (slowdown.has_value() && thermal.core.has_value()) {
    thermal.margin_to_slowdown = *slowdown - *thermal.core;
  }
  return thermal;
}

GpuPower ReadPower(pugi::xml_node gpu) {
  pugi::xml_node power = gpu.child("gpu_power_readings");
  if (!power) power = gpu.child("power_readings");
  return {.draw = Number(power, "instant_power_draw", "power_draw", "average_power_draw"),
          .limit = Number(power, "enforced_power_limit", "current_power_limit", "power_limit"),
          .default_limit = Number(power, "default_power_limit"),
          .max_limit = Number(power, "max_power_limit")};
}

GpuClocks ReadClocks(pugi::xml_node gpu) {
  return {.sm = Number(gpu, "clocks/sm_clock"),
          .sm_max = Number(gpu, "max_clocks/sm_clock"),
          .application_graphics = Number(gpu, "applications_clocks/graphics_clock"),
          .default_graphics = Number(gpu, "default_applications_clocks/graphics_clock"),
          .application_memory = Number(gpu, "applications_clocks/mem_clock"),
          .default_memory = Number(gpu, "default_applications_clocks/mem_clock")};
}

GpuThrottle ReadThrottle(pugi::xml_node gpu) {
  const bool renamed = !gpu.child("clocks_event_reasons").empty();
  const pugi::xml_node reasons =
      gpu.child(renamed ? "clocks_event_reasons" : "clocks_throttle_reasons");
  const auto reason = [&](absl::string_view name) {
    const std::string tag =
        absl::StrCat(renamed ? "clocks_event_reason_" : "clocks_throttle_reason_", name);
    return Truth(reasons, tag.c_str());
  };
  return {.hw_thermal = reason("hw_thermal_slowdown"),
          .sw_thermal = reason("sw_thermal_slowdown"),
          .hw_power_brake = reason("hw_power_brake_slowdown"),
          .hw_slowdown = reason("hw_slowdown"),
          .sw_power_cap = reason("sw_power_cap"),
          .application_clocks = reason("applications_clocks_setting")};
}

GpuPcie ReadPcie(pugi::xml_node gpu) {
  const pugi::xml_node pci = gpu.child("pci");
  return {.gen_current = Integer(pci, "pci_gpu_link_info/pcie_gen/current_link_gen"),
          .gen_max = Integer(pci, "pci_gpu_link_info/pcie_gen/max_link_gen"),
          .width_current = Integer(pci, "pci_gpu_link_info/link_widths/current_link_width"),
          .width_max = Integer(pci, "pci_gpu_link_info/link_widths/max_link_width"),
          .replays = Integer(pci, "replay_counter")};
}

GpuFabric ReadFabric(pugi::xml_node gpu) {
  const pugi::xml_node node = gpu.child("fabric");
  GpuFabric fabric{.state = Text(node, "state"),
                   .status = Text(node, "status"),
                   .health_bad = {},
                   .spans_machines = {}};
  // Before the probe is through, the cluster means nothing.
  if (const std::string cluster = Text(node, "clusterUuid");
      !cluster.empty() && fabric.state == "Completed") {
    fabric.spans_machines = cluster.find_first_not_of("0-") != std::string::npos;
  }
  const auto learn = [&](bool bad) {
    fabric.health_bad = fabric.health_bad.value_or(false) || bad;
  };
  const pugi::xml_node health = node.child("health");
  if (const std::string text = Text(health, "summary"); !text.empty()) {
    learn(!absl::EqualsIgnoreCase(text, "Healthy"));
  }
  if (const std::string text = Text(health, "bandwidth"); !text.empty()) {
    learn(!absl::EqualsIgnoreCase(text, "Full"));
  }
  if (const std::string text = Text(health, "incorrect_configuration"); !text.empty()) {
    learn(!absl::EqualsIgnoreCase(text, "None"));
  }
  for (const char* flag :
       {"route_recovery_in_progress", "route_unhealthy", "access_timeout_recovery"}) {
    if (const std::optional<bool> bad = Truth(health, flag); bad.has_value()) learn(*bad);
  }
  return fabric;
}

GpuMig ReadMig(pugi::xml_node gpu) {
  GpuMig mig{.current = Text(gpu, "mig_mode/current_mig"),
             .pending = Text(gpu, "mig_mode/pending_mig"),
             .instances = std::nullopt};
  const pugi::xml_node list = gpu.child("mig_devices");
  if (list.empty()) return mig;  // a part of an output, or an old driver
  const auto devices = list.children("mig_device");
  mig.instances = static_cast<int>(std::distance(devices.begin(), devices.end()));
  return mig;
}

std::optional<std::vector<GpuProcess>> ReadProcesses(pugi::xml_node gpu) {
  const pugi::xml_node node = gpu.child("processes");
  if (!node || absl::EqualsIgnoreCase(RawText(gpu, "processes"), "N/A")) return std::nullopt;
  std::vector<GpuProcess> processes;
  for (const pugi::xml_node info : node.children("process_info")) {
    if (processes.size() == kMaxProcesses) break;
    processes.push_back({.pid = Integer(info, "pid").value_or(0),
                         .type = Text(info, "type"),
                         .name = Text(info, "process_name"),
                         .memory_mib = Number(info, "used_memory")});
  }
  return processes;
}

// Newer drivers name the action, older ones say whether a reset is needed.
std::string ReadRecoveryAction(pugi::xml_node gpu) {
  if (std::string action = Text(gpu, "gpu_recovery_action"); !action.empty()) return action;
  const pugi::xml_node status = gpu.child("gpu_reset_status");
  const std::optional<bool> reset = Truth(status, "reset_required");
  const std::optional<bool> drain = Truth(status, "drain_and_reset_recommended");
  if (reset.value_or(false)) return "GPU Reset";
  if (drain.value_or(false)) return "Drain and Reset";
  return reset.has_value() ? "None" : "";
}

Gpu ReadGpu(pugi::xml_node node, int index) {
  Gpu gpu;
  gpu.index = index;
  gpu.vendor = "NVIDIA";
  gpu.lost = absl::EqualsIgnoreCase(RawText(node, "performance_state"), "GPU is lost");
  gpu.product = Text(node, "product_name");
  gpu.architecture = Text(node, "product_architecture");
  gpu.uuid = Text(node, "uuid");
  gpu.serial = Text(node, "serial");
  gpu.pci_address = CanonicalPciAddress(Text(node, "pci/pci_bus_id"));
  if (gpu.pci_address.empty()) {
    gpu.pci_address = CanonicalPciAddress(node.attribute("id").as_string());
  }
  gpu.vbios = Text(node, "vbios_version");
  gpu.inforom_image = Text(node, "inforom_version/img_version");
  gpu.gsp_firmware = Text(node, "gsp_firmware_version");
  gpu.virtualization = Text(node, "gpu_virtualization_mode/virtualization_mode");
  gpu.performance_state = Text(node, "performance_state");
  gpu.compute_mode = Text(node, "compute_mode");
  gpu.requires_reset =
      absl::EqualsIgnoreCase(RawText(node, "performance_state"), "GPU requires reset");
  gpu.recovery_action = ReadRecoveryAction(node);
  gpu.persistence = Truth(node, "persistence_mode");
  gpu.utilization = Number(node, "utilization/gpu_util");
  gpu.memory_total_mib = Number(node, "fb_memory_usage/total");
  gpu.memory_used_mib = Number(node, "fb_memory_usage/used");
  gpu.bar1_mib = Number(node, "bar1_memory_usage/total");
  gpu.ecc = ReadEcc(node);
  gpu.row_remap = ReadRowRemap(node);
  gpu.retired_pages = ReadRetiredPages(node);
  gpu.thermal = ReadThermal(node);
  gpu.power = ReadPower(node);
  gpu.clocks = ReadClocks(node);
  gpu.throttle = ReadThrottle(node);
  gpu.pcie = ReadPcie(node);
  gpu.fabric = ReadFabric(node);
  gpu.mig = ReadMig(node);
  gpu.processes = ReadProcesses(node);
  return gpu;
}

// The characters that a number begins `text` with.
absl::string_view NumberPrefix(absl::string_view text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  std::size_t size = 0;
  while (size < text.size() &&
         (absl::ascii_isdigit(text[size]) || absl::StrContains("+-.", text.substr(size, 1)))) {
    ++size;
  }
  return text.substr(0, size);
}

bool IsHex(absl::string_view text) {
  for (const char c : text) {
    if (!absl::ascii_isxdigit(c)) return false;
  }
  return !text.empty();
}

}  // namespace

std::string DeviceName(const Gpu& gpu) { return absl::StrCat("gpu:", gpu.index); }

absl::StatusOr<GpuState> ParseGpuState(absl::string_view output) {
  const std::size_t begin = output.find(kRootOpen);
  if (begin == absl::string_view::npos) {
    return absl::DataLossError("nvidia-smi -q -x: the output holds no nvidia_smi_log");
  }
  const std::size_t close = output.find(kRootClose, begin);
  if (close == absl::string_view::npos) {
    return absl::DataLossError(
        "nvidia-smi -q -x: the XML is cut off before </nvidia_smi_log>; capture it again");
  }
  GpuState state;
  state.source = "nvidia-smi -q -x";
  state.raw = std::string(output.substr(begin, close + kRootClose.size() - begin));
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(
      state.raw.data(), state.raw.size(), pugi::parse_default, pugi::encoding_utf8);
  const pugi::xml_node root = document.child("nvidia_smi_log");
  if (!parsed || !root) {
    return absl::DataLossError(absl::StrCat("nvidia-smi -q -x: the XML is broken at byte ",
                                            parsed.offset, ": ", parsed.description()));
  }
  // The header of the XML itself is not a remark.
  for (absl::string_view line : absl::StrSplit(output.substr(0, begin), '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty() && line.front() != '<') absl::StrAppend(&state.remarks, line, "\n");
  }
  absl::StrAppend(&state.remarks,
                  absl::StripAsciiWhitespace(output.substr(close + kRootClose.size())));
  state.driver_version = Text(root, "driver_version");
  state.cuda_version = Text(root, "cuda_version");
  for (const pugi::xml_node node : root.children("gpu")) {
    if (state.gpus.size() == kMaxListedGpus) {
      return absl::DataLossError(
          absl::StrCat("nvidia-smi -q -x: lists more than ", kMaxListedGpus, " GPUs"));
    }
    state.gpus.push_back(ReadGpu(node, static_cast<int>(state.gpus.size())));
  }
  return state;
}

std::string CanonicalPciAddress(absl::string_view address) {
  std::vector<absl::string_view> parts = absl::StrSplit(absl::StripAsciiWhitespace(address), ':');
  if (parts.size() == 2) parts.insert(parts.begin(), "0000");
  if (parts.size() != 3 || !IsHex(parts[0]) || parts[0].size() > 8 || !IsHex(parts[1]) ||
      parts[1].size() > 2) {
    return "";
  }
  const std::pair<absl::string_view, absl::string_view> slot =
      absl::StrSplit(parts[2], absl::MaxSplits('.', 1));
  const absl::string_view function = slot.second.empty() ? "0" : slot.second;
  if (!IsHex(slot.first) || slot.first.size() > 2 || !IsHex(function) || function.size() > 1) {
    return "";
  }
  absl::string_view domain = parts[0];
  while (domain.size() > 4 && domain.front() == '0') domain.remove_prefix(1);
  return absl::AsciiStrToLower(absl::StrCat(domain, ":", parts[1], ":", slot.first, ".", function));
}

bool SaysNothing(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (absl::ConsumePrefix(&text, "[")) absl::ConsumeSuffix(&text, "]");
  if (text.empty()) return true;
  for (const absl::string_view nothing :
       {"N/A", "Not Supported", "Unknown Error", "Unknown", "ERR!", "GPU requires reset",
        "GPU is lost", "Not Found", "Insufficient Permissions",
        "Requested functionality has been deprecated"}) {
    if (absl::EqualsIgnoreCase(text, nothing)) return true;
  }
  return false;
}

std::optional<double> LeadingNumber(absl::string_view text) {
  double value = 0;
  if (!absl::SimpleAtod(NumberPrefix(text), &value) || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> LeadingInteger(absl::string_view text) {
  std::int64_t value = 0;
  if (!absl::SimpleAtoi(NumberPrefix(text), &value)) return std::nullopt;
  return value;
}

}  // namespace galen::node
