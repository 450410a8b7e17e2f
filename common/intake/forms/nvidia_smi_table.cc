// nvidia_smi_table: the table that `nvidia-smi` prints without arguments, of NVIDIA's driver since
// 418 (docs.nvidia.com/deploy/nvidia-smi). A GPU takes three lines, before 450 two:
//
// |   0  NVIDIA H100 80GB HBM3          On  |   00000000:19:00.0 Off |                    0 |
// | N/A   27C    P0             72W /  700W |       1MiB /  81559MiB |      0%      Default |
// |                                         |                        |             Disabled |
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/nvidia_smi.h"
#include "common/intake/forms/pasted.h"
#include "re2/re2.h"

namespace galen::intake {
namespace {

// "72W" to "72 W", as the XML writes it; "N/A" and "ERR!" stay.
std::string WithUnit(absl::string_view value, absl::string_view unit) {
  if (absl::ConsumeSuffix(&value, unit)) return absl::StrCat(value, " ", unit);
  return std::string(value);
}

absl::string_view ModeOfSwitch(absl::string_view value) {
  if (value == "On") return "Enabled";
  if (value == "Off") return "Disabled";
  return value;
}

class SmiTableReader {
 public:
  explicit SmiTableReader(SmiLog* log) : log_(*log) {}

  // Returns false if another table begins, which must not be mixed in.
  bool Line(absl::string_view line) {
    line = absl::StripAsciiWhitespace(line);
    if (absl::StartsWith(line, "WARNING: ")) log_.AddRemark(line);
    if (absl::StartsWith(line, "+")) {
      // The border below the processes.
      if (listed_) complete_ = true;
      return true;
    }
    if (line.size() < 2 || line.front() != '|') return true;
    absl::string_view inner = line.substr(1);
    absl::ConsumeSuffix(&inner, "|");
    if (absl::StrContains(inner, "NVIDIA-SMI ")) {
      if (!log_.gpus().empty()) return false;
      Head(inner);
    } else if (absl::StrContains(inner, "=====")) {
      listed_ = processes_;
    } else if (absl::StrContains(inner, "Processes:")) {
      processes_ = true;
      current_ = nullptr;
    } else if (absl::StrContains(inner, "MIG devices:")) {
      current_ = nullptr;
      for (SmiLog::Gpu& gpu : log_.gpus()) gpu.content.Child("mig_devices");
    } else if (processes_) {
      if (absl::StrContains(inner, "No running processes found")) complete_ = true;
      Process(inner);
    } else {
      Row(absl::StrSplit(inner, '|'));
    }
    return true;
  }

  // Tells the GPUs without a process, if the list of processes is complete.
  void EndProcesses() {
    if (!complete_) {
      log_.set_partial();
      return;
    }
    for (SmiLog::Gpu& gpu : log_.gpus()) gpu.content.Child("processes");
  }

  bool has_head() const { return has_head_; }

 private:
  void Head(absl::string_view line) {
    static const LazyRE2 kDriver = {R"((?:Driver|KMD) Version:\s*([0-9.]+))"};
    static const LazyRE2 kCuda = {R"(CUDA (?:UMD )?Version:\s*([0-9.]+))"};
    has_head_ = true;
    std::string version;
    if (RE2::PartialMatch(Piece(line), *kDriver, &version)) {
      log_.root().Set("driver_version", version);
    }
    if (RE2::PartialMatch(Piece(line), *kCuda, &version)) log_.root().Set("cuda_version", version);
  }

  void Row(const std::vector<absl::string_view>& cells) {
    if (cells.size() == 3) {
      // On Windows this column holds the driver model.
      static const LazyRE2 kName = {
          R"(^\s*(\d{1,4})\s+(\S.*?)\s+(On|Off|N/A|ERR!|WDDM|TCC|MCDM)\s*$)"};
      static const LazyRE2 kBus = {
          R"(^\s*([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s+(\S+)\s*$)"};
      std::string number;
      std::string name;
      std::string mode;
      std::string address;
      std::string display;
      if (RE2::PartialMatch(Piece(cells[0]), *kName, &number, &name, &mode) &&
          RE2::PartialMatch(Piece(cells[1]), *kBus, &address, &display)) {
        Begin(number, name, mode, address, display, absl::StripAsciiWhitespace(cells[2]));
      } else if (current_ != nullptr) {
        Continue(cells);
      }
    } else if (cells.size() == 4) {
      Mig(cells);
    }
  }

  void Begin(const std::string& number, const std::string& name, const std::string& mode,
             const std::string& address, const std::string& display, absl::string_view ecc) {
    current_ = log_.AddGpu();
    row_ = 1;
    if (current_ == nullptr) return;
    int value = 0;
    if (absl::SimpleAtoi(number, &value)) {
      current_->number = value;
      by_number_.emplace(value, current_);
    }
    current_->address = address;
    XmlElement& gpu = current_->content;
    // The table cuts long names and adds dots; the rest of the name is unknown.
    gpu.Set("product_name", name);
    if (mode == "On" || mode == "Off") gpu.Set("persistence_mode", ModeOfSwitch(mode));
    gpu.Set("display_active", ModeOfSwitch(display));
    gpu.Set("pci/pci_bus_id", address);
    if (IsNumber(ecc)) {
      gpu.Set("ecc_mode/current_ecc", "Enabled");
      SetEccTotal(ecc, "volatile/double_bit", &gpu);
    } else if (ecc == "On" || ecc == "Off") {
      gpu.Set("ecc_mode/current_ecc", ModeOfSwitch(ecc));
    } else if (ecc == "N/A") {
      gpu.Set("ecc_mode/current_ecc", ecc);
    }
  }

