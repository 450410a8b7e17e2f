#include "common/reasoner/llm/turn_text.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/text.h"
#include "common/reasoner/entry.h"
#include "common/reasoner/evidence_view.h"
#include "common/reasoner/llm/lines.h"
#include "common/reasoner/llm/section.h"

namespace galen::reasoner::llm {
namespace {

using galen::v1::CheckResult;
using galen::v1::Signal;

constexpr std::size_t kMessage = 240;
constexpr std::size_t kName = 200;
constexpr std::size_t kMostNodes = 12;
constexpr std::size_t kMostNames = 90;
constexpr std::size_t kFeedbackBytes = 1500;
constexpr int kMostFeedback = 3;
constexpr std::size_t kPastBytes = 420;
constexpr std::size_t kSection = 16 * 1024;
constexpr std::size_t kMostOfRun = 12;  // lines of one result of a check that the model had run

// Lines with their numbers, as much as fits.
std::string Numbered(const std::vector<std::string>& lines, std::size_t most_lines,
                     std::size_t most_bytes) {
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), most_lines); ++i) {
    std::string line = absl::StrCat(i + 1, ": ", lines[i]);
    if (!text.empty() && text.size() + line.size() > most_bytes) {
      absl::StrAppend(&text, "\n(", lines.size() - i, " more lines)");
      break;
    }
    absl::StrAppend(&text, text.empty() ? "" : "\n", line);
  }
  return text;
}

// The strongest first, each known message once of each source; of equals the earlier one.
std::vector<const Signal*> Strongest(const galen::v1::Summary& summary, std::size_t most) {
  std::vector<const Signal*> shown;
  std::set<std::pair<std::string, std::int64_t>> places;
  std::set<std::string> known;
  for (const bool again : {false, true}) {
    std::vector<const Signal*> these;
    for (const Signal& signal : summary.signals()) {
      if (known.contains(signal.signal()) != again) continue;
      if (!places.insert({signal.source(), signal.first_line()}).second) continue;
      if (!again) known.insert(signal.signal());
      these.push_back(&signal);
    }
    std::stable_sort(these.begin(), these.end(), [](const Signal* a, const Signal* b) {
      return a->strength() > b->strength();
    });
    shown.insert(shown.end(), these.begin(), these.end());
    if (shown.size() >= most) break;
  }
  shown.resize(std::min(shown.size(), most));
  return shown;
}

std::string Environment(const galen::v1::Incident& incident) {
  std::vector<std::string> parts;
  const auto add = [&](absl::string_view name, const std::string& value) {
    if (!value.empty()) parts.push_back(absl::StrCat(name, ": ", CleanText(value, 60)));
  };
  add("gpu", incident.environment().gpu());
  add("driver", incident.environment().driver());
  add("cuda", incident.environment().cuda());
  add("os", incident.environment().os());
  add("nic", incident.environment().nic());
  add("framework", incident.workload().framework());
  add("framework version", incident.workload().framework_version());
  add("launcher", incident.workload().launcher());
  if (incident.workload().world_size() > 0) {
    add("ranks", absl::StrCat(incident.workload().world_size()));
  }
  return absl::StrJoin(parts, "; ");
}

std::string Nodes(const std::vector<std::string>& nodes) {
  std::vector<std::string> shown(
      nodes.begin(),
      nodes.begin() + static_cast<std::ptrdiff_t>(std::min(nodes.size(), kMostNodes)));
  std::string text = absl::StrJoin(shown, ", ");
  if (nodes.size() > shown.size()) {
    absl::StrAppend(&text, " and ", nodes.size() - shown.size(), " more");
  }
  return text;
}

TextKind KindOf(const std::string& artefact) {
  if (artefact.empty() || artefact == kReport || absl::StartsWith(artefact, "feedback/")) {
    return TextKind::kPlain;
  }
  if (absl::StrContains(artefact, ": ")) return TextKind::kCode;
  return absl::StrContains(artefact, "@") ? TextKind::kFormula : TextKind::kLog;
}

}  // namespace

