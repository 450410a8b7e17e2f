// nvidia_smi_csv: the table of `nvidia-smi --query-gpu=... --format=csv`, with noheader and nounits
// too (nvidia-smi --help-query-gpu). Its heading, or else the command, names the columns.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/nvidia_smi.h"
#include "common/intake/forms/pasted.h"
#include "common/intake/forms/series.h"
#include "re2/re2.h"

namespace galen::intake {
namespace {

constexpr std::size_t kMostCsvColumns = 512;
// A heading with all columns has 8 KiB.
constexpr std::size_t kLongestCsvLine = 65536;

using CsvNames = std::map<absl::string_view, absl::string_view>;
using CsvPair = std::pair<absl::string_view, absl::string_view>;

// The path of a column in the XML, below a GPU.
const CsvNames& CsvColumns() {
  static const auto* const columns = new CsvNames{
      {"name", "product_name"},
      {"gpu_name", "product_name"},
      {"serial", "serial"},
      {"gpu_serial", "serial"},
      {"uuid", "uuid"},
      {"gpu_uuid", "uuid"},
      {"pci.bus_id", "pci/pci_bus_id"},
      {"gpu_bus_id", "pci/pci_bus_id"},
      {"pci.device_id", "pci/pci_device_id"},
      {"pcie.link.gen.current", "pci/pci_gpu_link_info/pcie_gen/current_link_gen"},
      {"pcie.link.gen.gpucurrent", "pci/pci_gpu_link_info/pcie_gen/device_current_link_gen"},
      {"pcie.link.gen.max", "pci/pci_gpu_link_info/pcie_gen/max_link_gen"},
      {"pcie.link.gen.gpumax", "pci/pci_gpu_link_info/pcie_gen/max_device_link_gen"},
      {"pcie.link.gen.hostmax", "pci/pci_gpu_link_info/pcie_gen/max_host_link_gen"},
      {"pcie.link.width.current", "pci/pci_gpu_link_info/link_widths/current_link_width"},
      {"pcie.link.width.max", "pci/pci_gpu_link_info/link_widths/max_link_width"},
      {"display_mode", "display_mode"},
      {"display_active", "display_active"},
      {"persistence_mode", "persistence_mode"},
      {"addressing_mode", "addressing_mode"},
      {"vbios_version", "vbios_version"},
      {"inforom.img", "inforom_version/img_version"},
      {"inforom.image", "inforom_version/img_version"},
      {"inforom.oem", "inforom_version/oem_object"},
      {"inforom.ecc", "inforom_version/ecc_object"},
      {"gpu_recovery_action", "gpu_recovery_action"},
      {"fan.speed", "fan_speed"},
      {"pstate", "performance_state"},
      {"memory.total", "fb_memory_usage/total"},
      {"memory.reserved", "fb_memory_usage/reserved"},
      {"memory.used", "fb_memory_usage/used"},
      {"memory.free", "fb_memory_usage/free"},
      {"compute_mode", "compute_mode"},
      {"utilization.gpu", "utilization/gpu_util"},
      {"utilization.memory", "utilization/memory_util"},
      {"ecc.mode.current", "ecc_mode/current_ecc"},
      {"ecc.mode.pending", "ecc_mode/pending_ecc"},
      {"retired_pages.single_bit_ecc.count",
       "retired_pages/multiple_single_bit_retirement/retired_count"},
      {"retired_pages.sbe", "retired_pages/multiple_single_bit_retirement/retired_count"},
      {"retired_pages.double_bit.count", "retired_pages/double_bit_retirement/retired_count"},
      {"retired_pages.dbe", "retired_pages/double_bit_retirement/retired_count"},
      {"retired_pages.pending", "retired_pages/pending_retirement"},
      {"remapped_rows.correctable", "remapped_rows/remapped_row_corr"},
      {"remapped_rows.uncorrectable", "remapped_rows/remapped_row_unc"},
      {"remapped_rows.pending", "remapped_rows/remapped_row_pending"},
      {"remapped_rows.failure", "remapped_rows/remapped_row_failure"},
      {"temperature.gpu", "temperature/gpu_temp"},
      {"temperature.gpu.tlimit", "temperature/gpu_temp_tlimit"},
      {"temperature.memory", "temperature/memory_temp"},
      {"power.draw", "gpu_power_readings/power_draw"},
      {"power.draw.average", "gpu_power_readings/average_power_draw"},
      {"power.draw.instant", "gpu_power_readings/instant_power_draw"},
      {"power.limit", "gpu_power_readings/power_limit"},
      {"enforced.power.limit", "gpu_power_readings/current_power_limit"},
      {"power.default_limit", "gpu_power_readings/default_power_limit"},
      {"power.min_limit", "gpu_power_readings/min_power_limit"},
      {"power.max_limit", "gpu_power_readings/max_power_limit"},
      {"mig.mode.current", "mig_mode/current_mig"},
      {"mig.mode.pending", "mig_mode/pending_mig"},
      {"c2c.mode", "c2c_mode"},
      {"fabric.state", "fabric/state"},
      {"fabric.status", "fabric/status"},
      {"fabric.cliqueid", "fabric/cliqueId"},
      {"fabric.clusteruuid", "fabric/clusterUuid"},
  };
  return *columns;
}

// The clocks of one kind: "clocks.max.sm" to "max_clocks/sm_clock"; "" for other columns.
std::string ClockPath(absl::string_view column) {
  if (!absl::ConsumePrefix(&column, "clocks.")) return "";
  static constexpr CsvPair kSections[] = {{"current.", "clocks"},
                                          {"default_applications.", "default_applications_clocks"},
                                          {"applications.", "applications_clocks"},
                                          {"max.", "max_clocks"}};
  static constexpr CsvPair kClocks[] = {
      {"graphics", "graphics_clock"}, {"gr", "graphics_clock"}, {"sm", "sm_clock"},
      {"memory", "mem_clock"},        {"mem", "mem_clock"},     {"video", "video_clock"}};
  absl::string_view section = "clocks";
  for (const auto& [prefix, tag] : kSections) {
    if (absl::ConsumePrefix(&column, prefix)) section = tag;
  }
  for (const auto& [name, tag] : kClocks) {
    if (column == name) return absl::StrCat(section, "/", tag);
  }
  return "";
}

// "ecc.errors.uncorrected.volatile.dram" to "ecc_errors/volatile/dram_uncorrectable"; "" for other
// columns, totals among them.
std::string EccPath(absl::string_view column) {
  if (!absl::ConsumePrefix(&column, "ecc.errors.")) return "";
  const bool corrected = absl::ConsumePrefix(&column, "corrected.");
  if (!corrected && !absl::ConsumePrefix(&column, "uncorrected.")) return "";
  const absl::string_view since = absl::StartsWith(column, "volatile.") ? "volatile" : "aggregate";
  if (!absl::ConsumePrefix(&column, since) || !absl::ConsumePrefix(&column, ".")) return "";
  const auto path = [&](absl::string_view tag) {
    return absl::StrCat("ecc_errors/", since, "/", tag);
  };
  if (column == "dram" || column == "sram") {
    return path(absl::StrCat(column, corrected ? "_correctable" : "_uncorrectable"));
  }
  if (column == "sram.parity") return path("sram_uncorrectable_parity");
  if (column == "sram.secded") return path("sram_uncorrectable_secded");
  if (column == "sram.thresholdexceeded") return path("sram_threshold_exceeded");
  for (const absl::string_view part :
       {"device_memory", "register_file", "l1_cache", "l2_cache", "texture_memory", "cbu"}) {
    if (column == part) return path(absl::StrCat(corrected ? "single_bit/" : "double_bit/", part));
  }
  return "";
}

// "clocks_event_reasons.sw_power_cap", and before driver 535 "clocks_throttle_reasons.".
std::string ReasonPath(absl::string_view column) {
  for (const absl::string_view section : {"clocks_event_reasons", "clocks_throttle_reasons"}) {
    absl::string_view reason = column;
    if (!absl::ConsumePrefix(&reason, section) || !absl::ConsumePrefix(&reason, ".")) continue;
    if (reason == "active" || reason == "supported") return "";
    return absl::StrCat(section, "/", absl::StripSuffix(section, "s"), "_", reason);
  }
  return "";
}

// Columns of a group whose names the XML has too.
std::string GroupPath(absl::string_view column) {
  if (absl::ConsumePrefix(&column, "fabric.health.")) {
    return absl::StrCat("fabric/health/", column);
  }
  if (absl::ConsumePrefix(&column, "remapped_rows.histogram.")) {
    return absl::StrCat("remapped_rows/row_remapper_histogram/row_remapper_histogram_", column);
  }
  return "";
}

// The path of a column in the XML; "" for one that the XML does not have.
std::string CsvPath(absl::string_view column) {
  if (const auto known = CsvColumns().find(column); known != CsvColumns().end()) {
    return std::string(known->second);
  }
  for (std::string (*const path)(absl::string_view) : {ClockPath, EccPath, ReasonPath, GroupPath}) {
    if (std::string found = path(column); !found.empty()) return found;
  }
  return "";
}

// The bits of "clocks_event_reasons.active" (nvml.h, nvmlClocksEventReason).
void SetReasons(absl::string_view section, absl::string_view mask, XmlElement* gpu) {
  std::uint64_t bits = 0;
  if (!absl::ConsumePrefix(&mask, "0x") || !absl::SimpleHexAtoi(mask, &bits)) return;
  static constexpr std::array<absl::string_view, 9> kReasons = {"gpu_idle",
                                                                "applications_clocks_setting",
                                                                "sw_power_cap",
                                                                "hw_slowdown",
                                                                "sync_boost",
                                                                "sw_thermal_slowdown",
                                                                "hw_thermal_slowdown",
                                                                "hw_power_brake_slowdown",
                                                                "display_clocks_setting"};
  for (std::size_t i = 0; i < kReasons.size(); ++i) {
    gpu->Set(absl::StrCat(section, "/", absl::StripSuffix(section, "s"), "_", kReasons[i]),
             (bits >> i & 1) != 0 ? "Active" : "Not Active");
  }
}

// Names of columns, in lower case and without their units; empty for other lines.
std::vector<std::string> CsvHeading(absl::string_view line) {
  std::vector<std::string> columns;
  bool known = false;
  for (absl::string_view name : absl::StrSplit(line, ',')) {
    name = absl::StripAsciiWhitespace(name.substr(0, name.find('[')));
    if (name.empty() || columns.size() == kMostCsvColumns ||
        !std::all_of(name.begin(), name.end(), [](char c) {
          return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
        })) {
      return {};
    }
    columns.push_back(absl::AsciiStrToLower(name));
    const std::string& column = columns.back();
    known |= !CsvPath(column).empty() || column == "index" || column == "driver_version" ||
             column == "count" || column == "timestamp" || absl::EndsWith(column, ".total") ||
             absl::EndsWith(column, ".active");
  }
  return known ? columns : std::vector<std::string>();
}

// Whether a column can have that value. Most columns hold a number or "N/A".
bool IsValueOf(absl::string_view column, absl::string_view value) {
  static const LazyRE2 kNumber = {R"((?:-?[0-9][0-9.]*(?: ?(?:%|MiB|W|MHz))?|\[.*\]|N/A)?)"};
  if (column == "index") return IsNumber(value);
  if (absl::EndsWith(column, "bus_id")) return absl::StrContains(value, ':');
  for (const absl::string_view numbers :
       {"driver_version", "memory.", "utilization.", "temperature.", "power.draw", "power.limit",
        "clocks.", "pcie.", "fan.speed", "count"}) {
    if (absl::StartsWith(column, numbers)) return RE2::FullMatch(Piece(value), *kNumber);
  }
  return value.size() <= 128;
}

class SmiCsvReader {
 public:
  SmiCsvReader(std::vector<std::string> columns, SmiLog* log)
      : log_(*log), columns_(std::move(columns)) {}

