#include "services/node/checks/gpu/nvml_reader.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "services/node/checks/gpu/nvml_device.h"

namespace galen::node::nvml {
namespace {

constexpr unsigned kMaxNvmlGpus = 1024;
constexpr unsigned kMaxProcesses = 1000;
constexpr unsigned kMaxMigDevices = 64;
constexpr double kNvmlBytesPerMib = 1024.0 * 1024.0;
constexpr double kMilliwattsPerWatt = 1000;

// Names that nvidia-smi has for the numbers of NVML; "" for one that we do not know.
template <std::size_t Size>
std::string NameOf(const std::optional<unsigned>& number,
                   const std::array<const char*, Size>& names) {
  return number.has_value() && *number < Size ? names[*number] : "";
}

template <typename Integer>
std::optional<std::int64_t> Signed(const std::optional<Integer>& number) {
  if (!number.has_value()) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

template <typename Integer>
std::optional<double> Scaled(const std::optional<Integer>& number, double divisor) {
  if (!number.has_value()) return std::nullopt;
  return static_cast<double>(*number) / divisor;
}

// nvidia-smi cuts memory to whole MiB and rounds power to hundredths.
std::optional<double> Mib(const std::optional<unsigned long long>& bytes) {
  if (!bytes.has_value()) return std::nullopt;
  return std::floor(static_cast<double>(*bytes) / kNvmlBytesPerMib);
}

std::optional<double> Watts(const std::optional<double>& milliwatts) {
  if (!milliwatts.has_value()) return std::nullopt;
  return std::round(*milliwatts / kMilliwattsPerWatt * 100) / 100;
}

std::optional<double> Watts(const std::optional<unsigned>& milliwatts) {
  return Watts(Scaled(milliwatts, 1));
}

std::optional<bool> Truth(const std::optional<unsigned>& number) {
  if (!number.has_value()) return std::nullopt;
  return *number != 0;
}

void ReadIdentity(DeviceReader& device) {
  const Api& api = device.api();
  Gpu& gpu = device.gpu();
  device.Begin("product_name");
  gpu.product = device.Text(api.name);
  gpu.architecture = NameOf(device.Number(api.architecture),
                            std::array{"", "", "Kepler", "Maxwell", "Pascal", "Volta", "Turing",
                                       "Ampere", "Ada Lovelace", "Hopper", "Blackwell"});
  gpu.uuid = device.Text(api.uuid);
  gpu.serial = device.Text(api.serial);
  if (const auto pci = device.Ask<PciInfo>(api.pci, {}); pci.has_value()) {
    gpu.pci_address = CanonicalPciAddress(
        absl::string_view(pci->bus_id, strnlen(pci->bus_id, sizeof(pci->bus_id))));
  }
  device.Begin("inforom_version");
  gpu.vbios = device.Text(api.vbios);
  gpu.inforom_image = device.Text(api.inforom_image);
  gpu.gsp_firmware = device.Text(api.gsp_version);
  const Return valid = device.Call(api.validate_inforom);
  device.Note(api.validate_inforom.name, valid, "valid");
  if (valid == kSuccess || valid == kCorruptedInforom) {
    gpu.inforom_corrupted = valid == kCorruptedInforom;
  }
  gpu.virtualization = NameOf(device.Number(api.virtualization),
                              std::array{"None", "Pass-Through", "VGPU", "Host VGPU", "Host VSGA"});
}

void ReadSettings(DeviceReader& device) {
  const Api& api = device.api();
  Gpu& gpu = device.gpu();
  device.Begin("mig_mode");
  const std::optional<unsigned> state = device.Number(api.performance_state);
  if (state.has_value() && *state <= 15) gpu.performance_state = absl::StrCat("P", *state);
  gpu.compute_mode =
      NameOf(device.Number(api.compute_mode),
             std::array{"Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process"});
  gpu.persistence = Truth(device.Number(api.persistence));
  unsigned current = 0;
  unsigned pending = 0;
  const Return code = device.Call(api.mig_mode, &current, &pending);
  device.Note(api.mig_mode.name, code, absl::StrCat(current, " pending ", pending));
  if (code != kSuccess) return;
  gpu.mig.current = current != 0 ? "Enabled" : "Disabled";
  gpu.mig.pending = pending != 0 ? "Enabled" : "Disabled";
  gpu.mig.instances = 0;
  if (current == 0) return;
  const unsigned most = device.Number(api.max_mig_devices).value_or(0);
  for (unsigned i = 0; i < std::min(most, kMaxMigDevices); ++i) {
    Device instance = nullptr;
    if (device.Call(api.mig_device, i, &instance) == kSuccess) ++*gpu.mig.instances;
  }
}

// A sum has no value if none of its parts is reported.
EccCounts ReadEccCounts(DeviceReader& device, unsigned counter) {
  const auto ask = [&](unsigned type, unsigned place) {
    return Signed(device.Ask<unsigned long long>(device.api().ecc_errors, 0, type, counter, place));
  };
  const auto on_chip = [&](unsigned type) {
    std::optional<std::int64_t> sum = ask(type, kSram);
    if (sum.has_value()) return sum;
    // Up to Volta each structure of the chip is counted for itself.
    for (const unsigned place :
         {kL1Cache, kL2Cache, kRegisterFile, kTextureMemory, kTextureShm, kCbu}) {
      if (const auto count = ask(type, place); count.has_value()) sum = sum.value_or(0) + *count;
    }
    return sum;
  };
  return {.dram_correctable = ask(kCorrected, kDram),
          .dram_uncorrectable = ask(kUncorrected, kDram),
          .sram_correctable = on_chip(kCorrected),
          .sram_uncorrectable = on_chip(kUncorrected)};
}

void ReadMemoryHealth(DeviceReader& device) {
  const Api& api = device.api();
  Gpu& gpu = device.gpu();
  device.Begin("ecc_errors");
  unsigned current = 0;
  unsigned pending = 0;
  if (device.Call(api.ecc_mode, &current, &pending) == kSuccess) {
    gpu.ecc.mode = current != 0 ? "Enabled" : "Disabled";
  }
  if (gpu.ecc.mode == "Enabled") {
    gpu.ecc.since_boot = ReadEccCounts(device, kSinceBoot);
    gpu.ecc.lifetime = ReadEccCounts(device, kLifetime);
    EccSramStatus status{};
    status.version = Version<EccSramStatus>(1);
    if (const auto sram = device.Ask(api.ecc_sram, status); sram.has_value()) {
      gpu.ecc.sram_threshold_exceeded = sram->threshold_exceeded != 0;
    }
  }

  device.Begin("remapped_rows");
  unsigned correctable = 0;
  unsigned uncorrectable = 0;
  unsigned waiting = 0;
  unsigned failed = 0;
  const Return rows =
      device.Call(api.remapped_rows, &correctable, &uncorrectable, &waiting, &failed);
  device.Note(api.remapped_rows.name, rows,
              absl::StrCat("correctable ", correctable, ", uncorrectable ", uncorrectable,
                           ", pending ", waiting, ", failed ", failed));
  if (rows == kSuccess) {
    gpu.row_remap.correctable_rows = correctable;
    gpu.row_remap.uncorrectable_rows = uncorrectable;
    gpu.row_remap.pending = waiting != 0;
    gpu.row_remap.failure_occurred = failed != 0;
  }
  if (const auto histogram = device.Ask<RowRemapperHistogram>(api.row_histogram, {});
      histogram.has_value()) {
    gpu.row_remap.banks_without_spare = histogram->none;
  }

  device.Begin("retired_pages");
  for (const unsigned cause : {kRetiredSingleBit, kRetiredDoubleBit}) {
    unsigned count = 0;
    const Return code =
        device.Call(api.retired_pages, cause, &count, static_cast<unsigned long long*>(nullptr));
    device.Note(api.retired_pages.name, code, absl::StrCat(count));
    // Called without a buffer, it returns the number of addresses and an error about the size.
    if (code != kSuccess && code != kInsufficientSize) continue;
    gpu.retired_pages.count = gpu.retired_pages.count.value_or(0) + count;
  }
  gpu.retired_pages.pending = Truth(device.Number(api.retirement_pending));
}

void ReadThermal(DeviceReader& device) {
  const Api& api = device.api();
  GpuThermal& thermal = device.gpu().thermal;
  device.Begin("temperature");
  thermal.core = Scaled(device.Number(api.temperature, kSensorGpu), 1);
  thermal.memory = device.Field(kFieldMemoryTemperature);
  // Boards without the sensor answer 0, which is colder than any memory in use.
  if (thermal.memory == 0.0) thermal.memory = std::nullopt;
  MarginTemperature start{};
  start.version = Version<MarginTemperature>(1);
  thermal.slowdown = Scaled(device.Number(api.temperature_threshold, kThresholdSlowdown), 1);
  const auto left = device.Ask(api.margin, start);
  std::optional<double> slow_at;
  if (left.has_value()) slow_at = device.Field(kFieldSlowdownTlimit);
  if (left.has_value() && slow_at.has_value()) {
    thermal.margin_to_slowdown = left->margin - *slow_at;
  } else if (thermal.slowdown.has_value() && thermal.core.has_value()) {
    thermal.margin_to_slowdown = *thermal.slowdown - *thermal.core;
  }
}

void ReadPowerAndClocks(DeviceReader& device) {
  const Api& api = device.api();
  Gpu& gpu = device.gpu();
  device.Begin("gpu_power_readings");
  gpu.power.draw = Watts(device.Field(kFieldPowerInstant));
  if (!gpu.power.draw.has_value()) gpu.power.draw = Watts(device.Number(api.power_usage));
  gpu.power.limit = Watts(device.Number(api.power_limit));
  gpu.power.default_limit = Watts(device.Number(api.power_default));
  unsigned least = 0;
  unsigned most = 0;
  if (device.Call(api.power_range, &least, &most) == kSuccess) {
    gpu.power.max_limit = Watts(std::optional<unsigned>(most));
  }

  device.Begin("clocks");
  const auto mhz = [&](const auto& function, unsigned clock) {
    return Scaled(device.Number(function, clock), 1);
  };
  gpu.clocks = {.sm = mhz(api.clock, kClockSm),
                .sm_max = mhz(api.max_clock, kClockSm),
                .application_graphics = mhz(api.application_clock, kClockGraphics),
                .default_graphics = mhz(api.default_clock, kClockGraphics),
                .application_memory = mhz(api.application_clock, kClockMemory),
                .default_memory = mhz(api.default_clock, kClockMemory)};

  device.Begin("clocks_event_reasons");
  const auto& reasons =
      api.event_reasons.call != nullptr ? api.event_reasons : api.throttle_reasons;
  if (const auto bits = device.Ask<unsigned long long>(reasons, 0); bits.has_value()) {
    gpu.throttle = {.hw_thermal = (*bits & kReasonHwThermal) != 0,
                    .sw_thermal = (*bits & kReasonSwThermal) != 0,
                    .hw_power_brake = (*bits & kReasonHwPowerBrake) != 0,
                    .hw_slowdown = (*bits & kReasonHwSlowdown) != 0,
                    .sw_power_cap = (*bits & kReasonSwPowerCap) != 0,
                    .application_clocks = (*bits & kReasonApplicationClocks) != 0};
  }
}

void ReadUse(DeviceReader& device) {
  const Api& api = device.api();
  Gpu& gpu = device.gpu();
  device.Begin("utilization");
  if (const auto rates = device.Ask<Utilization>(api.utilization, {}); rates.has_value()) {
    gpu.utilization = rates->gpu;
  }
  MemoryV2 start{};
  start.version = Version<MemoryV2>(2);
  if (const auto memory = device.Ask(api.memory_v2, start); memory.has_value()) {
    gpu.memory_total_mib = Mib(memory->total);
    gpu.memory_used_mib = Mib(memory->used);
  } else if (const auto older = device.Ask<Memory>(api.memory, {}); older.has_value()) {
    gpu.memory_total_mib = Mib(older->total);
    gpu.memory_used_mib = Mib(older->used);
  }
  if (const auto bar1 = device.Ask<Memory>(api.bar1, {}); bar1.has_value()) {
    gpu.bar1_mib = Mib(bar1->total);
  }
  device.Begin("pci_gpu_link_info");
  gpu.pcie = {.gen_current = Signed(device.Number(api.link_generation)),
              .gen_max = Signed(device.Number(api.max_link_generation)),
              .width_current = Signed(device.Number(api.link_width)),
              .width_max = Signed(device.Number(api.max_link_width)),
              .replays = Signed(device.Number(api.replays))};
}

void ReadFabric(DeviceReader& device) {
  GpuFabric& fabric = device.gpu().fabric;
  device.Begin("fabric");
  FabricInfoV3 start{};
  start.version = Version<FabricInfoV3>(3);
  FabricInfoV3 info = start;
  Return code = device.Call(device.api().fabric, static_cast<void*>(&info));
  if (code != kSuccess && code != kNotSupported) {
    // A driver that knows version 2 only.
    FabricInfoV2 older{};
    older.version = Version<FabricInfoV2>(2);
    code = device.Call(device.api().fabric, static_cast<void*>(&older));
    info = start;
    std::copy(std::begin(older.cluster), std::end(older.cluster), std::begin(info.cluster));
    info.status = older.status;
    info.state = older.state;
    info.health = older.health;
  }
  device.Note(device.api().fabric.name, code,
              absl::StrCat("state ", static_cast<int>(info.state), ", status ", info.status,
                           ", health mask ", absl::Hex(info.health)));
  if (code != kSuccess || info.state == 0) return;
  fabric.state = NameOf(std::optional<unsigned>(info.state),
                        std::array{"", "Not Started", "In Progress", "Completed"});
  // Status and cluster mean something once the probe is through.
  if (info.state == 3) {
    fabric.status = ErrorText(device.api(), info.status);
    fabric.spans_machines = std::any_of(std::begin(info.cluster), std::end(info.cluster),
                                        [](unsigned char byte) { return byte != 0; });
  }
  const auto learn = [&](bool bad) {
    fabric.health_bad = fabric.health_bad.value_or(false) || bad;
  };
  // Four answers of two bits, 1 is bad and 2 is fine; then the configuration, 1 is fine.
  for (const unsigned shift : {0U, 2U, 4U, 6U}) {
    const unsigned answer = (info.health >> shift) & 3U;
    if (answer == 1 || answer == 2) learn(answer == 1);
  }
  if (const unsigned configuration = (info.health >> 8U) & 15U; configuration != 0) {
    learn(configuration != 1);
  }
  if (info.summary != 0) learn(info.summary != 1);
}

void ReadProcesses(DeviceReader& device) {
  const Api& api = device.api();
  device.Begin("processes");
  std::map<unsigned, GpuProcess> processes;
  bool told = false;
  const auto read = [&](const auto& function, const char* type) {
    std::vector<ProcessInfo> infos(kMaxProcesses);
    unsigned count = kMaxProcesses;
    const Return code = device.Call(function, &count, infos.data());
    device.Note(function.name, code, absl::StrCat(count, " processes"));
    if (code != kSuccess) return;
    told = true;
    for (unsigned i = 0; i < std::min(count, kMaxProcesses); ++i) {
      GpuProcess& process = processes[infos[i].pid];
      process.pid = infos[i].pid;
      process.type = process.type.empty() ? type : "C+G";
      if (infos[i].memory != ~0ULL) process.memory_mib = Mib(infos[i].memory);
    }
  };
  read(api.compute_processes, "C");
  read(api.graphics_processes, "G");
  if (!told) return;
  std::vector<GpuProcess>& listed = device.gpu().processes.emplace();
  for (auto& [pid, process] : processes) {
    std::array<char, 256> name{};
    if (api.process_name.call != nullptr &&
        api.process_name.call(pid, name.data(), static_cast<unsigned>(name.size() - 1)) ==
            kSuccess) {
      process.name = CleanText(name.data(), name.size());
    }
    listed.push_back(std::move(process));
  }
}

// Newer drivers name the action, and some before them say whether a reset is needed.
void ReadRecoveryAction(DeviceReader& device) {
  device.Begin("gpu_recovery_action");
  if (const auto action = device.Field(kFieldRecoveryAction); action.has_value() && *action >= 0) {
    device.gpu().recovery_action =
        NameOf(std::optional<unsigned>(static_cast<unsigned>(*action)),
               std::array{"None", "GPU Reset", "Node Reboot", "Drain P2P", "Drain and Reset"});
  }
}

// An effective bit error rate is encoded as mantissa (bits 8 to 11) and power of ten (bits 0 to 7).
std::optional<double> BitErrorRate(const std::optional<double>& code) {
  if (!code.has_value() || *code < 0 || *code > 0xFFF) return std::nullopt;
  const auto bits = static_cast<unsigned>(*code);
  return static_cast<double>((bits >> 8U) & 15U) *
         std::pow(10.0, -static_cast<double>(bits & 255U));
}

void ReadLinks(DeviceReader& device, GpuState& state) {
  const Api& api = device.api();
  Gpu& gpu = device.gpu();
  device.Begin("nvlink");
  GpuLinks links{.index = gpu.index, .product = gpu.product, .uuid = gpu.uuid};
  GpuLinkErrors errors{.index = gpu.index, .uuid = gpu.uuid};
  for (unsigned link = 0; link < kMaxLinks; ++link) {
    const auto active = device.Number(api.nvlink_state, link);
    if (!active.has_value()) break;
    links.links[static_cast<int>(link)] = *active != 0;
    if (*active == 0) continue;
    const auto count = [&](unsigned counter) {
      return Signed(device.Ask<unsigned long long>(api.nvlink_errors, 0, link, counter));
    };
    LinkErrors& of_link = errors.links[static_cast<int>(link)];
    of_link.crc = count(kLinkCrcFlit);
    of_link.replay = count(kLinkReplay);
    of_link.recovery = count(kLinkRecovery);
    if (!of_link.recovery.has_value()) {
      if (const auto events = device.Field(kFieldLinkRecovery, link); events.has_value()) {
        of_link.recovery = static_cast<std::int64_t>(*events);
      }
      of_link.effective_ber = BitErrorRate(device.Field(kFieldEffectiveBer, link));
    }
  }
  links.not_supported = links.links.empty();
  state.nvlinks.push_back(std::move(links));
  state.nvlink_errors.push_back(std::move(errors));

  device.Begin("c2c");
  GpuLinks c2c{.index = gpu.index, .product = gpu.product, .uuid = gpu.uuid};
  const double count = device.Field(kFieldC2cLinkCount).value_or(0);
  for (unsigned link = 0; link < std::min(count, static_cast<double>(kMaxLinks)); ++link) {
    const auto status = device.Field(kFieldC2cLinkStatus, link);
    if (status.has_value()) c2c.links[static_cast<int>(link)] = *status == 1;
  }
  c2c.not_supported = c2c.links.empty();
  state.c2c_links.push_back(std::move(c2c));
}

void Complain(Answer& answer, const Api& api, Return code, absl::string_view where) {
  if (answer.code == kSuccess) answer.code = code;
  absl::StrAppend(&answer.complaint, answer.complaint.empty() ? "" : "; ", where,
                  ErrorText(api, code));
}

void ReadGpu(const Api& api, unsigned index, Answer& answer) {
  Gpu& gpu = answer.state.gpus.emplace_back();
  gpu.index = static_cast<int>(index);
  gpu.vendor = "NVIDIA";
  Device device = nullptr;
  const Return code = api.handle.call(index, &device);
  DeviceReader reader(api, device, gpu, answer.state.readings);
  if (code != kSuccess) {
    gpu.lost = code == kGpuIsLost;
    gpu.requires_reset = code == kResetRequired;
    // A GPU that this caller has no permission for still exists.
    gpu.unreachable = code != kNoPermission;
    reader.Note(api.handle.name, code, "");
    Complain(answer, api, code,
             absl::StrCat("Unable to determine the device handle for GPU ", index, ": "));
    return;
  }
  ReadIdentity(reader);
  ReadSettings(reader);
  ReadMemoryHealth(reader);
  ReadThermal(reader);
  ReadPowerAndClocks(reader);
  ReadUse(reader);
  ReadFabric(reader);
  ReadProcesses(reader);
  ReadRecoveryAction(reader);
  ReadLinks(reader, answer.state);
  if (gpu.lost) Complain(answer, api, kGpuIsLost, absl::StrCat("GPU ", index, ": "));
  if (gpu.inforom_corrupted.value_or(false)) {
    Complain(answer, api, kCorruptedInforom,
             absl::StrCat("GPU ", index, " ", gpu.pci_address, ": "));
  }
}

}  // namespace

Answer ReadAll(const Api& api) {
  Answer answer;
  answer.state.source = "NVML";
  if (const Return code = api.init.call(); code != kSuccess) {
    Complain(answer, api, code, "Failed to initialize NVML: ");
    return answer;
  }
  std::array<char, 128> version{};
  if (api.driver_version.call != nullptr &&
      api.driver_version.call(version.data(), static_cast<unsigned>(version.size() - 1)) ==
          kSuccess) {
    answer.state.driver_version = CleanText(version.data(), version.size());
  }
  int cuda = 0;
  if (api.cuda_version.call != nullptr && api.cuda_version.call(&cuda) == kSuccess && cuda > 0) {
    answer.state.cuda_version = absl::StrCat(cuda / 1000, ".", cuda % 1000 / 10);
  }
  unsigned count = 0;
  if (const Return code = api.count.call(&count); code != kSuccess) {
    Complain(answer, api, code, "Unable to count the devices: ");
  }
  for (unsigned index = 0; index < std::min(count, kMaxNvmlGpus); ++index) {
    ReadGpu(api, index, answer);
  }
  api.shutdown.call();
  return answer;
}

}  // namespace galen::node::nvml