std::string CaseOf(const v1::InvestigateQuestion& question, const std::set<std::string>& fresh,
                   const TextSizes& sizes) {
  const galen::v1::Incident& incident = question.incident();
  const galen::v1::EvidenceSet& evidence = question.evidence();
  std::string text =
      Section(TextKind::kPlain, {{"of", std::string(kReport)}},
              Numbered(LinesOfText(incident.description()), kSection, sizes.report), kSection);
  if (const std::string line = Environment(incident); !line.empty()) {
    absl::StrAppend(&text, Section(TextKind::kCode, {{"name", "environment"}}, line, 600));
  }
  const EvidenceView view(evidence);
  std::vector<std::string> nodes = view.nodes();
  if (nodes.empty()) nodes.assign(incident.nodes().begin(), incident.nodes().end());
  if (!nodes.empty()) {
    absl::StrAppend(&text, Section(TextKind::kCode, {{"name", "nodes"}}, Nodes(nodes), 2000));
  }
  const int skipped = std::max(0, evidence.feedback_size() - kMostFeedback);
  for (int i = skipped; i < evidence.feedback_size(); ++i) {
    absl::StrAppend(
        &text,
        Section(TextKind::kPlain, {{"of", FeedbackName(i + 1)}},
                Numbered(LinesOfText(evidence.feedback(i)), kSection, kFeedbackBytes), kSection));
  }
  for (const Signal* signal : Strongest(evidence.summary(), sizes.messages)) {
    Attributes attributes = {
        {"of", signal->source() == "description" ? std::string(kReport) : signal->source()}};
    if (!signal->node().empty()) attributes.emplace_back("node", signal->node());
    if (signal->count() > 1) attributes.emplace_back("times", absl::StrCat(signal->count()));
    absl::StrAppend(&text,
                    Section(TextKind::kLog, attributes,
                            absl::StrCat(signal->first_line(), ": ", signal->excerpt()), kMessage));
  }
  std::set<std::string> passed;
  std::size_t shown = 0;
  std::size_t failed = 0;
  std::size_t silent = 0;
  for (const CheckResult* result : view.results()) {
    if (fresh.contains(result->id())) continue;
    if (result->status() == CheckResult::PASS) passed.insert(result->check());
    if (!Ran(*result)) ++silent;
    if (result->status() != CheckResult::FAIL || ++failed > sizes.results) continue;
    ++shown;
    absl::StrAppend(&text, Section(TextKind::kFormula, {{"of", result->id()}},
                                   Numbered(LinesOfResult(*result), sizes.lines, 900), 1200));
  }
  absl::StrAppend(&text, "Check results that failed: ", failed, ", ", shown,
                  " of them shown; without an answer: ", silent, ".\n");
  std::vector<std::string> names(passed.begin(), passed.end());
  names.resize(std::min(names.size(), kMostNames));
  if (!names.empty()) {
    absl::StrAppend(&text, "Passed: ", absl::StrJoin(names, ", "), ".\n");
  }
  return text;
}

std::string ChecksText(const knowledge::Knowledge& knowledge,
                       const v1::InvestigateQuestion& question, const std::set<std::string>& fresh,
                       const TextSizes& sizes) {
  std::set<absl::string_view> ran;
  for (const CheckResult& result : question.evidence().results()) {
    if (!fresh.contains(result.id())) ran.insert(result.check());
  }
  std::vector<absl::string_view> names;
  for (const knowledge::v1::Check& check : knowledge.base().checks()) {
    if (check.off() || ran.contains(check.name()) || names.size() == sizes.checks) continue;
    if (IsAskedByItself(knowledge, check.name())) names.push_back(check.name());
  }
  return Section(TextKind::kRule, {{"name", "checks that have not run"}},
                 names.empty() ? "none" : absl::StrJoin(names, ", "), kSection);
}