  void Continue(const std::vector<absl::string_view>& cells) {
    static const LazyRE2 kPower = {
        R"(^\s*(\d+\s?%|N/A|ERR!)\s*(\d+C|N/A|ERR!)\s+(P\d+|N/A|ERR!|Unknown)\s+(\S+)\s*/\s*(\S+)\s*$)"};
    static const LazyRE2 kMemory = {R"(^\s*(\d+MiB)\s*/\s*(\d+MiB)\s*$)"};
    static const LazyRE2 kUse = {R"(^\s*(\d+%|N/A|ERR!)\s+(\S.*?)\s*$)"};
    static const LazyRE2 kMig = {R"(^\s*(Enabled|Disabled|N/A)\*?\s*$)"};
    XmlElement& gpu = current_->content;
    std::string fan;
    std::string degrees;
    std::string state;
    std::string draw;
    std::string limit;
    std::string use;
    std::string mode;
    if (row_ == 1 &&
        RE2::PartialMatch(Piece(cells[0]), *kPower, &fan, &degrees, &state, &draw, &limit)) {
      gpu.Set("fan_speed", WithUnit(fan, "%"));
      gpu.Set("performance_state", state);
      if (RE2::PartialMatch(Piece(cells[1]), *kMemory, &use, &mode)) {
        gpu.Set("fb_memory_usage/total", WithUnit(mode, "MiB"));
        gpu.Set("fb_memory_usage/used", WithUnit(use, "MiB"));
      }
      if (RE2::PartialMatch(Piece(cells[2]), *kUse, &use, &mode)) {
        gpu.Set("compute_mode", mode == "E. Process"  ? "Exclusive_Process"
                                : mode == "E. Thread" ? "Exclusive_Thread"
                                                      : mode);
        gpu.Set("utilization/gpu_util", WithUnit(use, "%"));
      }
      gpu.Set("temperature/gpu_temp", WithUnit(degrees, "C"));
      gpu.Set("gpu_power_readings/power_draw", WithUnit(draw, "W"));
      gpu.Set("gpu_power_readings/current_power_limit", WithUnit(limit, "W"));
      row_ = 2;
    } else if (absl::StripAsciiWhitespace(cells[0]).empty() &&
               absl::StripAsciiWhitespace(cells[1]).empty() &&
               RE2::PartialMatch(Piece(cells[2]), *kMig, &mode)) {
      gpu.Set("mig_mode/current_mig", mode);
      current_ = nullptr;
    }
  }

  // |  0    2   0   0  |           11091MiB / 40448MiB    | 60      0 |  3   0    3    0    3 |
  void Mig(const std::vector<absl::string_view>& cells) {
    static const LazyRE2 kIds = {R"(^\s*(\d{1,4})\s+(\d{1,4})\s+(\d{1,4})\s+(\d{1,4})\s*$)"};
    int number = 0;
    std::string instance;
    std::string compute;
    std::string index;
    if (!RE2::PartialMatch(Piece(cells[0]), *kIds, &number, &instance, &compute, &index)) return;
    SmiLog::Gpu* const gpu = Find(number);
    XmlElement* const devices = gpu == nullptr ? nullptr : gpu->content.Child("mig_devices");
    XmlElement* const device = devices == nullptr ? nullptr : devices->Add("mig_device");
    if (device == nullptr) return;
    device->Set("index", index);
    device->Set("gpu_instance_id", instance);
    device->Set("compute_instance_id", compute);
  }

  // The columns of MIG instances exist since driver 450.
  void Process(absl::string_view line) {
    static const LazyRE2 kProcess = {
        R"(^\s*(\d{1,4})\s+(?:(N/A|\d+)\s+(N/A|\d+)\s+)?(\d{1,10})\s+([CGM+]{1,5})\s+(\S.*?)\s+(\d+MiB|N/A)\s*$)"};
    int number = 0;
    std::string instance;
    std::string compute;
    std::string pid;
    std::string type;
    std::string name;
    std::string memory;
    if (!RE2::PartialMatch(Piece(line), *kProcess, &number, &instance, &compute, &pid, &type, &name,
                           &memory)) {
      return;
    }
    SmiLog::Gpu* const gpu = Find(number);
    XmlElement* const processes = gpu == nullptr ? nullptr : gpu->content.Child("processes");
    XmlElement* const process = processes == nullptr ? nullptr : processes->Add("process_info");
    if (process == nullptr) return;
    if (!instance.empty()) {
      process->Set("gpu_instance_id", instance);
      process->Set("compute_instance_id", compute);
    }
    process->Set("pid", pid);
    process->Set("type", type);
    process->Set("process_name", name);
    process->Set("used_memory", WithUnit(memory, "MiB"));
  }

  SmiLog::Gpu* Find(int number) {
    const auto found = by_number_.find(number);
    return found == by_number_.end() ? nullptr : found->second;
  }

  SmiLog& log_;
  SmiLog::Gpu* current_ = nullptr;
  int row_ = 0;  // lines of the current GPU that were read
  bool has_head_ = false;
  bool processes_ = false;  // the list of processes began
  bool listed_ = false;     // and so did its rows
  bool complete_ = false;   // and it ended
  std::map<int, SmiLog::Gpu*> by_number_;
};

}  // namespace

absl::StatusOr<Converted> NvidiaSmiTable(absl::string_view text, absl::string_view command) {
  SmiLog log;
  SmiTableReader reader(&log);
  for (const absl::string_view line : PastedLines(text)) {
    if (!reader.Line(line)) break;
  }
  reader.EndProcesses();
  const TypedCommand typed(command, "nvidia-smi");
  if (!reader.has_head() || typed.filtered() || typed.ValueOf({"-i", "--id"}).has_value()) {
    log.set_partial();
  }
  return std::move(log).Finish("nvidia_smi_table", text);
}

}  // namespace galen::intake
