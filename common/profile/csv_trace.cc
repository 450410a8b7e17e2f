#include "common/profile/csv_trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/profile/trace_writer.h"

namespace galen::profile {
namespace {

constexpr std::size_t kMostLine = std::size_t{64} << 10;
constexpr std::size_t kMostFields = 128;

// The fields of a line; a quoted one may hold commas, and quotes twice.
std::vector<std::string> FieldsOf(absl::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      if (fields.size() == kMostFields) break;
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

// Columns of a table, by the names that each program has for them.
struct Columns {
  explicit Columns(const std::vector<std::string>& names) {
    const auto find = [&](std::initializer_list<const char*> any) -> std::optional<std::size_t> {
      for (const char* const one : any) {
        const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& each) {
          return absl::StripAsciiWhitespace(each) == one;
        });
        if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
      }
      return std::nullopt;
    };
    begin = find({"Start_Timestamp", "BeginNs", "Start (ns)"});
    end = find({"End_Timestamp", "EndNs"});
    duration = find({"Duration (ns)"});
    kernel = find({"Kernel_Name", "KernelName"});
    name = find({"Name"});
    device = find({"Agent_Id", "gpu-id", "GPU_ID", "Device"});
    stream = find({"Stream_Id", "Strm", "Queue_Id", "queue-id", "Queue_ID"});
    direction = find({"Direction"});
    source = find({"Source_Agent_Id"});
    destination = find({"Destination_Agent_Id"});
    domain = find({"Domain"});
    function = find({"Function"});
    counter = find({"Counter_Name"});
    // The table of nsys has copies and kernels in one column.
    if (!kernel.has_value() && stream.has_value() && duration.has_value()) kernel = name;
    if (!begin.has_value() || (!end.has_value() && !duration.has_value())) return;
    if (kernel.has_value() && !counter.has_value()) {
      table = CsvTable::kKernels;
    } else if (direction.has_value() && destination.has_value()) {
      table = CsvTable::kCopies;
    } else if (domain.has_value() && function.has_value()) {
      table = CsvTable::kHostCalls;
    }
  }

  std::optional<std::size_t> begin;
  std::optional<std::size_t> end;
  std::optional<std::size_t> duration;
  std::optional<std::size_t> kernel;
  std::optional<std::size_t> name;
  std::optional<std::size_t> device;
  std::optional<std::size_t> stream;
  std::optional<std::size_t> direction;
  std::optional<std::size_t> source;
  std::optional<std::size_t> destination;
  std::optional<std::size_t> domain;
  std::optional<std::size_t> function;
  std::optional<std::size_t> counter;
  CsvTable table = CsvTable::kNone;
};

// "GPU 3" is number 3, as are "3" and "NVIDIA H100 (3)"; "Agent 3" counts CPUs too.
std::string DeviceOf(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (absl::ConsumePrefix(&text, "GPU ")) return std::string(text);
  const std::size_t bracket = text.rfind('(');
  if (absl::EndsWith(text, ")") && bracket != absl::string_view::npos) {
    return std::string(text.substr(bracket + 1, text.size() - bracket - 2));
  }
  return std::string(text);
}

class CsvRewriter {
 public:
  CsvRewriter(std::vector<JsonStream::Source> tables, const Families& families)
      : tables_(std::move(tables)), families_(families) {}

  absl::StatusOr<bool> More(TraceWriter& writer) {
    if (at_ == tables_.size()) return false;
    const absl::StatusOr<absl::string_view> piece = tables_[at_]();
    if (!piece.ok()) return piece.status();
    if (piece->empty()) {
      if (!line_.empty()) Line(writer);
      if (too_long_ > 0) {
        writer.Remark(absl::StrCat(too_long_, " lines longer than 64 KiB are left out"));
      }
      columns_.reset();
      too_long_ = 0;
      ++at_;
      return true;
    }
    for (absl::string_view rest = *piece; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      const absl::string_view part = rest.substr(0, end);
      if (line_.size() <= kMostLine)
        line_.append(part.data(), std::min(part.size(), kMostLine + 1));
      if (end == absl::string_view::npos) break;
      rest.remove_prefix(end + 1);
      Line(writer);
    }
    return true;
  }

