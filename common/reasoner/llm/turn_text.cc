#include "common/reasoner/llm/turn_text.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "common/base/text.h"
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
constexpr std::size_t kMostCutOut = 12;
constexpr std::size_t kMostSilent = 12;
constexpr std::size_t kLabelsOfMessage = 1;
constexpr std::size_t kSection = 16 * 1024;
constexpr std::size_t kMostOfRun = 12;  // lines of one result of a check that the model ran

// Lines with their numbers, as many as fit.
std::string Numbered(const std::vector<std::string>& lines, std::size_t most_lines,
                     std::size_t most_bytes) {
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), most_lines); ++i) {
    if (absl::StripAsciiWhitespace(lines[i]).empty()) continue;
    std::string line = absl::StrCat(i + 1, ": ", lines[i]);
    if (!text.empty() && text.size() + line.size() > most_bytes) {
      absl::StrAppend(&text, "\n(", lines.size() - i, " more lines)");
      break;
    }
    absl::StrAppend(&text, text.empty() ? "" : "\n", line);
  }
  return text;
}

// Signals by strength, each known message once per source; among equals the earliest.
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
  if (incident.has_start_time()) {
    add("begins",
        absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", ToTime(incident.start_time()), absl::UTCTimeZone()));
  }
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

// The name of a file, without the folders of the machine that Galen runs on.
absl::string_view FileName(absl::string_view path) {
  return absl::StartsWith(path, "/") ? path.substr(path.rfind('/') + 1) : path;
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

// Findings that rules of a cause use, by check.
using Asked = std::map<absl::string_view, std::set<absl::string_view>>;

void AddAsked(const knowledge::v1::Rule& rule, Asked& asked) {
  asked[rule.check()].insert(rule.finding());
  for (const knowledge::v1::Rule& each : rule.with()) AddAsked(each, asked);
}

Asked AskedBy(const Told& told) {
  Asked asked;
  for (std::size_t i = 0; i < ListedCauses(told); ++i) {
    const knowledge::v1::Label* const label = told.knowledge.FindLabel(told.ranked[i].label());
    if (label == nullptr) continue;
    for (const auto* rules : {&label->confirm(), &label->refute()}) {
      for (const knowledge::v1::Rule& rule : *rules) AddAsked(rule, asked);
    }
  }
  return asked;
}

// "lines 7-12 of issue.md: output of nvidia-smi, of n1".
std::string CutOut(const galen::v1::Incident& incident) {
  std::vector<std::string> parts;
  for (const galen::v1::Artefact& part : incident.artefacts()) {
    if (parts.size() == kMostCutOut) break;
    parts.push_back(
        absl::StrCat("lines ", part.first_line(), "-", part.last_line(), " of ",
                     CleanText(FileName(part.source()), 60), ": ",
                     CleanText(part.title().empty() ? part.kind() : part.title(), 80),
                     part.node().empty() ? "" : absl::StrCat(", of ", CleanText(part.node(), 60))));
  }
  if (static_cast<std::size_t>(incident.artefacts_size()) > parts.size()) {
    parts.push_back(absl::StrCat(
        "and ", static_cast<std::size_t>(incident.artefacts_size()) - parts.size(), " more"));
  }
  return absl::StrJoin(parts, "\n");
}

// Lines by artefact, each after its number. `counts_gaps`: for a text that was read, count the
// lines missing between two lines; otherwise the lines are hits of a search.
std::string LinesText(const galen::v1::ToolResult& result, bool counts_gaps, std::size_t most,
                      const std::function<bool(const galen::v1::Citation&)>& is_old) {
  std::string text;
  std::size_t bytes = 0;
  std::size_t left_out = 0;
  for (int i = 0; i < result.lines_size();) {
    const galen::v1::Citation& first = result.lines(i);
    const bool old = is_old(first);
    std::string lines;
    std::int64_t last = 0;
    for (; i < result.lines_size() && result.lines(i).artefact() == first.artefact() &&
           is_old(result.lines(i)) == old;
         ++i) {
      const galen::v1::Citation& line = result.lines(i);
      std::string one =
          line.artefact().empty() ? line.quote() : absl::StrCat(line.line(), ": ", line.quote());
      if (left_out > 0 || (bytes + one.size() > most && bytes > 0)) {
        ++left_out;
        continue;
      }
      if (const std::int64_t gap = line.line() - last - 1; counts_gaps && last > 0 && gap > 0) {
        absl::StrAppend(&lines, "\n[", gap, gap == 1 ? " line]" : " lines]");
      }
      last = line.line();
      bytes += one.size();
      absl::StrAppend(&lines, lines.empty() ? "" : "\n", one);
    }
    if (lines.empty()) continue;
    Attributes attributes;
    if (!first.handle().empty()) {
      attributes.emplace_back("of", first.handle());
      attributes.emplace_back("name", first.artefact());
    } else if (!first.artefact().empty()) {
      attributes.emplace_back("of", first.artefact());
    }
    if (!first.node().empty()) attributes.emplace_back("node", first.node());
    if (old) attributes.emplace_back("older", "more than a day before the incident");
    absl::StrAppend(&text, Section(KindOf(first.artefact()), attributes, lines, kSection));
  }
  std::string said = result.text();
  if (left_out > 0) {
    absl::StrAppend(&said, said.empty() ? "" : " ", left_out,
                    " lines are left out, as there is not enough room.");
  }
  if (!said.empty()) absl::StrAppend(&text, Section(TextKind::kRule, {}, said, most));
  return text.empty() ? Section(TextKind::kRule, {}, "Nothing.", kName) : text;
}

// "STRONG" as "strong".
std::string WordOf(galen::v1::Strength strength) {
  return absl::AsciiStrToLower(galen::v1::Strength_Name(strength));
}

std::string LabelsOf(const Signal& signal) {
  std::vector<std::string> labels(signal.labels().begin(), signal.labels().end());
  labels.resize(std::min(labels.size(), kLabelsOfMessage));
  return absl::StrJoin(labels, ", ");
}

bool IsOld(const Signal& signal, const std::function<bool(const galen::v1::Citation&)>& is_old) {
  galen::v1::Citation line;
  if (signal.has_last_time()) *line.mutable_time() = signal.last_time();
  return is_old(line);
}

// The most telling lines of the texts, and the known messages in them with their causes.
std::string MessagesAndTexts(const Told& told,
                             const std::function<bool(const galen::v1::Citation&)>& is_old) {
  std::string text;
  std::set<std::pair<std::string, std::int64_t>> stands;
  std::map<std::string, std::string> handles;  // of artefacts
  if (const galen::v1::ToolResult* const opening = OpeningOf(told.question); opening != nullptr) {
    absl::StrAppend(&text, LinesText(*opening, true, told.sizes.opening, is_old));
    for (const galen::v1::Citation& line : opening->lines()) {
      stands.insert({line.artefact(), line.line()});
      if (!line.handle().empty()) handles[line.artefact()] = line.handle();
    }
  }
  std::vector<std::string> known;
  for (const Signal* signal : Strongest(told.question.evidence().summary(), told.sizes.messages)) {
    const bool of_report = signal->source() == "description";
    std::string source = of_report ? std::string(kReport) : signal->source();
    const bool shown = of_report || stands.contains({source, signal->first_line()});
    if (const auto handle = handles.find(source); handle != handles.end()) source = handle->second;
    if (shown) {
      // A message without a cause is visible in its line.
      if (signal->labels().empty() || IsOld(*signal, is_old)) continue;
      known.push_back(
          absl::StrCat(CleanText(source, 120), " ", signal->first_line(), ": ", LabelsOf(*signal),
                       " (", WordOf(signal->strength()),
                       signal->count() > 1 ? absl::StrCat(", ", signal->count(), " times)") : ")"));
      continue;
    }
    Attributes attributes = {{"of", source}};
    if (!signal->node().empty()) attributes.emplace_back("node", signal->node());
    if (signal->count() > 1) attributes.emplace_back("times", absl::StrCat(signal->count()));
    if (!signal->labels().empty()) attributes.emplace_back("tells", LabelsOf(*signal));
    absl::StrAppend(&text,
                    Section(TextKind::kLog, attributes,
                            absl::StrCat(signal->first_line(), ": ", signal->excerpt()), kMessage));
  }
  if (!known.empty()) {
    absl::StrAppend(
        &text, Section(TextKind::kCode,
                       {{"name", "messages in these lines, with a cause that each may point to"}},
                       absl::StrJoin(known, "\n"), 1600));
  }
  return text;
}

// Equal results of several nodes.
struct Same {
  const CheckResult* first = nullptr;
  std::vector<std::string> others;  // nodes
  std::vector<std::string> lines;
};

// The failed results, and those of checks of the likeliest causes that passed or have no result.
std::string ResultsText(const Told& told, const EvidenceView& view) {
  const Asked asked = AskedBy(told);
  std::vector<Same> failed;
  std::map<std::string, std::size_t> by_text;
  std::set<absl::string_view> failing;  // checks
  std::size_t count = 0;
  for (const CheckResult* result : view.results()) {
    if (told.fresh.contains(result->id()) || result->status() != CheckResult::FAIL) continue;
    ++count;
    failing.insert(result->check());
    std::vector<std::string> lines = LinesOfResult(*result);
    const auto [place, is_new] = by_text.emplace(
        absl::StrCat(result->check(), "\n", absl::StrJoin(lines, "\n")), failed.size());
    if (is_new) {
      failed.push_back({result, {}, std::move(lines)});
    } else {
      failed[place->second].others.push_back(result->node());
    }
  }
  std::stable_sort(failed.begin(), failed.end(), [&](const Same& a, const Same& b) {
    return asked.contains(a.first->check()) > asked.contains(b.first->check());
  });
  std::string text;
  std::size_t shown = 0;
  for (const Same& each : failed) {
    if (shown == told.sizes.results) break;
    ++shown;
    Attributes attributes = {{"of", each.first->id()}};
    if (!each.others.empty()) attributes.emplace_back("also", Nodes(each.others));
    absl::StrAppend(&text, Section(TextKind::kFormula, attributes,
                                   Numbered(each.lines, told.sizes.lines, 900), 1200));
  }
  std::set<std::string> passed;
  std::set<std::string> silent;
  std::set<std::string> told_facts;
  std::size_t silent_count = 0;
  for (const CheckResult* result : view.results()) {
    if (told.fresh.contains(result->id())) continue;
    const auto wanted = asked.find(result->check());
    if (!Ran(*result)) {
      ++silent_count;
      if (wanted != asked.end() && silent.size() < kMostSilent) silent.insert(result->check());
    }
    if (result->status() != CheckResult::PASS) continue;
    const bool failed_elsewhere = failing.contains(result->check());
    passed.insert(failed_elsewhere ? absl::StrCat(result->check(), " on ", result->node())
                                   : result->check());
    if (wanted == asked.end() || told_facts.size() >= told.sizes.passed) continue;
    const std::vector<std::string> lines = LinesOfResult(*result);
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const std::string name = lines[i].substr(0, lines[i].find(' '));
      if (!wanted->second.contains(name)) continue;
      if (told_facts.insert(absl::StrCat(result->check(), lines[i])).second) {
        absl::StrAppend(&text,
                        Section(TextKind::kFormula, {{"of", result->id()}, {"status", "passed"}},
                                absl::StrCat(i + 1, ": ", lines[i]), 300));
      }
      break;
    }
  }
  absl::StrAppend(
      &text, "Results of checks: ", count, " failed (", shown, " shown above), ", silent_count,
      " without an answer",
      silent.empty()
          ? ""
          : absl::StrCat(" (those about the causes below: ", absl::StrJoin(silent, ", "), ")"),
      ".\n");
  std::vector<std::string> names(passed.begin(), passed.end());
  names.resize(std::min(names.size(), kMostNames));
  if (!names.empty()) {
    absl::StrAppend(&text, "Passed: ", Escape(absl::StrJoin(names, ", ")), ".\n");
  }
  return text;
}

}  // namespace

