// csv_time: a table with a column of times, parted by commas, semicolons or tabs.
// nvidia_smi_dmon: `nvidia-smi dmon` with times (-o DT), nvidia-smi(1).
#include "common/intake/forms/series.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "re2/re2.h"

namespace galen::intake {
namespace {

// A day of eight GPUs and eight columns, once in ten seconds.
constexpr std::size_t kMostReadings = 600'000;
constexpr std::size_t kMostTableColumns = 512;

struct MetricName {
  const char* columns;  // RE2 over the column, made plain
  const char* metric;
};

// The names of NVIDIA's DCGM, which knowledge/telemetry knows, with the unit that they have.
constexpr MetricName kMetricNames[] = {
    {R"((?:gpu_?)?temp(?:erature)?(?:_gpu)?|gtemp)", "DCGM_FI_DEV_GPU_TEMP"},
    {R"((?:gpu_?)?clocks?_?max(?:imum)?_?sm)", "DCGM_FI_DEV_MAX_SM_CLOCK"},
    {R"((?:gpu_?)?(?:clocks?(?:_current)?_(?:sm|gr|graphics)|(?:sm_?|gpu_?|core_?|graphics_?)?(?:clock|clk)|pclk|sclk))",
     "DCGM_FI_DEV_SM_CLOCK"},
    {R"((?:gpu_?)?(?:power(?:_draw|_usage)?(?:_instant|_average)?|pwr|watts?))",
     "DCGM_FI_DEV_POWER_USAGE"},
    {R"((?:gpu_?)?util(?:i[sz]ation)?(?:_gpu)?)", "DCGM_FI_DEV_GPU_UTIL"},
    {R"(memory_used_mi?b|fb_used_mi?b|fb|gpu_mem(?:ory)?_used_mi?b)", "DCGM_FI_DEV_FB_USED"},
    {R"(ecc_errors_corrected_volatile_total|sbecc)", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"},
    {R"(ecc_errors_uncorrected_volatile_total|dbecc)", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"},
    {R"(step_?time(?:_s(?:ec(?:onds?)?)?)?|seconds_per_step)", "training_step_time_seconds"},
    {R"(tok(?:en)?s?_?(?:per|/)_?s(?:ec(?:ond)?)?|throughput_tok(?:en)?s?_s)",
     "training_tokens_per_second"},
};

// "temperature.gpu [C]" to "temperature_gpu": in lower case, with its unit behind it only where it
// is one of bytes.
std::string PlainColumn(absl::string_view column) {
  static const LazyRE2 kUnit = {
      R"(\s*[\[(]\s*(MiB|MB|°?C|W|MHz|%|s|sec|seconds|tok/s|tokens/s)\s*[\])]\s*$)"};
  static const LazyRE2 kSuffix = {R"(_(?:c|celsius|deg_?c|w|mhz|pct|percent)$)"};
  column = absl::StripAsciiWhitespace(column);
  absl::ConsumePrefix(&column, "\"");
  absl::ConsumeSuffix(&column, "\"");
  std::string name(column.substr(0, 128));
  std::string unit;
  RE2::PartialMatch(name, *kUnit, &unit);
  RE2::Replace(&name, *kUnit, "");
  absl::AsciiStrToLower(&name);
  for (char& c : name) {
    if (c == '.' || c == ' ' || c == '-') c = '_';
  }
  RE2::Replace(&name, *kSuffix, "");
  if (unit == "MiB" || unit == "MB") absl::StrAppend(&name, "_", absl::AsciiStrToLower(unit));
  return name;
}

// "gpu3_temp" and "temp_gpu_3": the number of the GPU, which is removed from the name; "" without
// one.
std::string TakeGpu(std::string* name) {
  static const LazyRE2 kBefore = {R"(^gpu_?(\d{1,3})_(\w+)$)"};
  static const LazyRE2 kBehind = {R"(^(\w+?)_?gpu_?(\d{1,3})$)"};
  std::string gpu;
  std::string rest;
  if (RE2::FullMatch(*name, *kBefore, &gpu, &rest) ||
      RE2::FullMatch(*name, *kBehind, &rest, &gpu)) {
    *name = rest;
    return gpu;
  }
  return "";
}

std::string MetricOfName(absl::string_view name) {
  static const auto* const names = [] {
    auto* const all = new std::vector<std::pair<const RE2*, const char*>>();
    for (const MetricName& each : kMetricNames) {
      all->emplace_back(new RE2(each.columns), each.metric);
    }
    return all;
  }();
  for (const auto& [columns, metric] : *names) {
    if (RE2::FullMatch(Piece(name), *columns)) return metric;
  }
  return "";
}

bool IsTimeColumn(absl::string_view name) {
  return name == "time" || name == "timestamp" || name == "ts" || name == "date" ||
         name == "datetime" || absl::StartsWith(name, "unix") || name == "epoch_s" ||
         name == "wall_time" || name == "time_utc";
}

bool IsGpuColumn(absl::string_view name) {
  return name == "gpu" || name == "gpu_id" || name == "gpu_index" || name == "index" ||
         name == "device" || name == "gpuid";
}

char SignOf(absl::string_view heading) {
  for (const char sign : {'\t', ';', ','}) {
    if (absl::StrContains(heading, sign)) return sign;
  }
  return '\0';
}

absl::string_view Bare(absl::string_view field) {
  field = absl::StripAsciiWhitespace(field);
  absl::ConsumePrefix(&field, "\"");
  absl::ConsumeSuffix(&field, "\"");
  return field;
}

// A column of a table.
struct TableColumn {
  bool time = false;
  bool gpu = false;
  std::string metric;
  std::string device;  // that the column's name holds
};

// Empty unless the line is a heading with a time and a known quantity.
std::vector<TableColumn> TableHeading(absl::string_view line, char sign) {
  std::vector<TableColumn> columns;
  bool time = false;
  bool known = false;
  for (const absl::string_view word : absl::StrSplit(line, sign)) {
    if (columns.size() == kMostTableColumns) return {};
    TableColumn& column = columns.emplace_back();
    std::string name = PlainColumn(word);
    column.time = !time && IsTimeColumn(name);
    time = time || column.time;
    column.gpu = IsGpuColumn(name);
    column.metric = MetricOfName(name);
    if (column.metric.empty() && !column.gpu) {
      column.device = TakeGpu(&name);
      column.metric = MetricOfName(name);
    }
    known = known || !column.metric.empty();
  }
  return time && known ? columns : std::vector<TableColumn>();
}

}  // namespace

std::string MetricOfColumn(absl::string_view column) { return MetricOfName(PlainColumn(column)); }

std::optional<double> TimeOfTable(absl::string_view text) {
  text = Bare(text);
  absl::Time time;
  std::string error;
  for (const char* format : {"%Y/%m/%d %H:%M:%E*S", "%Y-%m-%d %H:%M:%E*S", "%Y-%m-%dT%H:%M:%E*S%Ez",
                             "%Y-%m-%dT%H:%M:%E*S", "%Y-%m-%d %H:%M:%E*S%Ez"}) {
    if (absl::ParseTime(format, text, absl::UTCTimeZone(), &time, &error)) {
      return absl::ToDoubleSeconds(time - absl::UnixEpoch());
    }
  }
  double number = 0;
  if (!absl::SimpleAtod(text, &number)) return std::nullopt;
  constexpr double kEarliest = 1e9;  // 2001
  if (number > kEarliest * 1000 && number < 1e13) return number / 1000;
  if (number > kEarliest && number < 1e10) return number;
  return std::nullopt;
}

void Readings::Add(absl::string_view column, absl::string_view device, absl::string_view value,
                   double time) {
  if (samples_.size() == kMostReadings) return;
  value = Bare(value);
  const std::size_t end = value.find_first_not_of("+-.0123456789eE");
  double number = 0;
  if (value.empty() || !absl::SimpleAtod(value.substr(0, end), &number) || !std::isfinite(number)) {
    return;
  }
  samples_.push_back({.metric = std::string(column),
                      .device = IsNumber(device) ? std::string(device) : std::string(),
                      .value = number,
                      .time = time});
  times_.insert(time);
}

std::vector<Sample> Readings::Take() && {
  if (times_.size() < 2) return {};
  return std::move(samples_);
}

absl::StatusOr<Converted> TimedTable(absl::string_view text, absl::string_view /*command*/) {
  std::vector<TableColumn> columns;
  char sign = '\0';
  Readings readings;
  for (const absl::string_view line : PastedLines(text)) {
    if (const char own = columns.empty() ? SignOf(line) : sign; own != '\0') {
      if (std::vector<TableColumn> heading = TableHeading(line, own); !heading.empty()) {
        columns = std::move(heading);
        sign = own;
        continue;
      }
    }
    if (columns.empty()) continue;
    const std::vector<absl::string_view> fields = absl::StrSplit(line, sign);
    if (fields.size() != columns.size()) continue;
    std::optional<double> time;
    absl::string_view gpu;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (columns[i].time) time = TimeOfTable(fields[i]);
      if (columns[i].gpu) gpu = Bare(fields[i]);
    }
    if (!time.has_value()) continue;
    absl::ConsumePrefix(&gpu, "GPU");
    gpu = absl::StripAsciiWhitespace(gpu);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (columns[i].metric.empty()) continue;
      readings.Add(columns[i].metric, columns[i].device.empty() ? gpu : columns[i].device,
                   fields[i], *time);
    }
  }
  Converted converted;
  converted.samples = std::move(readings).Take();
  if (converted.samples.empty()) {
    return Unreadable("csv_time", "no column is a quantity that checks know, read at two times");
  }
  return converted;
}

absl::StatusOr<Converted> DeviceMonitor(absl::string_view text, absl::string_view /*command*/) {
  std::vector<std::string> columns;
  Readings readings;
  for (const absl::string_view line : PastedLines(text)) {
    std::vector<absl::string_view> words = PastedWords(line);
    if (words.empty()) continue;
    if (words[0][0] == '#') {
      // "#Date Time gpu pwr ...", "# gpu pwr ...", and the units below it
      absl::ConsumePrefix(&words[0], "#");
      if (words[0].empty()) words.erase(words.begin());
      bool names = false;
      for (const absl::string_view word : words) names = names || word == "gpu";
      if (names) columns = std::vector<std::string>(words.begin(), words.end());
      continue;
    }
    if (columns.size() < 3 || words.size() != columns.size() || columns[0] != "Date" ||
        columns[1] != "Time") {
      continue;
    }
    // "20240301"
    const std::string day = words[0].size() == 8
                                ? absl::StrCat(words[0].substr(0, 4), "-", words[0].substr(4, 2),
                                               "-", words[0].substr(6))
                                : std::string(words[0]);
    const std::optional<double> time = TimeOfTable(absl::StrCat(day, " ", words[1]));
    if (!time.has_value()) continue;
    absl::string_view gpu;
    for (std::size_t i = 2; i < words.size(); ++i) {
      if (columns[i] == "gpu") gpu = words[i];
    }
    for (std::size_t i = 2; i < words.size(); ++i) {
      // Here "sm" is how busy the GPU is.
      const std::string metric =
          columns[i] == "sm" ? "DCGM_FI_DEV_GPU_UTIL" : MetricOfName(columns[i]);
      if (!metric.empty()) readings.Add(metric, gpu, words[i], *time);
    }
  }
  Converted converted;
  converted.samples = std::move(readings).Take();
  if (converted.samples.empty()) {
    return Unreadable("nvidia_smi_dmon", "the lines have no times; -o DT gives them");
  }
  return converted;
}

}  // namespace galen::intake
