// nvidia_smi_apps: processes on GPUs as `nvidia-smi --query-compute-apps --format=csv` and
// `nvidia-smi pmon` list them, in the form of the XML report. Tables of remapped rows are those of
// --query-gpu.
#include <algorithm>
#include <cstddef>
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
#include "common/intake/forms/converters.h"
#include "common/intake/forms/nvidia_smi.h"
#include "common/intake/forms/pasted.h"

namespace galen::intake {
namespace {

constexpr std::size_t kMostApps = 4096;

// One row of the list of processes.
struct App {
  std::string gpu;  // its number, uuid or address
  std::string pid;
  std::string type = "C";
  std::string name;
  std::string memory;
};

// The columns of the list, without their units.
std::vector<std::string> AppHeading(absl::string_view line) {
  std::vector<std::string> columns;
  for (const absl::string_view word : absl::StrSplit(line, ',')) {
    columns.emplace_back(absl::StripAsciiWhitespace(word.substr(0, word.find('['))));
  }
  const bool pid = std::find(columns.begin(), columns.end(), "pid") != columns.end();
  return pid && columns.size() > 1 ? columns : std::vector<std::string>();
}

void AddApp(const App& app, std::set<std::string>* seen, SmiLog* log) {
  if (app.gpu.empty() || !IsNumber(app.pid) || seen->size() == kMostApps ||
      !seen->insert(absl::StrCat(app.gpu, " ", app.pid)).second) {
    return;
  }
  SmiLog::Gpu* gpu = nullptr;
  for (SmiLog::Gpu& known : log->gpus()) {
    if (known.address == app.gpu) gpu = &known;
  }
  if (gpu == nullptr) {
    gpu = log->AddGpu();
    if (gpu == nullptr) return;
    gpu->address = app.gpu;
    int number = 0;
    if (IsNumber(app.gpu) && absl::SimpleAtoi(app.gpu, &number)) {
      gpu->number = number;
    } else if (absl::StartsWith(app.gpu, "GPU-")) {
      gpu->content.Set("uuid", app.gpu);
    } else {
      gpu->content.Set("pci/pci_bus_id", app.gpu);
    }
  }
  XmlElement* const processes = gpu->content.Child("processes");
  XmlElement* const process = processes == nullptr ? nullptr : processes->Add("process_info");
  if (process == nullptr) return;
  process->Set("pid", app.pid);
  process->Set("type", app.type);
  process->Set("process_name", app.name);
  if (!app.memory.empty()) process->Set("used_memory", app.memory);
}

}  // namespace

absl::StatusOr<Converted> NvidiaSmiApps(absl::string_view text, absl::string_view command) {
  const TypedCommand typed(command, "nvidia-smi");
  std::vector<std::string> columns;
  if (const auto query = typed.ValueOf({"--query-compute-apps"}); query.has_value()) {
    columns = AppHeading(*query);
  }
  std::vector<std::string> monitor;  // columns of pmon
  std::set<std::string> seen;
  SmiLog log;
  for (const absl::string_view line : PastedLines(text)) {
    std::vector<absl::string_view> words = PastedWords(line);
    if (!words.empty() && words[0][0] == '#') {
      absl::ConsumePrefix(&words[0], "#");
      if (words[0].empty()) words.erase(words.begin());
      if (std::find(words.begin(), words.end(), "pid") != words.end()) {
        monitor = std::vector<std::string>(words.begin(), words.end());
      }
      continue;
    }
    App app;
    if (!monitor.empty()) {
      if (words.size() < monitor.size()) continue;
      for (std::size_t i = 0; i < monitor.size(); ++i) {
        if (monitor[i] == "gpu") app.gpu = std::string(words[i]);
        if (monitor[i] == "pid") app.pid = std::string(words[i]);
        if (monitor[i] == "type" && words[i] != "-") app.type = std::string(words[i]);
        if (monitor[i] == "fb" && IsNumber(words[i])) app.memory = absl::StrCat(words[i], " MiB");
        if (monitor[i] == "command") app.name = std::string(words[i]);
      }
      AddApp(app, &seen, &log);
      continue;
    }
    if (std::vector<std::string> heading = AppHeading(line); !heading.empty()) {
      columns = std::move(heading);
      continue;
    }
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ',');
    if (columns.empty() || fields.size() != columns.size()) continue;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string value(absl::StripAsciiWhitespace(fields[i]));
      const std::string& column = columns[i];
      if (column == "pid") app.pid = value;
      if (column == "process_name" || column == "name") app.name = value;
      if (column == "used_memory" || column == "used_gpu_memory") {
        app.memory = IsNumber(value) ? absl::StrCat(value, " MiB") : value;
      }
      if (column == "gpu_uuid" || (column == "gpu_bus_id" && app.gpu.empty())) app.gpu = value;
    }
    AddApp(app, &seen, &log);
  }
  if (seen.empty()) {
    // Lists of remapped rows and retired pages have no process.
    return monitor.empty() ? NvidiaSmiCsv(text, command)
                           : Unreadable("nvidia_smi_apps", "no line describes a process on a GPU");
  }
  // GPUs without a process are not listed, so the state of unlisted GPUs is unknown.
  log.set_partial();
  return std::move(log).Finish("nvidia_smi_apps", text);
}

}  // namespace galen::intake