std::string CausesText(const knowledge::Knowledge& knowledge,
                       const std::vector<galen::v1::Verdict>& ranked, const TextSizes& sizes) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ranked.size(), sizes.causes); ++i) {
    const galen::v1::Verdict& verdict = ranked[i];
    const knowledge::v1::Label* const label = knowledge.FindLabel(verdict.label());
    absl::StrAppend(&text, text.empty() ? "" : "\n", verdict.label(), ": ",
                    label == nullptr ? "" : label->title(), " (",
                    absl::StrFormat("%.1f %%", 100 * verdict.probability()),
                    verdict.outcome() == galen::v1::Verdict::CONFIRMED  ? ", confirmed"
                    : verdict.outcome() == galen::v1::Verdict::REJECTED ? ", rejected"
                                                                        : "",
                    ")");
  }
  return Section(TextKind::kRule, {{"name", "likeliest causes by the built-in reasoner"}}, text,
                 kSection);
}

std::string PastText(const knowledge::Knowledge& knowledge, const v1::HistoryAnswer& past,
                     const TextSizes& sizes) {
  std::map<absl::string_view, const knowledge::v1::PastIncident*> known;
  for (const auto& incident : knowledge.base().incidents()) known[incident.id()] = &incident;
  std::string text;
  std::size_t count = 0;
  for (const v1::HistoryAnswer::Cause& cause : past.causes()) {
    if (++count > sizes.past) break;
    std::string told = cause.reason();
    for (const std::string& id : cause.incidents()) {
      const auto incident = known.find(id);
      if (incident == known.end()) continue;
      absl::StrAppend(&told, ". ", CleanText(incident->second->description(), 220));
      if (!incident->second->resolution().empty()) {
        absl::StrAppend(&told, " Cured by: ", CleanText(incident->second->resolution(), 120));
      }
      break;
    }
    absl::StrAppend(
        &text, Section(TextKind::kPlain,
                       {{"name", "a past incident of another day"}, {"cause", cause.label()}}, told,
                       kPastBytes));
  }
  return text.empty() ? "None is similar.\n" : text;
}

std::string ResultText(const galen::v1::ToolResult& result, const TextSizes& sizes) {
  std::string text;
  std::size_t bytes = 0;
  for (int i = 0; i < result.lines_size();) {
    const galen::v1::Citation& first = result.lines(i);
    std::string lines;
    for (; i < result.lines_size() && result.lines(i).artefact() == first.artefact(); ++i) {
      const galen::v1::Citation& line = result.lines(i);
      std::string one =
          line.artefact().empty() ? line.quote() : absl::StrCat(line.line(), ": ", line.quote());
      if (bytes + one.size() > sizes.shown && !lines.empty()) continue;
      bytes += one.size();
      absl::StrAppend(&lines, lines.empty() ? "" : "\n", one);
    }
    Attributes attributes;
    if (!first.artefact().empty()) attributes.emplace_back("of", first.artefact());
    if (!first.node().empty()) attributes.emplace_back("node", first.node());
    absl::StrAppend(&text, Section(KindOf(first.artefact()), attributes, lines, kSection));
  }
  if (!result.text().empty()) {
    absl::StrAppend(&text, Section(TextKind::kRule, {}, result.text(), sizes.shown));
  }
  return text.empty() ? Section(TextKind::kRule, {}, "Nothing.", kName) : text;
}

galen::v1::ToolResult ResultOfChecks(const galen::v1::EvidenceSet& evidence,
                                     const galen::v1::ToolCall::RunChecks& call) {
  galen::v1::ToolResult shown;
  for (const std::string& check : call.checks()) {
    for (const CheckResult& result : evidence.results()) {
      if (result.check() != check) continue;
      const std::vector<std::string> lines = LinesOfResult(result);
      for (std::size_t i = 0; i < std::min(lines.size(), kMostOfRun); ++i) {
        galen::v1::Citation& line = *shown.add_lines();
        line.set_artefact(result.id());
        line.set_line(static_cast<std::int64_t>(i) + 1);
        line.set_quote(lines[i]);
        line.set_node(result.node());
      }
    }
  }
  if (shown.lines().empty()) shown.set_text("No node is known that they could run on.");
  return shown;
}

}  // namespace galen::reasoner::llm
