// nvidia_smi_q: the text of `nvidia-smi -q`, with -d and -i too, of NVIDIA's driver since 418
// (docs.nvidia.com/deploy/nvidia-smi). Most tags of the XML are the labels in lower case, with
// underscores; the indentation shows how they nest.
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/nvidia_smi.h"
#include "common/intake/forms/pasted.h"
#include "re2/re2.h"

namespace galen::intake {
namespace {

using SmiNames = std::map<absl::string_view, absl::string_view>;
using SmiLabels = std::map<std::pair<absl::string_view, absl::string_view>, absl::string_view>;

// The indentation of one level.
constexpr std::size_t kSmiStep = 4;

// "FB Memory Usage" to "fb_memory_usage"; "" for what cannot be a tag.
std::string TagOf(absl::string_view label) {
  std::string tag;
  for (const char c : label.substr(0, 64)) {
    const auto letter = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(letter)) {
      tag += static_cast<char>(absl::ascii_tolower(letter));
    } else if (!tag.empty() && tag.back() != '_') {
      tag += '_';
    }
  }
  while (!tag.empty() && tag.back() == '_') tag.pop_back();
  return tag.empty() || !absl::ascii_isalpha(static_cast<unsigned char>(tag[0])) ? "" : tag;
}

// Headings with an irregular tag.
const SmiNames& Sections() {
  static const auto* const sections = new SmiNames{
      {"platform info", "platformInfo"},
      {"inforom bbx object flush", "inforom_bbx_flush"},
      {"gpu link info", "pci_gpu_link_info"},
      {"pcie generation", "pcie_gen"},
      {"link width", "link_widths"},
      {"bridge chip", "pci_bridge_chip"},
      {"conf compute protected memory usage", "cc_protected_memory_usage"},
      {"bank remap availability histogram", "row_remapper_histogram"},
      {"workload power profiles", "power_profiles"},
      {"shared fb memory usage", "fb_memory_usage"},
      {"shared bar1 memory", "bar1_memory_usage"},
  };
  return *sections;
}

// Fields with an irregular tag, by the tag of their section and their label.
const SmiLabels& Fields() {
  static const auto* const fields = new SmiLabels{
      {{"gpu", "serial number"}, "serial"},
      {{"gpu", "gpu uuid"}, "uuid"},
      {{"gpu", "gpu pdi"}, "pdi"},
      {{"gpu", "fru part number"}, "gpu_fru_part_number"},
      {{"gpu", "module id"}, "gpu_module_id"},
      {{"gpu", "gpu c2c mode"}, "c2c_mode"},
      {{"inforom_version", "image version"}, "img_version"},
      {{"inforom_version", "power management object"}, "pwr_object"},
      {{"pci", "base classcode"}, "pci_base_class"},
      {{"pci", "sub classcode"}, "pci_sub_class"},
      {{"pci", "replays since reset"}, "replay_counter"},
      {{"pci", "replay number rollovers"}, "replay_rollover_counter"},
      {{"pci", "tx throughput"}, "tx_util"},
      {{"pci", "rx throughput"}, "rx_util"},
      {{"pci", "atomic caps inbound"}, "atomic_caps_inbound"},
      {{"pci", "atomic caps outbound"}, "atomic_caps_outbound"},
      {{"pcie_gen", "max"}, "max_link_gen"},
      {{"pcie_gen", "current"}, "current_link_gen"},
      {{"pcie_gen", "device current"}, "device_current_link_gen"},
      {{"pcie_gen", "device max"}, "max_device_link_gen"},
      {{"pcie_gen", "host max"}, "max_host_link_gen"},
      {{"link_widths", "max"}, "max_link_width"},
      {{"link_widths", "current"}, "current_link_width"},
      {{"pci_bridge_chip", "type"}, "bridge_chip_type"},
      {{"pci_bridge_chip", "firmware"}, "bridge_chip_fw"},
      {{"clocks_event_reasons_counters", "sw power capping"}, "sw_power_cap"},
      {{"clocks_event_reasons_counters", "sync boost"}, "sync_boost"},
      {{"clocks_event_reasons_counters", "sw thermal slowdown"}, "sw_therm_slowdown"},
      {{"clocks_event_reasons_counters", "hw thermal slowdown"}, "hw_therm_slowdown"},
      {{"clocks_event_reasons_counters", "hw power braking"}, "hw_power_brake"},
      {{"encoder_stats", "active sessions"}, "session_count"},
      {{"fbc_stats", "active sessions"}, "session_count"},
      {{"volatile", "sram uncorrectable sec-ded"}, "sram_uncorrectable_secded"},
      {{"aggregate", "sram uncorrectable sec-ded"}, "sram_uncorrectable_secded"},
      {{"single_bit", "texture shared"}, "texture_shm"},
      {{"double_bit", "texture shared"}, "texture_shm"},
      {{"retired_pages", "single bit ecc"}, "multiple_single_bit_retirement/retired_count"},
      {{"retired_pages", "double bit ecc"}, "double_bit_retirement/retired_count"},
      {{"retired_pages", "pending page blacklist"}, "pending_blacklist"},
      {{"retired_pages", "pending"}, "pending_retirement"},
      {{"remapped_rows", "correctable error"}, "remapped_row_corr"},
      {{"remapped_rows", "uncorrectable error"}, "remapped_row_unc"},
      {{"remapped_rows", "inactive correctable error"}, "remapped_row_corr_inactive"},
      {{"remapped_rows", "inactive uncorrectable error"}, "remapped_row_unc_inactive"},
      {{"remapped_rows", "pending"}, "remapped_row_pending"},
      {{"remapped_rows", "remapping failure occurred"}, "remapped_row_failure"},
      {{"temperature", "gpu current temp"}, "gpu_temp"},
      {{"temperature", "gpu t.limit temp"}, "gpu_temp_tlimit"},
      {{"temperature", "gpu shutdown temp"}, "gpu_temp_max_threshold"},
      {{"temperature", "gpu slowdown temp"}, "gpu_temp_slow_threshold"},
      {{"temperature", "gpu max operating temp"}, "gpu_temp_max_gpu_threshold"},
      {{"temperature", "memory current temp"}, "memory_temp"},
      {{"temperature", "memory max operating temp"}, "gpu_temp_max_mem_threshold"},
      {{"temperature", "gpu shutdown t.limit temp"}, "gpu_temp_max_tlimit_threshold"},
      {{"temperature", "gpu slowdown t.limit temp"}, "gpu_temp_slow_tlimit_threshold"},
      {{"temperature", "gpu max operating t.limit temp"}, "gpu_temp_max_gpu_tlimit_threshold"},
      {{"temperature", "memory max operating t.limit temp"}, "gpu_temp_max_mem_tlimit_threshold"},
      {{"fabric", "cliqueid"}, "cliqueId"},
      {{"fabric", "clusteruuid"}, "clusterUuid"},
      {{"voltage", "graphics"}, "graphics_volt"},
      {{"processes", "process id"}, "pid"},
      {{"processes", "name"}, "process_name"},
      {{"processes", "used gpu memory"}, "used_memory"},
  };
  return *fields;
}

// Fields that occur in one section only, for texts from which grep removed the headings.
const SmiNames& OwnSections() {
  static const auto* const sections = new SmiNames{
      {"gpu current temp", "temperature"},
      {"gpu t.limit temp", "temperature"},
      {"gpu slowdown temp", "temperature"},
      {"gpu slowdown t.limit temp", "temperature"},
      {"memory current temp", "temperature"},
      {"replays since reset", "pci"},
      {"correctable error", "remapped_rows"},
      {"uncorrectable error", "remapped_rows"},
      {"remapping failure occurred", "remapped_rows"},
      {"virtualization mode", "gpu_virtualization_mode"},
      {"image version", "inforom_version"},
  };
  return *sections;
}

// The tag of a field. Some sections add a prefix or a suffix to all their fields.
std::string FieldTag(absl::string_view section, absl::string_view label) {
  const std::string key = absl::AsciiStrToLower(label);
  const bool counters = absl::EndsWith(section, "_reasons_counters");
  if (const auto known = Fields().find({section, key}); known != Fields().end()) {
    return counters ? absl::StrCat(section, "_", known->second) : std::string(known->second);
  }
  std::string tag = TagOf(label);
  if (tag.empty()) return "";
  if (absl::EndsWith(section, "_reasons")) {
    const absl::string_view prefix = absl::StripSuffix(section, "s");
    if (tag == "idle") return absl::StrCat(prefix, "_gpu_idle");
    if (tag == "display_clock_setting") return absl::StrCat(prefix, "_display_clocks_setting");
    return absl::StrCat(prefix, "_", tag);
  }
  if (absl::EndsWith(section, "clocks")) {
    return absl::StrCat(tag == "memory" ? "mem" : tag, "_clock");
  }
  if (section == "utilization") return absl::StrCat(tag, "_util");
  if (section == "pci") return absl::StrCat("pci_", tag);
  if (section == "row_remapper_histogram") return absl::StrCat(section, "_", tag);
  if (section == "power_profiles") return absl::StrCat("power_profile_", tag);
  if (absl::EndsWith(section, "power_readings") && tag == "instantaneous_power_draw") {
    return "instant_power_draw";
  }
  static const auto* const modes = new SmiNames{{"mig_mode", "mig"},
                                                {"driver_model", "dm"},
                                                {"gpu_operation_mode", "gom"},
                                                {"dram_encryption_mode", "dram_encryption"},
                                                {"ecc_mode", "ecc"}};
  if (const auto mode = modes->find(section); mode != modes->end()) {
    return absl::StrCat(tag, "_", mode->second);
  }
  return tag;
}

class SmiQueryReader {
 public:
  explicit SmiQueryReader(SmiLog* log) : log_(*log) {}

