#include "common/profile/xplane.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/wire.h"
#include "common/profile/trace_writer.h"

namespace galen::profile {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;
constexpr std::size_t kMostPlanes = 4096;
constexpr std::size_t kMostLines = 100'000;
constexpr std::uint64_t kLongestPs = std::uint64_t{400} * 24 * 3600 * 1'000'000'000'000;

struct Line {
  absl::string_view name;
  std::int64_t timestamp_ns = 0;
  absl::string_view bytes;  // of the line, events and all
  std::uint64_t process = 0;
  std::uint64_t thread = 0;
  std::size_t plane = 0;
};

struct Plane {
  absl::string_view name;
  bool device = false;
  absl::flat_hash_map<std::uint64_t, absl::string_view> events;  // names
  absl::flat_hash_map<std::uint64_t, absl::string_view> stats;
};

// Reads an entry of a map from numbers to messages: the number, and the message's name.
void TakeMetadata(absl::string_view entry,
                  absl::flat_hash_map<std::uint64_t, absl::string_view>& names) {
  Wire wire(entry);
  WireField field;
  std::uint64_t id = 0;
  absl::string_view name;
  absl::string_view shown;
  while (wire.Next(field)) {
    if (field.number == 1) id = field.value;
    if (field.number != 2) continue;
    Wire of(field.bytes);
    WireField inner;
    while (of.Next(inner)) {
      if (inner.number == 2) name = inner.bytes;
      if (inner.number == 4 && !inner.bytes.empty()) shown = inner.bytes;
    }
  }
  names[id] = shown.empty() ? name : shown;
}

class Converter {
 public:
  explicit Converter(std::string bytes) : bytes_(std::move(bytes)) {}

  absl::Status Open() {
    Wire space(bytes_);
    WireField field;
    while (space.Next(field)) {
      if (field.number == 1 && planes_.size() < kMostPlanes) TakePlane(field.bytes);
    }
    if (space.broken() && planes_.empty()) {
      return absl::DataLossError("is not an XPlane: its fields cannot be read");
    }
    out_ = "{\"traceEvents\":[{}";
    for (std::size_t i = 0; i < planes_.size(); ++i) {
      Name("process_name", i + 1, 0, planes_[i].name);
    }
    for (const Line& line : lines_) Name("thread_name", line.process, line.thread, line.name);
    return absl::OkStatus();
  }

  absl::StatusOr<absl::string_view> Next() {
    piece_.clear();
    piece_.swap(out_);
    while (piece_.size() < kPiece && at_ < lines_.size()) {
      if (!events_.has_value()) events_.emplace(lines_[at_].bytes);
      WireField field;
      if (!events_->Next(field)) {
        EndModule();
        events_.reset();
        ++at_;
        continue;
      }
      if (field.number == 4) TakeEvent(lines_[at_], field.bytes);
      piece_ += out_;
      out_.clear();
    }
    if (at_ == lines_.size() && !ended_) {
      ended_ = true;
      piece_ += out_;
      out_.clear();
      piece_ += "]}";
    }
    return absl::string_view(piece_);
  }

