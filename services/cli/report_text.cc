#include "services/cli/report_text.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"

namespace galen::cli {
namespace {

constexpr std::size_t kMargin = 14;
constexpr int kMostSteps = 5;

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
  // One line, cut where it is too long.
  void Cut(absl::string_view heading, absl::string_view text) {
    const auto width = static_cast<std::size_t>(terminal_.width) - kMargin;
    absl::StrAppend(&out_, Paint(terminal_, Colour::kBold, Pad(heading, kMargin)),
                    Shorten(std::string(text), width), "\n");
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

// One piece of evidence: a line of a log with its place, or what a check says.
std::string EvidenceText(const v1::Evidence& evidence) {
  if (evidence.kind() == "signal" && !evidence.excerpt().empty()) {
    return absl::StrCat(evidence.source(),
                        evidence.line() > 0 ? absl::StrCat(":", evidence.line()) : "", "  ",
                        evidence.excerpt());
  }
  return absl::StrCat(evidence.id(), "  ", evidence.text());
}

// The lines that show the cause, the quoted ones first.
void TellEvidence(const v1::Report& report, const v1::Cause& cause, absl::string_view heading,
                  std::size_t most, Page& page) {
  std::vector<std::string> lines;
  for (const v1::Citation& citation : cause.citations()) {
    lines.push_back(
        absl::StrCat(citation.artefact(), ":", citation.line(), "  ", citation.quote()));
  }
  for (const bool quoted : {true, false}) {
    if (!cause.citations().empty()) break;
    for (const std::string& id : cause.evidence_ids()) {
      const v1::Evidence* evidence = FindEvidence(report, id);
      if (evidence == nullptr ||
          (evidence->kind() == "signal" && !evidence->excerpt().empty()) != quoted)
        continue;
      // Two messages may be of one line.
      std::string line = EvidenceText(*evidence);
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) {
        lines.push_back(std::move(line));
      }
    }
  }
  // Only the words of the report speak for it.
  if (lines.empty() && !cause.explanation().empty()) lines.push_back(cause.explanation());
  for (std::size_t i = 0; i < std::min(lines.size(), most); ++i)
    page.Cut(i == 0 ? heading : "", lines[i]);
}

// The evidence against a cause that is not proven.
void TellOpposing(const v1::Report& report, const v1::Cause& cause, Page& page) {
  constexpr int kMost = 2;
  int told = 0;
  for (const std::string& id : cause.opposing_ids()) {
    const v1::Evidence* evidence = FindEvidence(report, id);
    if (evidence == nullptr) continue;
    page.Cut(told == 0 ? "Against" : "", EvidenceText(*evidence));
    if (++told == kMost) return;
  }
}

std::string PercentText(double probability) {
  return absl::StrFormat("%.0f %%", std::floor(probability * 100));
}

// The second line: how sure, and where.
std::string Standing(const v1::Cause& cause, absl::string_view word) {
  const std::string where = Where(cause);
  return absl::StrCat(cause.label(), ", ", word, " (", PercentText(cause.probability()), ")",
                      where.empty() ? "" : absl::StrCat(", ", where));
}

// "not proven", and by whom it is judged.
std::string NotProven(const v1::Cause& cause) {
  return cause.judged_by().empty()
             ? "not proven"
             : absl::StrCat("judged by the model ", cause.judged_by(), ", not proven by a check");
}

// Abnormal findings that no cause follows from, those of logs first.
void TellSeen(const v1::Diagnosis& diagnosis, Page& page) {
  constexpr int kMostSeen = 3;
  int seen = 0;
  for (const bool of_logs : {true, false}) {
    for (const v1::CheckResult& result : diagnosis.check_results()) {
      const bool is_of_logs =
          absl::StartsWith(result.check(), "log.") || absl::StartsWith(result.check(), "nccl.");
      if (result.status() != v1::CheckResult::FAIL || is_of_logs != of_logs) continue;
      if (++seen > kMostSeen) return;
      page.Cut(seen == 1 ? "Seen" : "", absl::StrCat(result.message(), "  [", result.id(), "]"));
    }
  }
}

void TellAnswer(const v1::Diagnosis& diagnosis, Page& page) {
  const v1::Report& report = diagnosis.report();
  if (report.has_primary_cause()) {
    page.Line("Cause", report.headline(), Colour::kBold);
    page.Line("", Standing(report.primary_cause(), "confirmed"), Colour::kGreen);
    page.Blank();
    TellEvidence(report, report.primary_cause(), "Shown by", 4, page);
    for (const v1::Cause& cause : report.other_causes()) {
      page.Line("Also", absl::StrCat(cause.title(), ": ", Standing(cause, "confirmed")),
                Colour::kGreen);
      TellEvidence(report, cause, "", 1, page);
    }
    for (const v1::Cause& cause : report.suspects()) {
      page.Line("Perhaps", absl::StrCat(cause.title(), ": ", Standing(cause, NotProven(cause))),
                Colour::kYellow);
      TellEvidence(report, cause, "", 1, page);
    }
    return;
  }
  if (report.has_presumed_cause()) {
    const v1::Cause& cause = report.presumed_cause();
    page.Line("Most likely", cause.title().empty() ? cause.label() : cause.title(), Colour::kBold);
    page.Line("", Standing(cause, NotProven(cause)), Colour::kYellow);
    page.Blank();
    TellEvidence(report, cause, "Shown by", 3, page);
    TellOpposing(report, cause, page);
    for (const v1::Cause& suspect : report.suspects()) {
      if (suspect.label() == cause.label()) continue;
      page.Line("Or",
                absl::StrCat(suspect.title(), " (", suspect.label(),
                             suspect.judged_by().empty()
                                 ? ")"
                                 : absl::StrCat("), judged by the model ", suspect.judged_by())));
    }
    return;
  }
  page.Line("No cause", report.headline(), Colour::kBold);
  TellSeen(diagnosis, page);
  bool first = true;
  for (const v1::Cause& suspect : report.suspects()) {
    page.Line(first ? "Suspects" : "", absl::StrCat(suspect.title(), " (", suspect.label(), ")"),
              Colour::kYellow);
    TellEvidence(report, suspect, "", 1, page);
    first = false;
  }
}

// Effects of the last answer.
void TellChanges(const v1::Report& report, Page& page) {
  bool first = true;
  for (const v1::Change& change : report.changes()) {
    const bool contradiction = change.kind() == v1::Change::CONTRADICTION;
    page.Line(first ? "Your answer" : "",
              contradiction ? absl::StrCat("Contradiction: ", change.text()) : change.text(),
              contradiction ? Colour::kYellow : Colour::kNone);
    first = false;
  }
  if (!first) page.Blank();
}

// Questions that would decide between the causes; with `verbose` the effect of each answer.
void TellQuestions(const v1::Report& report, bool verbose, Page& page) {
  const auto tell = [&](absl::string_view heading,
                        const google::protobuf::RepeatedPtrField<v1::Question>& questions) {
    if (questions.empty()) return;
    page.Blank();
    int number = 0;
    for (const v1::Question& question : questions) {
      page.Line(number == 0 ? heading : "", absl::StrCat(number + 1, ". ", question.text()));
      ++number;
      if (question.loads()) {
        page.Line("",
                  absl::StrCat("   It loads the ", question.occupies(), " for ",
                               question.cost().seconds(), " s: --allow ", question.id()),
                  Colour::kDim);
      }
      for (const v1::Question::Answer& answer : question.answers()) {
        if (!verbose) break;
        std::vector<std::string> effects;
        for (const v1::Question::Answer::Effect& effect : answer.effects()) {
          effects.push_back(absl::StrCat(effect.title(), " ", PercentText(effect.before()), " → ",
                                         PercentText(effect.after())));
        }
        page.Line("", absl::StrCat("   - ", answer.text(), ": ", absl::StrJoin(effects, "; ")),
                  Colour::kDim);
      }
    }
  };
  tell("Please tell", report.questions());
  tell("Tests", report.tests());
}

// The reader's inputs that were read, and those that were not.
void TellRead(const v1::Incident& incident, Page& page) {
  std::vector<std::string> read;
  std::vector<std::string> unread;
  for (const v1::Artefact& artefact : incident.artefacts()) {
    const std::string place = artefact.first_line() == artefact.last_line()
                                  ? absl::StrCat(artefact.source(), ":", artefact.first_line())
                                  : absl::StrCat(artefact.source(), ":", artefact.first_line(), "-",
                                                 artefact.last_line());
    if (artefact.kind().empty()) {
      unread.push_back(artefact.title().empty() ? place
                                                : absl::StrCat(place, " (", artefact.title(), ")"));
    } else if (artefact.unread()) {
      unread.push_back(absl::StrCat(
          artefact.title(), " (", place, ")",
          artefact.instead().empty() ? ""
                                     : absl::StrCat(", `", artefact.instead(), "` would be read")));
    } else {
      read.push_back(absl::StrCat(artefact.title(), " (", place, ")"));
    }
  }
  constexpr std::size_t kMost = 6;
  const auto tell = [&](absl::string_view heading, const std::vector<std::string>& all) {
    if (all.empty()) return;
    const auto end = all.begin() + static_cast<long>(std::min(all.size(), kMost));
    std::string text = absl::StrJoin(all.begin(), end, "; ");
    if (all.size() > kMost) absl::StrAppend(&text, "; and ", all.size() - kMost, " more");
    page.Line(heading, text, Colour::kDim);
  };
  tell("Read", read);
  tell("Only searched", unread);
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

// The examined parts of the system; "?" is unknown.
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

// Other results, besides the answer.
void TellRest(const v1::Report& report, Page& page) {
  if (!report.secondary_effects().empty()) {
    page.Blank();
    bool first = true;
    for (const v1::Cause& effect : report.secondary_effects()) {
      std::string line = effect.label();
      if (!effect.title().empty()) absl::StrAppend(&line, ": ", effect.title());
      if (const std::string where = Where(effect); !where.empty())
        absl::StrAppend(&line, ", ", where);
      absl::StrAppend(&line, "; follows from ", effect.explained_by());
      page.Line(first ? "Effects" : "", line);
      first = false;
    }
  }
  if (!report.ruled_out().empty()) {
    page.Blank();
    bool first = true;
    for (const v1::Cause& cause : report.ruled_out()) {
      page.Line(first ? "Ruled out" : "", absl::StrCat(cause.label(), ": ", cause.explanation()));
      first = false;
    }
  }
  if (!report.undecided().empty()) {
    page.Blank();
    std::vector<std::string> labels;
    for (const v1::Cause& cause : report.undecided()) labels.push_back(cause.label());
    page.Line("Undecided",
              absl::StrCat(absl::StrJoin(labels, ", "), ": what would decide them gave no answer"));
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
}

std::string ReportText(const v1::Diagnosis& diagnosis, bool verbose, const Terminal& terminal) {
  const v1::Report& report = diagnosis.report();
  Page page(terminal);
  TellChanges(report, page);
  TellAnswer(diagnosis, page);
  TellThroughput(report, page);
  TellExclusion(report.exclusion(), page);
  TellSystem(report.system(), page);
  if (!report.next_steps().empty()) {
    page.Blank();
    const int most =
        verbose ? report.next_steps_size() : std::min(report.next_steps_size(), kMostSteps);
    for (int i = 0; i < most; ++i) {
      page.Line(i == 0 ? "Next" : "", absl::StrCat(i + 1, ". ", report.next_steps(i)));
    }
  }
  TellQuestions(report, verbose, page);
  if (!diagnosis.incident().artefacts().empty()) {
    page.Blank();
    TellRead(diagnosis.incident(), page);
  }
  if (verbose) {
    TellRest(report, page);
  } else {
    page.Blank();
    page.Line("More",
              absl::StrCat(report.ruled_out_size(),
                           report.ruled_out_size() == 1 ? " cause" : " causes", " ruled out, ",
                           report.undecided_size(), " undecided, ", report.secondary_effects_size(),
                           report.secondary_effects_size() == 1 ? " effect" : " effects",
                           ": --verbose; everything: --json"),
              Colour::kDim);
  }
  return page.Take();
}

}  // namespace galen::cli
