#include "services/cli/report_text.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

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
    page.Line("", "No check verified it: this search runs none.");
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
