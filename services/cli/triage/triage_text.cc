#include "services/cli/triage/triage_text.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"

namespace galen::cli {
namespace {

using triage::Course;
using triage::JobReport;
using triage::Progress;
using triage::Shown;
using triage::Source;
using triage::Status;

constexpr std::size_t kName = 12;
constexpr std::size_t kMostOthers = 12;
constexpr std::size_t kMostLogs = 8;
constexpr std::size_t kMostOfLead = 160;

std::string Clock(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", time, absl::UTCTimeZone());
}

// "3h12m", "42.1s".
std::string Short(absl::Duration duration) {
  const bool negative = duration < absl::ZeroDuration();
  duration = absl::AbsDuration(duration);
  const absl::Duration unit =
      duration >= absl::Minutes(1) ? absl::Seconds(1) : absl::Milliseconds(100);
  return absl::StrCat(negative ? "-" : "", absl::FormatDuration(absl::Trunc(duration, unit)));
}

std::string Count(std::int64_t count, absl::string_view one, absl::string_view many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

Colour ColourOf(Status status) {
  switch (status) {
    case Status::kCompleted:
    case Status::kRunning:
      return Colour::kGreen;
    case Status::kUnknown:
    case Status::kCancelled:
      return Colour::kYellow;
    default:
      return Colour::kRed;
  }
}

// "train.log:1577, 2021-05-23 08:45:57, rank 3"
std::string Where(const Source& source) {
  std::vector<std::string> parts;
  if (!source.log.empty()) parts.push_back(absl::StrCat(source.log, ":", source.line));
  if (source.time.has_value()) parts.push_back(Clock(*source.time));
  if (!source.writer.empty()) parts.push_back(source.writer);
  return absl::StrJoin(parts, ", ");
}

// The means of equal runs of steps, from the smallest to the largest.
std::string Sparkline(const std::vector<triage::Series::Point>& points) {
  constexpr std::size_t kColumns = 24;
  static constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (points.size() < 3) return "";
  std::vector<double> columns;
  const std::size_t n = std::min(kColumns, points.size());
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t begin = i * points.size() / n;
    const std::size_t end = std::max(begin + 1, (i + 1) * points.size() / n);
    double sum = 0;
    for (std::size_t k = begin; k < end; ++k) sum += points[k].mean;
    columns.push_back(sum / static_cast<double>(end - begin));
  }
  const auto [low, high] = std::minmax_element(columns.begin(), columns.end());
  const double least = *low;
  const double range = *high - least;
  std::string text;
  for (const double value : columns) {
    const double part = range > 0 ? (value - least) / range : 0;
    text += kBars[std::clamp(static_cast<int>(part * 8), 0, 7)];
  }
  return text;
}

class Page {
 public:
  Page(const JobReport& report, const Terminal& terminal) : report_(report), terminal_(terminal) {}

  std::string Make() {
    Head();
    if (report_.primary.has_value()) Failure("primary", *report_.primary, Colour::kRed);
    std::size_t shown = 0;
    for (const Shown& other : report_.others) {
      if (++shown > kMostOthers) break;
      Failure(other.relation == "note" ? "note" : "also", other, Colour::kYellow);
    }
    if (report_.others.size() > kMostOthers) {
      Line("", absl::StrCat(report_.others.size() - kMostOthers, " more; --json has them all"));
    }
    Steps();
    Time();
    Checkpoint();
    for (const Course& course : report_.courses) Rate(course);
    Ends();
    Context();
    Logs();
    Leads();
    for (const std::string& unknown : report_.unknown) {
      Line(std::exchange(unknown_, ""), unknown);
    }
    for (const std::string& next : report_.next) Line(std::exchange(next_, ""), next);
    return std::move(text_);
  }

 private:
  void Line(absl::string_view name, absl::string_view text) {
    const std::size_t room = static_cast<std::size_t>(std::max(40, terminal_.width)) - kName;
    bool first = true;
    for (const std::string& part : Wrap(text, room)) {
      absl::StrAppend(&text_, Paint(terminal_, Colour::kBold, Pad(first ? name : "", kName)), part,
                      "\n");
      first = false;
    }
  }