const galen::v1::ToolResult* OpeningOf(const v1::InvestigateQuestion& question) {
  if (question.transcript().empty()) return nullptr;
  const galen::v1::InvestigationTurn& turn = question.transcript(0);
  const bool opens = turn.calls_size() == 1 && turn.calls(0).has_read_lines() &&
                     turn.calls(0).read_lines().artefact().empty();
  if (!opens) return nullptr;
  static const auto* const nothing = new galen::v1::ToolResult();
  return turn.results().empty() ? nothing : &turn.results(0);
}

galen::v1::ToolCall OpeningCall() {
  galen::v1::ToolCall call;
  call.mutable_read_lines();
  return call;
}

bool CanRunChecks(const Told& told) {
  const galen::v1::Incident& incident = told.question.incident();
  bool tried = false;
  for (const CheckResult& result : told.question.evidence().results()) {
    if (told.fresh.contains(result.id())) continue;
    if (Ran(result)) return true;
    tried = true;
  }
  return !tried && (!incident.nodes().empty() || !incident.bundle().empty());
}

std::string CaseOf(const Told& told,
                   const std::function<bool(const galen::v1::Citation&)>& is_old) {
  const galen::v1::Incident& incident = told.question.incident();
  const galen::v1::EvidenceSet& evidence = told.question.evidence();
  const TextSizes& sizes = told.sizes;
  std::string text = Section(
      TextKind::kPlain, {{"of", std::string(kReport)}},
      Numbered(LinesOfText(incident.description(), kMostOfParagraph), kSection, sizes.report),
      kSection);
  if (!incident.artefacts().empty()) {
    absl::StrAppend(&text, Section(TextKind::kCode, {{"name", "parts cut out of the report"}},
                                   CutOut(incident), 1200));
  }
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
    absl::StrAppend(&text, Section(TextKind::kPlain, {{"of", FeedbackName(i + 1)}},
                                   Numbered(LinesOfText(evidence.feedback(i), kMostOfParagraph),
                                            kSection, kFeedbackBytes),
                                   kSection));
  }
  absl::StrAppend(&text, MessagesAndTexts(told, is_old), ResultsText(told, view));
  return text;
}

std::string ResultText(const galen::v1::ToolResult& result, const galen::v1::ToolCall& call,
                       const TextSizes& sizes) {
  return LinesText(result, call.has_read_lines(), sizes.shown,
                   [](const galen::v1::Citation&) { return false; });
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