  // Returns false if another output of nvidia-smi begins, which must not be mixed in.
  bool Line(absl::string_view line) {
    static const LazyRE2 kGpu = {
        R"(^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])$)"};
    const std::size_t indent = IndentOf(line);
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) return true;
    std::string address;
    if (RE2::FullMatch(Piece(line), *kGpu, &address)) {
      Gpu(indent, address);
    } else if (absl::StrContains(line, "NVSMI LOG")) {
      return log_.gpus().empty();
    } else if (absl::StartsWith(line, "WARNING: ")) {
      log_.AddRemark(line);
    } else if (line == "--") {
      levels_.resize(std::min<std::size_t>(levels_.size(), 1));  // grep left lines out here
    } else {
      const std::size_t colon = line.find(':');
      const bool field = colon != absl::string_view::npos && colon > 0 &&
                         (colon + 1 == line.size() || line[colon + 1] == ' ');
      const absl::string_view label = absl::StripAsciiWhitespace(line.substr(0, colon));
      if (field) {
        Field(indent, label, absl::StripAsciiWhitespace(line.substr(colon + 1)));
      } else if (colon == absl::string_view::npos) {
        Section(indent, label);
      }
    }
    return true;
  }

 private:
  struct Level {
    std::size_t indent = 0;
    XmlElement* at = nullptr;  // nullptr: what is below is left out
  };