 private:
  void TakePlane(absl::string_view bytes) {
    Plane plane;
    std::vector<Line> lines;
    Wire wire(bytes);
    WireField field;
    while (wire.Next(field)) {
      if (field.number == 2) plane.name = field.bytes;
      if (field.number == 4) TakeMetadata(field.bytes, plane.events);
      if (field.number == 5) TakeMetadata(field.bytes, plane.stats);
      if (field.number == 3 && lines_.size() + lines.size() < kMostLines) {
        Line line;
        line.bytes = field.bytes;
        Wire of(field.bytes);
        WireField inner;
        absl::string_view shown;
        while (of.Next(inner)) {
          if (inner.number == 2) line.name = inner.bytes;
          if (inner.number == 11 && !inner.bytes.empty()) shown = inner.bytes;
          if (inner.number == 3) line.timestamp_ns = static_cast<std::int64_t>(inner.value);
        }
        if (!shown.empty()) line.name = shown;
        lines.push_back(line);
      }
    }
    plane.device = absl::StrContains(plane.name, "/device:");
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i].process = planes_.size() + 1;
      lines[i].thread = i + 1;
      lines[i].plane = planes_.size();
      lines_.push_back(lines[i]);
    }
    planes_.push_back(std::move(plane));
  }

  void Name(const char* what, std::uint64_t process, std::uint64_t thread, absl::string_view name) {
    absl::StrAppend(&out_, ",{\"ph\":\"M\",\"name\":\"", what, "\",\"pid\":", process,
                    ",\"tid\":", thread, ",\"args\":{\"name\":", QuotedJson(name), "}}");
  }

  void Event(std::uint64_t process, std::uint64_t thread, absl::string_view name,
             std::uint64_t begin_ps, std::uint64_t duration_ps) {
    absl::StrAppendFormat(
        &out_,
        ",{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%d.%06d,\"dur\":%d.%06d,\"name\":", process,
        thread, begin_ps / 1'000'000, begin_ps % 1'000'000, duration_ps / 1'000'000,
        duration_ps % 1'000'000);
    absl::StrAppend(&out_, QuotedJson(name), "}");
  }

  void TakeEvent(const Line& line, absl::string_view bytes) {
    const Plane& plane = planes_[line.plane];
    Wire wire(bytes);
    WireField field;
    std::uint64_t id = 0;
    std::uint64_t offset = 0;
    std::uint64_t duration = 0;
    OfProgram of;
    while (wire.Next(field)) {
      if (field.number == 1) id = field.value;
      if (field.number == 2) offset = field.value;
      if (field.number == 3) duration = field.value;
      if (field.number == 4 && plane.device) TakeStat(plane, field.bytes, of);
    }
    const auto name = plane.events.find(id);
    if (name == plane.events.end() || line.timestamp_ns < 0 || offset > kLongestPs ||
        duration > kLongestPs ||
        static_cast<std::uint64_t>(line.timestamp_ns) > (std::uint64_t{1} << 62) / 1000) {
      return;
    }
    const std::uint64_t begin = static_cast<std::uint64_t>(line.timestamp_ns) * 1000 + offset;
    Event(line.process, line.thread, name->second, begin, duration);
    if (!plane.device || !absl::StartsWith(line.name, "Stream #")) return;
    // An event without a program, such as a copy, neither ends a run nor is part of one; another
    // run of the same program has another group, if the trace records groups.
    if (of.module.empty()) return;
    if (of.module != module_ || of.group != group_) {
      EndModule();
      module_ = std::string(of.module);
      group_ = of.group;
      module_begin_ = begin;
    }
    module_end_ = std::max(module_end_, begin + duration);
  }

  struct OfProgram {
    absl::string_view module;
    std::uint64_t group = 0;
  };

  static void TakeStat(const Plane& plane, absl::string_view bytes, OfProgram& of) {
    Wire wire(bytes);
    WireField field;
    absl::string_view stat;
    absl::string_view text;
    std::uint64_t number = 0;
    while (wire.Next(field)) {
      const auto named = plane.stats.find(field.value);
      if (field.number == 1 && named != plane.stats.end()) stat = named->second;
      if (field.number == 3 || field.number == 4) number = field.value;
      if (field.number == 5) text = field.bytes;
      // A text stored as the name of a stat.
      if (field.number == 7 && named != plane.stats.end()) text = named->second;
    }
    if (stat == "hlo_module") of.module = text;
    if (stat == "group_id") of.group = number;
  }

  void EndModule() {
    if (!module_.empty() && module_end_ > module_begin_) {
      const Line& line = lines_[at_];
      // Behind all threads of the plane.
      const std::uint64_t thread = kMostLines + line.thread;
      absl::string_view stream = line.name;
      stream.remove_prefix(absl::string_view("Stream ").size());
      if (modules_named_.insert(line.process * (2 * kMostLines) + thread).second) {
        Name("thread_name", line.process, thread,
             absl::StrCat("XLA Modules - from ", stream.substr(0, stream.find('('))));
      }
      Event(line.process, thread, module_, module_begin_, module_end_ - module_begin_);
    }
    module_.clear();
    module_begin_ = 0;
    module_end_ = 0;
  }

  const std::string bytes_;
  std::vector<Plane> planes_;
  std::vector<Line> lines_;
  std::size_t at_ = 0;
  std::optional<Wire> events_;
  std::string module_;
  std::uint64_t group_ = 0;
  std::uint64_t module_begin_ = 0;
  std::uint64_t module_end_ = 0;
  std::set<std::uint64_t> modules_named_;
  std::string out_;
  std::string piece_;
  bool ended_ = false;
};

}  // namespace

bool LooksLikeXplane(absl::string_view head) {
  // The first field of a space is a plane (1, a message), whose own first fields are its number (1)
  // or its name (2).
  if (head.size() < 4 || head[0] != '\x0a') return false;
  std::size_t at = 1;
  while (at < head.size() && at < 11 && (static_cast<unsigned char>(head[at]) & 0x80) != 0) ++at;
  ++at;
  return at < head.size() && (head[at] == '\x08' || head[at] == '\x12');
}

absl::StatusOr<JsonStream::Source> XplaneAsTrace(std::string bytes) {
  auto converter = std::make_shared<Converter>(std::move(bytes));
  if (const absl::Status status = converter->Open(); !status.ok()) return status;
  return JsonStream::Source([converter] { return converter->Next(); });
}

}  // namespace galen::profile