  void Head() {
    const Status status = report_.decision.status;
    std::string head = Paint(terminal_, ColourOf(status), triage::ToString(status));
    if (report_.decision.soft) head += " (although it ended badly)";
    if (!report_.stage.empty()) absl::StrAppend(&head, ", ", report_.stage);
    absl::StrAppend(&text_, Paint(terminal_, Colour::kBold, Pad("status", kName)), head, "\n");
    Line("", report_.decision.why);
  }

  void Failure(absl::string_view name, const Shown& shown, Colour colour) {
    std::string head = absl::StrCat(Paint(terminal_, colour, shown.name), ": ", shown.title);
    std::vector<std::string> more;
    if (shown.relation != "cause" && shown.relation != "note") more.push_back(shown.relation);
    if (shown.survived) more.push_back("steps went on after it");
    if (shown.count > 1) more.push_back(Count(shown.count, "line", "lines"));
    if (shown.writers > 1) more.push_back(Count(shown.writers, "writer", "writers"));
    if (!more.empty()) absl::StrAppend(&head, " (", absl::StrJoin(more, ", "), ")");
    Line(name, head);
    const std::string where = Where(shown.first);
    const std::string quote = Shorten(absl::StripAsciiWhitespace(shown.first.text), 160);
    if (!where.empty()) Line("", where);
    if (!quote.empty()) {
      absl::StrAppend(&text_, Pad("", kName), Paint(terminal_, Colour::kDim, quote), "\n");
    }
  }

  void Steps() {
    const Progress& progress = report_.progress;
    if (progress.framework.empty()) return;
    std::string text = progress.framework;
    if (progress.last_step.has_value()) {
      absl::StrAppend(&text, ": step ", *progress.last_step);
      if (progress.total_steps.has_value()) {
        absl::StrAppend(&text, " of ", *progress.total_steps);
      }
      absl::StrAppend(&text, ", from ", *progress.first_step);
      if (progress.runs > 1) absl::StrAppend(&text, " in the last of ", progress.runs, " runs");
      if (progress.restored == true) {
        absl::StrAppend(&text, ", from a checkpoint",
                        progress.restored_step.has_value()
                            ? absl::StrCat(" of step ", *progress.restored_step)
                            : "");
      } else if (progress.restored == false) {
        text += ", from no checkpoint";
      }
    } else if (progress.writers > 0) {
      text += ": a server, which has no steps";
    }
    Line("progress", text);
    if (progress.at.has_value()) Line("", absl::StrCat("last: ", Where(*progress.at)));
    if (progress.expected_step.has_value() && progress.last_step.has_value() &&
        *progress.expected_step > *progress.last_step) {
      Line("", absl::StrCat("expected by then: step ", *progress.expected_step));
    }
    if (progress.remaining.has_value() && *progress.remaining > absl::ZeroDuration()) {
      Line("", absl::StrCat("remaining, at that pace: ", Short(*progress.remaining)));
    }
  }

  void Time() {
    const Progress& progress = report_.progress;
    if (!progress.begin.has_value()) return;
    Line("time", absl::StrCat(Clock(*progress.begin), " to ", Clock(*progress.end), ", ",
                              Short(*progress.wall)));
    if (progress.timed) {
      std::string text = absl::StrCat("in steps ", Short(absl::Seconds(progress.sum_seconds)));
      if (progress.unaccounted.has_value()) {
        absl::StrAppend(&text, ", in none ", Short(*progress.unaccounted));
      }
      Line("", text);
    }
    if (progress.idle.has_value() && report_.decision.stalled) {
      Line("", absl::StrCat("without a step at its end: ", Short(*progress.idle)));
    }
  }

  void Checkpoint() {
    const Progress& progress = report_.progress;
    std::string text;
    if (progress.saved_step.has_value()) {
      text = absl::StrCat(
          "step ", *progress.saved_step,
          progress.saved_by_period
              ? absl::StrCat(" by its period of ", progress.checkpoint_period.value_or(0),
                             "; the log does not say that it is written")
              : "");
    } else if (progress.checkpoint_period.has_value()) {
      text = absl::StrCat("none yet, every ", *progress.checkpoint_period, " steps");
    } else {
      return;
    }
    if (progress.lost_steps.has_value() && *progress.lost_steps > 0) {
      absl::StrAppend(&text, "; behind it ", Count(*progress.lost_steps, "step", "steps"));
    }
    Line("checkpoint", text);
  }