  void Line(absl::string_view line) {
    if (std::vector<std::string> heading = CsvHeading(line); !heading.empty()) {
      has_heading_ = true;
      // Another heading begins another table.
      ended_ = ended_ || (!log_.gpus().empty() && heading != columns_);
      columns_ = std::move(heading);
      return;
    }
    if (ended_) return;
    std::vector<absl::string_view> fields = absl::StrSplit(line, ',');
    if (columns_.empty() || fields.size() != columns_.size()) return;
    for (absl::string_view& field : fields) field = absl::StripAsciiWhitespace(field);
    if (!IsRow(fields)) return;
    // A repeated GPU is another reading of -l or another machine: the first one counts.
    const std::optional<double> time = TimeOf(fields);
    const std::string key = KeyOf(fields, time);
    if (time.has_value()) Read(fields, key, *time);
    if (!key.empty() && !seen_.insert(key).second) {
      log_.set_partial();
      return;
    }
    Row(fields);
  }

  // No column identifies the GPU of a row.
  bool nameless() const {
    return std::none_of(columns_.begin(), columns_.end(), [](const std::string& column) {
      return column == "index" || IsIdentity(column);
    });
  }
  bool has_heading() const { return has_heading_; }
  // The readings of each GPU as time series.
  std::vector<Sample> TakeSamples() && { return std::move(readings_).Take(); }