  void Gpu(std::size_t indent, const std::string& address) {
    levels_.clear();
    SmiLog::Gpu* const gpu = log_.AddGpu();
    if (gpu == nullptr) return;
    gpu->address = address;
    levels_.push_back({indent, &gpu->content});
  }

  // The element that contains a line of that indentation. `whole`: no level between them is
  // missing.
  XmlElement* Parent(std::size_t indent, bool* whole) {
    // A line that is not indented more than the GPU's heading ends the GPU.
    while (!levels_.empty() && levels_.back().indent >= indent) levels_.pop_back();
    if (levels_.empty()) return nullptr;
    *whole = indent - levels_.back().indent <= kSmiStep;
    return levels_.back().at;
  }

  void Section(std::size_t indent, absl::string_view label) {
    bool whole = false;
    XmlElement* const parent = Parent(indent, &whole);
    if (levels_.empty()) return;
    levels_.push_back({indent, parent == nullptr || !whole ? nullptr : Open(parent, label)});
  }

  static XmlElement* Open(XmlElement* parent, absl::string_view label) {
    const std::string key = absl::AsciiStrToLower(label);
    if (key == "supported clocks") return nullptr;  // thousands of lines that nothing reads
    if (key == "mig device") {
      XmlElement* const devices = parent->Child("mig_devices");
      return devices == nullptr ? nullptr : devices->Add("mig_device");
    }
    // The XML has other tags for the counts of a MIG device.
    if (parent->tag() == "mig_device" && key == "ecc errors") {
      return parent->Child("ecc_error_count");
    }
    if (parent->tag() == "ecc_error_count" && key == "volatile") {
      return parent->Child("volatile_count");
    }
    const auto known = Sections().find(key);
    const std::string tag = known != Sections().end() ? std::string(known->second) : TagOf(label);
    return tag.empty() ? nullptr : parent->Child(tag);
  }

