#include "common/profile/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/svg/svg.h"

namespace galen::profile {
namespace {

constexpr char kTitle[] = "Breakdown of step time";
constexpr double kWidth = 1000;
constexpr double kLeft = 150;   // names of rows
constexpr double kRight = 220;  // the text after the bars
constexpr double kRoom = kWidth - kLeft - kRight;
constexpr double kRow = 26;
constexpr double kBar = 18;
constexpr std::size_t kMostRows = 48;
constexpr std::size_t kNameLetters = 20;

// The parts of a split, in their order. White letters can be read on each colour (4.5 : 1).
struct Part {
  const char* name;
  const char* colour;
  std::int64_t Split::*time;
};
constexpr std::array<Part, 5> kParts = {{
    {"compute", "#1a7f5a", &Split::compute},
    {"communication not covered", "#b35309", &Split::exposed},
    {"memory copies", "#6f42c1", &Split::memory},
    {"waiting for the host", "#8a6d00", &Split::host},
    {"idle", "#656d76", &Split::idle},
}};
constexpr const char* kKindColours[] = {"#1a7f5a", "#b35309", "#6f42c1"};

std::string Cut(absl::string_view text, std::size_t letters) {
  return text.size() <= letters ? std::string(text)
                                : absl::StrCat(text.substr(0, letters - 1), "…");
}

std::string Milliseconds(double nanoseconds) {
  const double ms = nanoseconds * 1e-6;
  return ms >= 100 ? absl::StrFormat("%.0f ms", ms) : absl::StrFormat("%.3g ms", ms);
}

class Drawing {
 public:
  std::string Make(const JobProfile& job) {
    const DeviceReport* drawn = nullptr;
    std::string who;
    for (std::size_t i = 0; i < job.ranks.ranks.size(); ++i) {
      const RankTimes& rank = job.ranks.ranks[i];
      const DeviceReport& device = job.traces[rank.trace].devices[rank.device];
      if (drawn == nullptr || (job.ranks.slowest == i && device.drawn.when.Length() > 0)) {
        drawn = &device;
        who = rank.who;
      }
    }
    if (drawn == nullptr) return "";
    Title(24, kTitle);
    Legend();
    Bars(job);
    Timeline(*drawn, who);
    return svg_.Finish(kWidth, y_ + 12, kTitle);
  }

 private:
  void Box(double x, double y, double width, double height, absl::string_view colour) {
    svg_.Rect(x, y, width, height, "", "", absl::StrCat(" fill=\"", colour, "\""));
  }

  void Title(double y, absl::string_view text) {
    svg_.Text(16, y, text, "t", "start", " font-size=\"16\" font-weight=\"bold\"");
    y_ = y + 14;
  }

  void Legend() {
    double x = 16;
    for (const Part& part : kParts) {
      Box(x, y_, 12, 12, part.colour);
      svg_.Text(x + 17, y_ + 11, part.name, "q");
      x += 40 + svg::Svg::WidthOf(part.name);
    }
    y_ += 26;
  }

  void Bars(const JobProfile& job) {
    std::size_t rows = 0;
    for (std::size_t i = 0; i < job.ranks.ranks.size(); ++i) {
      const RankTimes& rank = job.ranks.ranks[i];
      if (rows == kMostRows) {
        svg_.Text(16, y_ + 13, absl::StrCat(job.ranks.ranks.size() - rows, " more"), "q");
        y_ += kRow;
        break;
      }
      ++rows;
      const DeviceReport& device = job.traces[rank.trace].devices[rank.device];
      svg_.Text(16, y_ + 13, Cut(rank.who, kNameLetters), "t");
      Bar(device.total);
      const std::string behind =
          absl::StrCat(Milliseconds(rank.wall * 1e9), device.marked ? " a step" : " in all",
                       job.ranks.slowest == i ? ", the slowest"
                       : device.total.communication > 0
                           ? absl::StrFormat(", overlap %.0f %%",
                                             100.0 * static_cast<double>(device.total.Hidden()) /
                                                 static_cast<double>(device.total.communication))
                           : "");
      svg_.Text(kWidth - kRight + 10, y_ + 13, behind, "q");
      y_ += kRow;
    }
    y_ += 10;
  }

  void Bar(const Split& split) {
    if (split.wall <= 0) return;
    double x = kLeft;
    for (const Part& part : kParts) {
      const double share = static_cast<double>(split.*part.time) / static_cast<double>(split.wall);
      const double width = share * kRoom;
      if (width <= 0) continue;
      Box(x, y_, width, kBar, part.colour);
      if (width >= 44) {
        svg_.Text(x + width / 2, y_ + 13.5, absl::StrFormat("%.0f %%", 100 * share), "w", "middle",
                  " fill=\"#ffffff\" font-size=\"12\"");
      }
      x += width;
    }
  }

  void Timeline(const DeviceReport& device, const std::string& who) {
    const DrawnStep& step = device.drawn;
    const double length = static_cast<double>(step.when.Length());
    if (length <= 0) return;
    Title(y_ + 16,
          absl::StrCat(Cut(who, 40), ": ", step.name.empty() ? "the whole trace" : step.name));
    const auto at = [&](std::int64_t time) {
      return kLeft + kRoom * static_cast<double>(time - step.when.begin) / length;
    };
    const auto row = [&](absl::string_view name, absl::string_view behind) {
      svg_.Text(16, y_ + 13, Cut(name, kNameLetters), "t");
      svg_.Rect(kLeft, y_, kRoom, kBar, "g");
      svg_.Text(kWidth - kRight + 10, y_ + 13, behind, "q");
    };
    row("host", "launches, waits, prepares");
    for (const Interval& one : step.host) {
      Box(at(one.begin), y_, std::max(at(one.end) - at(one.begin), 0.4), kBar, "#8a6d00");
    }
    y_ += kRow;
    for (const DrawnStream& stream : step.streams) {
      row(stream.name,
          absl::StrFormat("busy %.0f %%", 100 * static_cast<double>(stream.busy) / length));
      for (const DrawnPiece& piece : stream.pieces) {
        Box(at(piece.when.begin), y_, std::max(at(piece.when.end) - at(piece.when.begin), 0.4),
            kBar, kKindColours[static_cast<std::size_t>(piece.kind)]);
      }
      y_ += kRow;
    }
    Axis(length);
    if (step.more_streams > 0) {
      svg_.Text(16, y_ + 13,
                absl::StrCat(step.more_streams, " more streams, less busy, are not drawn"), "q");
      y_ += kRow;
    }
  }

  void Axis(double length) {
    constexpr int kTicks = 5;
    for (int i = 0; i <= kTicks; ++i) {
      const double x = kLeft + kRoom * i / kTicks;
      svg_.Line(x, y_ - 6, x, y_);
      svg_.Text(x, y_ + 13, Milliseconds(length * i / kTicks), "q",
                i == 0        ? "start"
                : i == kTicks ? "end"
                              : "middle",
                " font-size=\"11\"");
    }
    y_ += kRow;
  }

  svg::Svg svg_;
  double y_ = 0;
};

}  // namespace

std::string Picture(const JobProfile& job) { return Drawing().Make(job); }

}  // namespace galen::profile