  void Rate(const Course& course) {
    std::string text = absl::StrFormat("%s %.4g%s (%.4g to %.4g)", course.name, course.steady,
                                       course.unit.empty() ? "" : absl::StrCat(" ", course.unit),
                                       course.min, course.max);
    if (course.derived) text += ", worked out";
    if (course.change.has_value()) {
      absl::StrAppendFormat(&text, ", %+.1f %% to the end", 100 * *course.change);
    }
    const std::string line = Sparkline(course.points);
    if (!line.empty()) absl::StrAppend(&text, "  ", line);
    Line(std::exchange(rate_, ""), text);
  }

  void Ends() {
    constexpr std::size_t kMost = 8;
    if (report_.ends.empty()) return;
    std::vector<std::string> parts;
    for (const triage::ProcessEnd& end : report_.ends) {
      if (parts.size() == kMost) break;
      std::string part = end.rank >= 0 ? absl::StrCat("rank ", end.rank, " ") : "a process ";
      if (end.end.signal.value_or(0) != 0) {
        absl::StrAppend(&part, "signal ", *end.end.signal);
      } else {
        absl::StrAppend(&part, "code ", end.end.exit_code.value_or(0));
      }
      if (!end.meaning.empty()) absl::StrAppend(&part, " (", end.meaning, ")");
      parts.push_back(std::move(part));
    }
    if (report_.ends_in_all > static_cast<std::int64_t>(parts.size())) {
      parts.push_back(
          absl::StrCat(report_.ends_in_all - static_cast<std::int64_t>(parts.size()), " more"));
    }
    Line("ends", absl::StrJoin(parts, "; "));
  }

  void Context() {
    const triage::JobContext& context = report_.context;
    std::vector<std::string> parts;
    const auto add = [&](absl::string_view name, const std::optional<std::string>& value) {
      if (value.has_value()) parts.push_back(absl::StrCat(name, " ", *value));
    };
    add("job", context.job);
    add("node", context.node);
    add("partition", context.partition);
    add("pod", context.pod);
    add("namespace", context.name_space);
    if (context.world_size.has_value()) {
      parts.push_back(absl::StrCat("world size ", *context.world_size));
    }
    if (context.sequence_length.has_value()) {
      parts.push_back(absl::StrCat("sequence length ", *context.sequence_length));
    }
    if (!report_.scheduler.empty()) {
      parts.push_back(absl::StrCat("scheduler: ", report_.scheduler,
                                   report_.scheduler_at.has_value()
                                       ? absl::StrCat(" (", Where(*report_.scheduler_at), ")")
                                       : ""));
    }
    if (!parts.empty()) Line("job", absl::StrJoin(parts, ", "));
  }

  // Unknown lines: worth a look, not evidence.
  void Leads() {
    const char* name = "strange";
    if (!report_.leads.empty()) {
      Line(std::exchange(name, ""), "lines that nobody knows; leads, no finding");
    }
    for (const triage::Lead& lead : report_.leads) {
      Line(name, CleanText(lead.text, kMostOfLead));
      Line(name, absl::StrCat("  ", Where(lead.first), "; ", Count(lead.count, "line", "lines"),
                              "; ", absl::StrJoin(lead.why, ", ")));
    }
  }

  void Logs() {
    std::int64_t lines = 0;
    std::vector<std::string> parts;
    for (const triage::LogRead& log : report_.logs) {
      lines += log.lines;
      if (!log.trouble.empty() && parts.size() < kMostLogs) {
        parts.push_back(absl::StrCat(log.name, ": ", log.trouble));
      }
    }
    Line("logs", absl::StrCat(Count(static_cast<std::int64_t>(report_.logs.size()), "log", "logs"),
                              ", ", Count(lines, "line", "lines")));
    for (const std::string& part : parts) Line("", part);
  }

  const JobReport& report_;
  const Terminal& terminal_;
  std::string text_;
  const char* rate_ = "rates";
  const char* unknown_ = "not known";
  const char* next_ = "look at";
};

}  // namespace

std::string TriageText(const JobReport& report, const Terminal& terminal) {
  return Page(report, terminal).Make();
}

}  // namespace galen::cli
