#include "services/cli/progress.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace galen::cli {
namespace {

// Names that a line shows before it only counts them.
constexpr std::size_t kMostNames = 2;

std::string Percent(double probability) { return absl::StrFormat("%.0f %%", probability * 100); }

// The label's own name: "SRAM_ECC" of "GPU.MEMORY.SRAM_ECC".
std::string LastPart(const std::string& label) { return label.substr(label.rfind('.') + 1); }

std::string Plural(std::int64_t count, absl::string_view one, absl::string_view many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

}  // namespace

std::string Progress::Indent(const std::string& label) const {
  const auto depth = std::count(label.begin(), label.end(), '.');
  return std::string(2 + 2 * static_cast<std::size_t>(depth), ' ');
}

std::string Progress::VerdictLine(const v1::Verdict& verdict) const {
  const bool confirmed = verdict.outcome() == v1::Verdict::CONFIRMED;
  const Colour colour = confirmed ? Colour::kGreen : Colour::kRed;
  const char* mark = confirmed ? "✓" : "✗";
  std::string why;
  const auto wanted =
      verdict.outcome() == v1::Verdict::REJECTED ? v1::Reason::OPPOSES : v1::Reason::SUPPORTS;
  for (const v1::Reason& reason : verdict.reasons()) {
    if (reason.direction() == wanted && !reason.evidence_ids().empty()) {
      why = reason.text();
      break;
    }
  }
  if (why.empty() && !verdict.reasons().empty()) why = verdict.reasons(0).text();
  const std::string head = absl::StrCat(
      Indent(verdict.label()), Paint(terminal_, colour, mark), " ",
      Paint(terminal_, verdict.outcome() == v1::Verdict::CONFIRMED ? Colour::kBold : Colour::kNone,
            verdict.label()));
  const std::size_t used = Indent(verdict.label()).size() + 2 + verdict.label().size() + 2;
  const auto width = static_cast<std::size_t>(terminal_.width);
  return absl::StrCat(
      head, "  ",
      Paint(terminal_, Colour::kDim, Shorten(why, width > used + 20 ? width - used : 20)));
}

std::vector<std::string> Progress::TellChecks() {
  std::vector<std::string> pass, fail, skipped, error;
  std::size_t total = 0;
  for (const auto& [check, results] : batch_) {
    int failed = 0, broken = 0, passed = 0;
    for (const v1::CheckResult& result : results) {
      failed += result.status() == v1::CheckResult::FAIL;
      broken += result.status() == v1::CheckResult::ERROR;
      passed += result.status() == v1::CheckResult::PASS;
    }
    total += results.size();
    if (failed > 0) {
      fail.push_back(check);
    } else if (broken > 0) {
      error.push_back(check);
    } else if (passed > 0) {
      pass.push_back(check);
    } else {
      skipped.push_back(check);
    }
  }
  batch_.clear();
  // A batch that was only skipped tells nothing here; the report counts it.
  if (fail.empty() && error.empty() && pass.empty()) return {};
  std::string line =
      absl::StrCat("    ", Plural(static_cast<std::int64_t>(total), "check", "checks"), ":");
  const auto add = [&](const std::vector<std::string>& checks, Colour colour, const char* mark,
                       const char* word, bool name_them) {
    if (checks.empty()) return;
    absl::StrAppend(&line, "  ", Paint(terminal_, colour, mark), " ");
    if (name_them) {
      absl::StrAppend(&line, absl::StrJoin(checks, " "));
    } else {
      absl::StrAppend(&line, checks.size(), " ", word);
    }
  };
  add(fail, Colour::kRed, "✗", "failed", true);
  add(error, Colour::kYellow, "!", "broken", true);
  add(pass, Colour::kGreen, "✓", "passed", false);
  add(skipped, Colour::kDim, "–", "skipped", false);
  return {line};
}

std::vector<std::string> Progress::Tell(const v1::DiagnosisEvent& event) {
  std::vector<std::string> lines;
  const auto heading = [&](absl::string_view name, absl::string_view text) {
    lines.push_back(absl::StrCat(Paint(terminal_, Colour::kBold, Pad(name, 12)), text));
  };
  switch (event.event_case()) {
    case v1::DiagnosisEvent::kCreated:
      heading("Incident", Shorten(event.created().incident().description(),
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
      } else {
        heading("History",
                event.hypotheses_proposed().hypotheses().empty() ? "nothing similar enough" : "");
      }
      if (event.hypotheses_proposed().origin() != v1::Hypothesis::TAXONOMY) {
        for (const v1::ProposedHypothesis& proposed : event.hypotheses_proposed().hypotheses()) {
          lines.push_back(absl::StrCat(
              "    ", proposed.hypothesis().label(), "  ", Percent(proposed.hypothesis().prior()),
              "  ", Paint(terminal_, Colour::kDim, proposed.hypothesis().reason())));
        }
      }
      status_ = "checking what history suggests";
      break;
    case v1::DiagnosisEvent::kCheckCompleted: {
      const v1::CheckResult& result = event.check_completed().result();
      batch_[result.check()].push_back(result);
      status_ = absl::StrCat("checked ", result.check(), " on ", result.node());
      break;
    }
    case v1::DiagnosisEvent::kChecksFinished:
      lines = TellChecks();
      status_ = "weighing the evidence";
      break;
    case v1::DiagnosisEvent::kScreened: {
      const v1::Screened& screened = event.screened();
      if (!in_screening_ && (screened.hypotheses_size() > 0 || screened.checks_size() > 0)) {
        in_screening_ = true;
        heading("Screening", "what tells most for what it costs, first");
      }
      int by_what_is_known = 0;
      for (const v1::ProposedHypothesis& proposed : screened.hypotheses()) {
        if (proposed.checks().empty()) {
          ++by_what_is_known;
          continue;
        }
        const std::string& label = proposed.hypothesis().label();
        const std::size_t used = 6 + label.size();
        const auto width = static_cast<std::size_t>(terminal_.width);
        lines.push_back(absl::StrCat(
            "  ", Paint(terminal_, Colour::kBlue, "▸"), " ", label, "  ",
            Paint(terminal_, Colour::kDim,
                  Shorten(proposed.hypothesis().reason(), width > used + 20 ? width - used : 20))));
      }
      if (by_what_is_known > 0) {
        lines.push_back(absl::StrCat("  ", Paint(terminal_, Colour::kBlue, "▸"), " ",
                                     Plural(by_what_is_known, "other cause", "other causes"),
                                     ", judged by what is known"));
      }
      status_ = screened.hypotheses_size() > 0 ? "testing what the evidence points to"
                                               : "looking where most can be seen";
      break;
    }
    case v1::DiagnosisEvent::kChildrenRanked: {
      if (!in_taxonomy_) {
        in_taxonomy_ = true;
        heading("Taxonomy", "");
      }
      const v1::ChildrenRanked& ranked = event.children_ranked();
      std::vector<std::string> order, pruned;
      for (const v1::RankedChild& child : ranked.children()) {
        const std::string name = LastPart(child.label());
        if (child.pruned()) {
          pruned.push_back(name);
        } else {
          order.push_back(absl::StrCat(name, " ", Percent(child.probability())));
        }
      }
      const std::string indent = ranked.label().empty() ? "  " : Indent(ranked.label());
      const std::string name = ranked.label().empty() ? "root" : ranked.label();
      std::string left_out;
      if (!pruned.empty()) {
        left_out =
            absl::StrCat("  ⧉ ", pruned.size() > kMostNames ? absl::StrCat(pruned.size(), " pruned")
                                                            : absl::StrJoin(pruned, " "));
      }
      const std::size_t used = indent.size() + 2 + name.size() + 2 + Columns(left_out);
      const auto width = static_cast<std::size_t>(terminal_.width);
      std::string line =
          absl::StrCat(indent, Paint(terminal_, Colour::kBlue, "▸"), " ", name, ": ",
                       Shorten(absl::StrJoin(order, ", "), width > used + 20 ? width - used : 20),
                       Paint(terminal_, Colour::kDim, left_out));
      lines.push_back(line);
      status_ =
          absl::StrCat("searching below ", ranked.label().empty() ? "the root" : ranked.label());
      break;
    }
    case v1::DiagnosisEvent::kVerdictsGiven: {
      std::vector<std::string> undecided;
      std::string indent;
      for (const v1::Verdict& verdict : event.verdicts_given().verdicts()) {
        // A cause that stays confirmed is no news.
        v1::Verdict::Outcome& told = told_[verdict.label()];
        const bool stays = told == v1::Verdict::CONFIRMED && verdict.outcome() == told;
        told = verdict.outcome();
        if (stays) continue;
        if (verdict.outcome() == v1::Verdict::INCONCLUSIVE) {
          undecided.push_back(LastPart(verdict.label()));
          indent = Indent(verdict.label());
        } else {
          lines.push_back(VerdictLine(verdict));
        }
      }
      if (!undecided.empty()) {
        lines.push_back(absl::StrCat(
            indent, Paint(terminal_, Colour::kYellow, "?"), " ",
            Paint(terminal_, Colour::kDim,
                  Shorten(absl::StrJoin(undecided, " "),
                          static_cast<std::size_t>(terminal_.width) - indent.size() - 2))));
      }
      break;
    }
    case v1::DiagnosisEvent::kBranchLeft:
      if (event.branch_left().early_stop()) {
        lines.push_back(absl::StrCat(Indent(event.branch_left().label()),
                                     Paint(terminal_, Colour::kDim,
                                           absl::StrCat("⧉ ", event.branch_left().label(), ": ",
                                                        event.branch_left().reason()))));
      }
      break;
    case v1::DiagnosisEvent::kCritiqued:
      for (const std::string& remark : event.critiqued().remarks()) {
        lines.push_back(absl::StrCat(Paint(terminal_, Colour::kBold, Pad("Critique", 12)), remark));
      }
      status_ = "writing the report";
      break;
    case v1::DiagnosisEvent::kExplored:
      heading("Beyond", absl::StrCat("the taxonomy: ", Plural(event.explored().suggestions_size(),
                                                              "suggestion", "suggestions")));
      status_ = "writing the report";
      break;
    case v1::DiagnosisEvent::kFeedbackReceived:
      in_taxonomy_ = false;
      if (!event.feedback_received().confirmed_label().empty()) {
        heading("Confirmed", absl::StrCat(event.feedback_received().confirmed_label(), ", says ",
                                          event.feedback_received().confirmed_by()));
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