 private:
  void Line(TraceWriter& writer) {
    const std::string line = std::exchange(line_, "");
    if (line.size() > kMostLine) {
      ++too_long_;
      return;
    }
    if (absl::StripAsciiWhitespace(line).empty()) return;
    const std::vector<std::string> fields = FieldsOf(absl::StripSuffix(line, "\r"));
    if (!columns_.has_value()) {
      columns_.emplace(fields);
      return;
    }
    const auto field = [&](std::optional<std::size_t> column) -> absl::string_view {
      return column.has_value() && *column < fields.size() ? fields[*column] : absl::string_view();
    };
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool good = absl::SimpleAtoi(field(columns_->begin), &begin) && begin >= 0;
    if (columns_->end.has_value()) {
      good = good && absl::SimpleAtoi(field(columns_->end), &end);
    } else {
      std::int64_t duration = 0;
      good = good && absl::SimpleAtoi(field(columns_->duration), &duration) && duration >= 0 &&
             !__builtin_add_overflow(begin, duration, &end);
    }
    if (!good || end < begin) {
      writer.Damaged();
      return;
    }
    switch (columns_->table) {
      case CsvTable::kKernels: {
        absl::string_view name = field(columns_->kernel);
        const char* category = "kernel";
        std::string copy;
        if (absl::ConsumePrefix(&name, "[CUDA memcpy ")) {
          category = "gpu_memcpy";
          copy = absl::StrCat("Memcpy ", absl::StripSuffix(name, "]"));
        } else if (absl::StartsWith(name, "[CUDA memset")) {
          category = "gpu_memset";
          copy = "Memset";
        }
        const absl::string_view device = field(columns_->device);
        writer.Operation(category, copy.empty() ? name : copy,
                         device.empty() ? "0" : DeviceOf(device), field(columns_->stream), begin,
                         end);
        break;
      }
      case CsvTable::kCopies:
        Copy(field(columns_->direction), field(columns_->source), field(columns_->destination),
             begin, end, writer);
        break;
      case CsvTable::kHostCalls:
        if (absl::StartsWith(field(columns_->domain), "MARKER")) {
          const absl::string_view name = field(columns_->function);
          if (families_.IsStep(name)) writer.Step(name, "", begin, end);
        } else if (absl::StartsWith(field(columns_->domain), "HIP")) {
          writer.Host(begin, end);
        }
        break;
      case CsvTable::kNone:
        break;
    }
  }

  static void Copy(absl::string_view direction, absl::string_view source,
                   absl::string_view destination, std::int64_t begin, std::int64_t end,
                   TraceWriter& writer) {
    absl::ConsumePrefix(&direction, "MEMORY_COPY_");
    const bool to_host = absl::EndsWith(direction, "_TO_HOST");
    if (to_host && absl::StartsWith(direction, "HOST_")) return;
    writer.Operation("gpu_memcpy", absl::StrCat("Memcpy ", direction),
                     DeviceOf(to_host ? source : destination), "copies", begin, end);
  }

  std::vector<JsonStream::Source> tables_;
  const Families& families_;
  std::size_t at_ = 0;
  std::string line_;
  std::int64_t too_long_ = 0;
  std::optional<Columns> columns_;
};

}  // namespace

CsvTable TableOfCsv(absl::string_view head) {
  const absl::string_view line = head.substr(0, std::min(head.find('\n'), kMostLine));
  if (!absl::StrContains(line, ',')) return CsvTable::kNone;
  return Columns(FieldsOf(absl::StripSuffix(line, "\r"))).table;
}

JsonStream::Source CsvAsTrace(std::vector<JsonStream::Source> tables, const Families& families) {
  auto rewriter = std::make_shared<CsvRewriter>(std::move(tables), families);
  return AsTrace([rewriter](TraceWriter& writer) { return rewriter->More(writer); });
}

}  // namespace galen::profile