  void Field(std::size_t indent, absl::string_view label, absl::string_view value) {
    bool whole = false;
    XmlElement* parent = Parent(indent, &whole);
    if (levels_.empty()) {
      Head(label, value);
      return;
    }
    if (!whole) {
      const auto own = OwnSections().find(absl::AsciiStrToLower(label));
      parent = own == OwnSections().end() ? nullptr : levels_.front().at->Child(own->second);
      if (parent != nullptr) Set(parent, label, value);
      return;
    }
    // Fields may be nested in a field: "HW Thermal Slowdown" below "HW Slowdown".
    levels_.push_back({indent, parent});
    if (parent != nullptr) Set(parent, label, value);
  }

  // A field above the first GPU.
  void Head(absl::string_view label, absl::string_view value) {
    if (!log_.gpus().empty() || value.empty()) return;
    static const auto* const tags = new SmiNames{{"Timestamp", "timestamp"},
                                                 {"Driver Version", "driver_version"},
                                                 {"CUDA Version", "cuda_version"},
                                                 {"CUDA UMD Version", "cuda_version"},
                                                 {"Attached GPUs", "attached_gpus"}};
    const auto known = tags->find(label);
    if (known != tags->end()) log_.root().Set(known->second, value);
  }

  static void Set(XmlElement* section, absl::string_view label, absl::string_view value) {
    if (value.empty()) return;
    if (section->tag() == "gpu" && label == "Processes" && value == "None") {
      section->Child("processes");
      return;
    }
    const std::string tag = FieldTag(section->tag(), label);
    if (tag.empty()) return;
    if (section->tag() == "processes") {
      // A process begins with its instance, before driver 450 with its number.
      const XmlElement* const last = section->Last();
      const bool next =
          last == nullptr || tag == "gpu_instance_id" || (tag == "pid" && last->Has("pid"));
      section = next ? section->Add("process_info") : section->Last();
      if (section == nullptr) return;
    }
    // "0x83", where the XML has "83".
    if (section->tag() == "pci") absl::ConsumePrefix(&value, "0x");
    section->Set(tag, value);
  }

  SmiLog& log_;
  std::vector<Level> levels_;
};

// If the text shows only some GPUs, their numbers do not follow from their order. Their minor
// numbers do, on all but a few machines.
void NumberByMinor(SmiLog* log) {
  int attached = 0;
  if (!absl::SimpleAtoi(log->root().TextOf("attached_gpus"), &attached) ||
      attached <= static_cast<int>(log->gpus().size())) {
    return;
  }
  for (SmiLog::Gpu& gpu : log->gpus()) {
    int minor = 0;
    if (!gpu.number.has_value() && absl::SimpleAtoi(gpu.content.TextOf("minor_number"), &minor) &&
        minor < attached) {
      gpu.number = minor;
    }
  }
}

}  // namespace

absl::StatusOr<Converted> NvidiaSmiQuery(absl::string_view text, absl::string_view command) {
  SmiLog log;
  SmiQueryReader reader(&log);
  for (const absl::string_view line : PastedLines(text)) {
    if (!reader.Line(line)) break;
  }
  const TypedCommand typed(command, "nvidia-smi");
  // -d prints only some sections.
  if (typed.filtered() || typed.ValueOf({"-d", "--display"}).has_value() ||
      !log.root().Has("attached_gpus")) {
    log.set_partial();
  }
  NumberByCommand(command, &log);
  NumberByMinor(&log);
  return std::move(log).Finish("nvidia_smi_q", text);
}

}  // namespace galen::intake
