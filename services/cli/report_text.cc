#include "services/cli/report_text.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"

namespace galen::cli {
namespace {

constexpr std::size_t kMargin = 12;
constexpr int kMostRuledOut = 12;

// Writes blocks of "Heading     text", wrapped and hanging under the margin.
class Page {
 public:
  explicit Page(const Terminal& terminal) : terminal_(terminal) {}

  void Line(absl::string_view heading, absl::string_view text, Colour colour = Colour::kNone) {
    std::size_t width = static_cast<std::size_t>(terminal_.width) - kMargin;
    bool first = true;
    for (const std::string& line : Wrap(text, width)) {
      absl::StrAppend(&out_, Paint(terminal_, Colour::kBold, Pad(first ? heading : "", kMargin)),
                      Paint(terminal_, colour, line), "\n");
      first = false;
    }
  }
  void Blank() { out_ += '\n'; }
  std::string Take() { return std::move(out_); }

 private:
  const Terminal& terminal_;
  std::string out_;
};

std::string Where(const v1::Cause& cause) {
  std::vector<std::string> devices;
  for (const v1::Device& device : cause.devices()) {
    const std::string text = DeviceText(device);
    if (std::find(devices.begin(), devices.end(), text) == devices.end()) devices.push_back(text);
  }
  return absl::StrJoin(devices, ", ");
}

const v1::Evidence* FindEvidence(const v1::Report& report, const std::string& id) {
  for (const v1::Evidence& evidence : report.evidence()) {
    if (evidence.id() == id) return &evidence;
  }
  return nullptr;
}

void TellCause(const v1::Report& report, const v1::Cause& cause, absl::string_view heading,
               Colour colour, Page& page) {
  page.Line(heading,
            absl::StrFormat("%s (%.0f %%)", cause.label(), std::floor(cause.probability() * 100)),
            colour);
  page.Line("", cause.title());
  if (const std::string where = Where(cause); !where.empty()) page.Line("Where", where);
  bool first = true;
  for (const std::string& id : cause.evidence_ids()) {
    const v1::Evidence* evidence = FindEvidence(report, id);
    if (evidence == nullptr) continue;
    page.Line(first ? "Evidence" : "", absl::StrCat("[", id, "] ", evidence->text()));
    first = false;
  }
}

}  // namespace

std::string DeviceText(const v1::Device& device) {
  if (device.device().empty()) {
    return device.node().empty() ? "the job" : device.node();
  }
  std::string text = device.device();
  if (!device.node().empty()) absl::StrAppend(&text, " on ", device.node());
  if (!device.pci_address().empty()) absl::StrAppend(&text, " (", device.pci_address(), ")");
  return text;
}

// What was looked at of the system; "?" is what nobody knows.
void TellSystem(const v1::SystemReview& review, Page& page) {
  if (review.families().empty()) return;
  page.Blank();
  bool first = true;
  for (const v1::SystemReview::Family& family : review.families()) {
    const bool clean = family.state() == v1::SystemReview::CLEAN;
    const bool faulty = family.state() == v1::SystemReview::FAULTY;
    page.Line(first ? "System" : "",
              absl::StrCat(clean    ? "✓ "
                           : faulty ? "✗ "
                                    : "? ",
                           family.title(), ": ", family.text()),
              faulty  ? Colour::kRed
              : clean ? Colour::kGreen
                      : Colour::kDim);
    first = false;
  }
}

void TellExclusion(const v1::NodeExclusion& exclusion, Page& page) {
  if (exclusion.nodes().empty()) return;
  page.Blank();
  bool first = true;
  for (const v1::NodeExclusion::Node& node : exclusion.nodes()) {
    std::string line = node.node();
    if (node.has_gain_pct()) {
      absl::StrAppendFormat(&line, ": %+.1f %% throughput", node.gain_pct());
    }
    absl::StrAppend(&line, "; ", node.reason());
    page.Line(first ? "Leave out" : "", line);
    first = false;
  }
  page.Line("", absl::StrCat("Afterwards: ", exclusion.verify()), Colour::kDim);
}

// A line of blocks: how throughput went, at a glance.
void TellThroughput(const v1::Report& report, Page& page) {
  constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr int kColumns = 60;
  for (const v1::Course& course : report.courses()) {
    if (course.role() != v1::Course::THROUGHPUT || course.values_size() < 2) continue;
    double most = 0;
    for (const float value : course.values()) {
      if (std::isfinite(value)) most = std::max(most, static_cast<double>(value));
    }
    if (most <= 0) return;
    std::string line;
    const int columns = std::min(kColumns, course.values_size());
    for (int column = 0; column < columns; ++column) {
      const int from = course.values_size() * column / columns;
      const int to = course.values_size() * (column + 1) / columns;
      double sum = 0;
      int known = 0;
      for (int i = from; i < to; ++i) {
        if (!std::isfinite(course.values(i))) continue;
        sum += static_cast<double>(course.values(i));
        ++known;
      }
      line +=
          known == 0 ? " " : kBlocks[std::clamp(static_cast<int>(8 * sum / known / most), 0, 7)];
    }
    page.Blank();
    page.Line("Throughput", line);
    std::vector<std::string> levels;
    for (const v1::Course::Level& level : course.levels()) {
      if (levels.size() == 8) break;
      levels.push_back(absl::StrCat(
          absl::StrFormat("%.4g", level.value()), " from ",
          absl::FormatTime("%H:%M", absl::FromUnixSeconds(level.start_time().seconds()),
                           absl::UTCTimeZone())));
    }
    if (levels.size() > 1) {
      page.Line("", absl::StrCat(absl::StrJoin(levels, ", "), " UTC, ", course.unit()),
                Colour::kDim);
    }
    return;
  }
}

std::string ReportText(const v1::Report& report, const Terminal& terminal) {
  Page page(terminal);
  page.Line("Report", report.headline(), Colour::kBold);
  if (report.has_primary_cause()) {
    page.Blank();
    TellCause(report, report.primary_cause(), "Cause", Colour::kGreen, page);
    if (!report.owner().empty()) page.Line("Owner", report.owner());
  }
  if (report.has_presumed_cause()) {
    page.Blank();
    TellCause(report, report.presumed_cause(), "Presumed", Colour::kYellow, page);
    page.Line("", "No check verified it: what would do so gave no answer.");
  }
  for (const v1::Cause& cause : report.other_causes()) {
    page.Blank();
    TellCause(report, cause, "Also", Colour::kGreen, page);
  }
  if (!report.secondary_effects().empty()) {
    page.Blank();
    bool first = true;
    for (const v1::Cause& effect : report.secondary_effects()) {
      std::string line = effect.label();
      if (!effect.title().empty()) absl::StrAppend(&line, ": ", effect.title());
      if (const std::string where = Where(effect); !where.empty()) {
        absl::StrAppend(&line, ", ", where);
      }
      absl::StrAppend(&line, "; follows from ", effect.explained_by());
      page.Line(first ? "Effects" : "", line);
      first = false;
    }
  }
  TellThroughput(report, page);
  TellExclusion(report.exclusion(), page);
  TellSystem(report.system(), page);
  if (!report.ruled_out().empty()) {
    page.Blank();
    int shown = 0;
    for (const v1::Cause& cause : report.ruled_out()) {
      if (++shown > kMostRuledOut) break;
      page.Line(shown == 1 ? "Ruled out" : "",
                absl::StrCat(cause.label(), ": ", cause.explanation()));
    }
    if (report.ruled_out_size() > kMostRuledOut) {
      page.Line("", absl::StrCat("and ", report.ruled_out_size() - kMostRuledOut,
                                 " more (--json has them all)"));
    }
  }
  if (!report.undecided().empty()) {
    page.Blank();
    std::vector<std::string> labels;
    for (const v1::Cause& cause : report.undecided()) labels.push_back(cause.label());
    const std::size_t shown = std::min<std::size_t>(labels.size(), 6);
    std::string text =
        absl::StrJoin(labels.begin(), labels.begin() + static_cast<long>(shown), ", ");
    if (shown < labels.size()) absl::StrAppend(&text, " and ", labels.size() - shown, " more");
    page.Line("Undecided", absl::StrCat(text, ": what would decide them gave no answer"));
  }
  if (!report.next_steps().empty()) {
    page.Blank();
    int number = 0;
    for (const std::string& step : report.next_steps()) {
      ++number;
      page.Line(number == 1 ? "Next" : "", absl::StrCat(number, ". ", step));
    }
  }
  if (!report.suggestions().empty()) {
    page.Blank();
    bool first = true;
    for (const v1::Suggestion& suggestion : report.suggestions()) {
      page.Line(first ? "Ideas" : "",
                absl::StrCat(suggestion.title(), ": ", suggestion.rationale()));
      for (const std::string& step : suggestion.steps()) page.Line("", absl::StrCat("- ", step));
      first = false;
    }
  }
  page.Blank();
  const v1::CheckCounts& checks = report.checks();
  page.Line("Checks", absl::StrCat(checks.pass(), " passed, ", checks.fail(), " failed, ",
                                   checks.skipped(), " skipped, ", checks.error(), " broken"));
  bool first = true;
  for (const std::string& note : report.notes()) {
    page.Line(first ? "Notes" : "", note, Colour::kDim);
    first = false;
  }
  return page.Take();
}

}  // namespace galen::cli