 private:
  static bool IsIdentity(absl::string_view column) {
    return absl::EndsWith(column, "bus_id") || absl::EndsWith(column, "uuid");
  }

  // Rejects prose that has as many commas as a row.
  bool IsRow(const std::vector<absl::string_view>& fields) const {
    bool any = false;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      any |= !fields[i].empty();
      if (!IsValueOf(columns_[i], fields[i])) return false;
    }
    return any;
  }

  std::optional<double> TimeOf(const std::vector<absl::string_view>& fields) const {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (columns_[i] == "timestamp") return TimeOfTable(fields[i]);
    }
    return std::nullopt;
  }

  // Which GPU a row is of: as a column tells, else by its place among those read at one time; ""
  // unknown.
  std::string KeyOf(const std::vector<absl::string_view>& fields,
                    const std::optional<double>& time) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (columns_[i] == "index" || IsIdentity(columns_[i])) return std::string(fields[i]);
    }
    if (!time.has_value()) return "";
    // A loop waits for a second at least; the GPUs of one reading follow within milliseconds.
    constexpr double kBetweenReadings = 0.9;
    place_ =
        last_time_.has_value() && std::abs(*time - *last_time_) < kBetweenReadings ? place_ + 1 : 0;
    last_time_ = time;
    return absl::StrCat("#", place_);
  }

  void Read(const std::vector<absl::string_view>& fields, const std::string& key, double time) {
    const std::size_t place = devices_.try_emplace(key, devices_.size()).first->second;
    std::string device = absl::StrCat(place);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (columns_[i] == "index") device = std::string(fields[i]);
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string metric =
          MetricOfColumn(columns_[i] == "memory.used" ? "memory.used [MiB]" : columns_[i]);
      if (!metric.empty()) readings_.Add(metric, device, fields[i], time);
    }
  }

  void Row(const std::vector<absl::string_view>& fields) {
    SmiLog::Gpu* const gpu = log_.AddGpu();
    if (gpu == nullptr) return;
    gpu->shown = true;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string& column = columns_[i];
      absl::string_view value = fields[i];
      if (value.empty()) continue;
      int number = 0;
      if (column == "index") {
        if (absl::SimpleAtoi(value, &number)) gpu->number = number;
      } else if (column == "driver_version" || column == "timestamp") {
        log_.root().Set(column, value);
      } else if (column == "count") {
        log_.root().Set("attached_gpus", value);
      } else if (absl::EndsWith(column, "_reasons.active")) {
        SetReasons(absl::StripSuffix(column, ".active"), value, &gpu->content);
      } else if (absl::StartsWith(column, "ecc.errors.") && absl::EndsWith(column, ".total")) {
        SetTotal(column, value, &gpu->content);
      } else if (const std::string path = CsvPath(column); !path.empty()) {
        // The XML omits the prefix.
        if (column == "pci.device_id") absl::ConsumePrefix(&value, "0x");
        gpu->content.Set(path, value);
      }
      if (absl::EndsWith(column, "bus_id")) gpu->address = std::string(value);
    }
  }

  static void SetTotal(absl::string_view column, absl::string_view value, XmlElement* gpu) {
    const absl::string_view since =
        absl::StrContains(column, ".aggregate.") ? "aggregate" : "volatile";
    const absl::string_view bits =
        absl::StrContains(column, ".corrected.") ? "single_bit" : "double_bit";
    SetEccTotal(value, absl::StrCat(since, "/", bits), gpu);
  }

  SmiLog& log_;
  std::vector<std::string> columns_;
  std::set<std::string> seen_;
  std::map<std::string, std::size_t> devices_;
  std::optional<double> last_time_;
  std::size_t place_ = 0;
  Readings readings_;
  bool has_heading_ = false;
  bool ended_ = false;
};

}  // namespace

absl::StatusOr<Converted> NvidiaSmiCsv(absl::string_view text, absl::string_view command) {
  const TypedCommand typed(command, "nvidia-smi");
  std::vector<std::string> columns;
  if (const auto query = typed.ValueOf({"--query-gpu"}); query.has_value() && !typed.rewritten()) {
    columns = CsvHeading(*query);
  }
  SmiLog log;
  SmiCsvReader reader(std::move(columns), &log);
  for (const absl::string_view line : PastedLines(text, kLongestCsvLine)) reader.Line(line);
  // Without such a column, repeated readings look like more GPUs.
  const bool repeats = typed.HasLetter('l') || typed.ValueOf({"--loop", "--loop-ms"}).has_value();
  if (repeats && reader.nameless() && log.gpus().size() > 1) {
    return Unreadable("nvidia_smi_csv", "nothing tells which GPU a line is of");
  }
  if (typed.filtered() || (!typed.known() && !reader.has_heading())) log.set_partial();
  NumberByCommand(command, &log);
  GALEN_ASSIGN_OR_RETURN(Converted converted, std::move(log).Finish("nvidia_smi_csv", text));
  converted.samples = std::move(reader).TakeSamples();
  return converted;
}

}  // namespace galen::intake
