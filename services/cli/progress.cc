#include "services/cli/progress.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/cause_in_words.h"

namespace galen::cli {
namespace {

std::string Percent(double probability) { return absl::StrFormat("%.0f %%", probability * 100); }

// Without the sign of a heading.
absl::string_view FirstLine(absl::string_view text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  while (absl::ConsumePrefix(&text, "#")) {
  }
  text = absl::StripLeadingAsciiWhitespace(text);
  return absl::StripTrailingAsciiWhitespace(text.substr(0, text.find('\n')));
}

std::string Plural(std::int64_t count, absl::string_view one, absl::string_view many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

}  // namespace

std::string Progress::VerdictLine(const v1::Verdict& verdict) const {
  const bool confirmed = verdict.outcome() == v1::Verdict::CONFIRMED;
  std::string why;
  const auto wanted = confirmed ? v1::Reason::SUPPORTS : v1::Reason::OPPOSES;
  for (const v1::Reason& reason : verdict.reasons()) {
    if (reason.direction() == wanted && !reason.evidence_ids().empty()) {
      why = reason.text();
      break;
    }
  }
  if (why.empty() && !verdict.reasons().empty()) why = verdict.reasons(0).text();
  constexpr absl::string_view kIndent = "    ";
  const std::size_t used = kIndent.size() + 2 + verdict.label().size() + 2;
  const auto width = static_cast<std::size_t>(terminal_.width);
  return absl::StrCat(
      kIndent, Paint(terminal_, confirmed ? Colour::kGreen : Colour::kRed, confirmed ? "✓" : "✗"),
      " ", Paint(terminal_, confirmed ? Colour::kBold : Colour::kNone, verdict.label()), "  ",
      Paint(terminal_, Colour::kDim, Shorten(why, width > used + 20 ? width - used : 20)));
}

std::vector<std::string> Progress::TellChecks() {
  std::set<std::string> failed, broken;
  for (const v1::CheckResult& result : batch_) {
    if (result.status() == v1::CheckResult::FAIL) failed.insert(result.check());
    if (result.status() == v1::CheckResult::ERROR) broken.insert(result.check());
  }
  batch_.clear();
  std::vector<std::string> lines;
  const auto add = [&](const std::set<std::string>& checks, Colour colour, const char* mark,
                       const char* word) {
    if (checks.empty()) return;
    lines.push_back(absl::StrCat("    ", Paint(terminal_, colour, mark), " ", word, ": ",
                                 absl::StrJoin(checks, " ")));
  };
  add(failed, Colour::kRed, "✗", "failed");
  add(broken, Colour::kYellow, "!", "broken");
  return lines;
}

std::vector<std::string> Progress::Tell(const v1::DiagnosisEvent& event) {
  std::vector<std::string> lines;
  const auto heading = [&](absl::string_view name, absl::string_view text) {
    lines.push_back(absl::StrCat(Paint(terminal_, Colour::kBold, Pad(name, 12)), text));
  };
  switch (event.event_case()) {
    case v1::DiagnosisEvent::kCreated:
      heading("Incident", Shorten(FirstLine(event.created().incident().description()),
                                  static_cast<std::size_t>(terminal_.width) - 12));
      status_ = "reading the report and its logs";
      break;
    case v1::DiagnosisEvent::kSummarized: {
      const v1::Summary& summary = event.summarized().summary();
      heading("Summary",
              absl::StrCat(Plural(summary.signals_size(), "signal", "signals"), " in ",
                           Plural(summary.lines_read(), "line", "lines"),
                           summary.failure_class().empty()
                               ? "; no clear direction"
                               : absl::StrCat("; points to ", summary.failure_class()),
                           "; ", Plural(event.summarized().nodes_size(), "node", "nodes")));
      std::set<std::string> shown;
      for (const v1::Signal& signal : summary.signals()) {
        if (signal.strength() == v1::WEAK || signal.source() == "description") continue;
        const std::string place = absl::StrCat(signal.source(), ":", signal.first_line());
        // A line may be several messages.
        if (shown.size() == 3 || !shown.insert(place).second) continue;
        lines.push_back(
            absl::StrCat("    ", Paint(terminal_, Colour::kDim, place), "  ",
                         Shorten(signal.excerpt(),
                                 static_cast<std::size_t>(std::max<int>(
                                     20, terminal_.width - 6 - static_cast<int>(place.size()))))));
      }
      for (const std::string& note : summary.notes()) {
        lines.push_back(
            absl::StrCat("    ", Paint(terminal_, Colour::kYellow, "note"), "  ", note));
      }
      status_ = "looking for similar incidents";
      break;
    }
    case v1::DiagnosisEvent::kHypothesesProposed:
      if (event.hypotheses_proposed().origin() == v1::Hypothesis::TAXONOMY) {
        heading("Taxonomy", Plural(event.hypotheses_proposed().hypotheses_size(),
                                   "cause to be judged", "causes, all to be judged"));
      } else if (event.hypotheses_proposed().origin() == v1::Hypothesis::DIRECT) {
        heading("At once", event.hypotheses_proposed().hypotheses().empty()
                               ? "nothing points anywhere"
                               : "named from the texts and the history, not verified");
      } else if (!event.hypotheses_proposed().hypotheses().empty()) {
        heading("History", "what incidents like this one had");
      }
      if (event.hypotheses_proposed().origin() != v1::Hypothesis::TAXONOMY) {
        for (const v1::ProposedHypothesis& proposed : event.hypotheses_proposed().hypotheses()) {
          const std::string head = absl::StrCat("    ", proposed.hypothesis().label(), "  ",
                                                Percent(proposed.hypothesis().prior()), "  ");
          const auto width = static_cast<std::size_t>(terminal_.width);
          lines.push_back(absl::StrCat(
              head, Paint(terminal_, Colour::kDim,
                          Shorten(proposed.hypothesis().reason(),
                                  width > head.size() + 20 ? width - head.size() : 20))));
        }
      }
      status_ = "checking what history suggests";
      break;
    case v1::DiagnosisEvent::kCheckCompleted: {
      const v1::CheckResult& result = event.check_completed().result();
      batch_.push_back(result);
      status_ = absl::StrCat("checked ", result.check(), " on ", result.node());
      break;
    }
    case v1::DiagnosisEvent::kChecksFinished:
      lines = TellChecks();
      status_ = "weighing the evidence";
      break;
    case v1::DiagnosisEvent::kScreened:
      status_ = event.screened().hypotheses_size() > 0 ? "testing what the evidence points to"
                                                       : "looking where most can be seen";
      break;
    case v1::DiagnosisEvent::kChildrenRanked:
      status_ = absl::StrCat("searching below ", event.children_ranked().label().empty()
                                                     ? "the root"
                                                     : event.children_ranked().label());
      break;
    case v1::DiagnosisEvent::kVerdictsGiven:
      for (const v1::Verdict& verdict : event.verdicts_given().verdicts()) {
        // A cause that stays confirmed is not news; one that is withdrawn is.
        v1::Verdict::Outcome& told = told_[verdict.label()];
        const bool was = told == v1::Verdict::CONFIRMED;
        told = verdict.outcome();
        if (was != (told == v1::Verdict::CONFIRMED)) lines.push_back(VerdictLine(verdict));
      }
      break;
    case v1::DiagnosisEvent::kBranchLeft:
      break;
    case v1::DiagnosisEvent::kInvestigated:
      status_ = event.investigated().calls().empty() ? "testing what the model says"
                                                     : "looking up what the model asks for";
      break;
    case v1::DiagnosisEvent::kLooked:
      status_ = "the model is reading";
      break;
    case v1::DiagnosisEvent::kCritiqued:
    case v1::DiagnosisEvent::kExplored:
      status_ = "writing the report";
      break;
    case v1::DiagnosisEvent::kFeedbackReceived:
      if (!event.feedback_received().confirmed_label().empty()) {
        const std::string& label = event.feedback_received().confirmed_label();
        heading("Confirmed",
                absl::StrCat(
                    label == kCauseInWords ? "the cause that the report states in words" : label,
                    ", says ", event.feedback_received().confirmed_by()));
        break;
      }
      heading("Feedback", event.feedback_received().text());
      status_ = "reading the feedback";
      break;
    case v1::DiagnosisEvent::kCallFailed:
      lines.push_back(absl::StrCat(Paint(terminal_, Colour::kYellow, "!"), " ",
                                   event.call_failed().call(), ": ",
                                   event.call_failed().error().message(),
                                   event.call_failed().final() ? "" : " (trying again)"));
      break;
    case v1::DiagnosisEvent::kFailed:
      lines.push_back(absl::StrCat(Paint(terminal_, Colour::kRed, "failed"), ": ",
                                   event.failed().error().message()));
      status_.clear();
      break;
    case v1::DiagnosisEvent::kEscalated:
      heading("Escalated", event.escalated().reason());
      break;
    case v1::DiagnosisEvent::kCancelled:
      heading("Cancelled", event.cancelled().reason());
      status_.clear();
      break;
    case v1::DiagnosisEvent::kConcluded:
      status_.clear();
      break;
    case v1::DiagnosisEvent::EVENT_NOT_SET:
      break;
  }
  return lines;
}

}  // namespace galen::cli
