#include "services/cli/reasoning_text.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/text.h"

namespace galen::cli {
namespace {

using v1::ReasoningStep;

constexpr std::size_t kMaxLabel = 160;  // bytes of a step's text in a drawing
constexpr std::size_t kMaxText = 600;
constexpr std::size_t kMaxDepth = 8;  // indentation stops here

absl::string_view KindName(ReasoningStep::Kind kind) {
  switch (kind) {
    case ReasoningStep::PROPOSITION:
      return "proposition";
    case ReasoningStep::CRITIQUE:
      return "critique";
    case ReasoningStep::REFINEMENT:
      return "refinement";
    case ReasoningStep::VERIFICATION:
      return "verification";
    case ReasoningStep::SUMMARY:
      return "summary";
    default:
      return "step";
  }
}

Colour ColourOf(const ReasoningStep& step) {
  switch (step.kind()) {
    case ReasoningStep::VERIFICATION:
      return Colour::kGreen;
    case ReasoningStep::CRITIQUE:
    case ReasoningStep::REFINEMENT:
      return Colour::kYellow;
    case ReasoningStep::SUMMARY:
      return Colour::kBold;
    default:
      return Colour::kNone;
  }
}

std::string OneLine(absl::string_view raw, std::size_t most) {
  std::string text = CleanText(raw, most);
  absl::StrReplaceAll({{"\n", " "}, {"\t", " "}}, &text);
  return text;
}

std::string Title(const ReasoningStep& step) {
  std::string title(KindName(step.kind()));
  if (!step.label().empty()) absl::StrAppend(&title, " ", OneLine(step.label(), kMaxLabel));
  if (!step.model().empty()) absl::StrAppend(&title, " (", OneLine(step.model(), 60), ")");
  return title;
}

using Places = std::map<std::string, std::size_t>;

// The parents of each step that are steps themselves, each once, and no step its own.
std::vector<std::vector<std::size_t>> ParentsOf(const std::vector<ReasoningStep>& steps) {
  Places places;
  for (std::size_t i = 0; i < steps.size(); ++i) places.emplace(steps[i].id(), i);
  std::vector<std::vector<std::size_t>> parents(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::set<std::size_t> seen;
    for (const std::string& id : steps[i].parents()) {
      const auto place = places.find(id);
      if (place == places.end() || place->second == i || !seen.insert(place->second).second) {
        continue;
      }
      parents[i].push_back(place->second);
    }
  }
  return parents;
}

std::string AsText(const std::vector<ReasoningStep>& steps, const Terminal& terminal) {
  const auto parents = ParentsOf(steps);
  // Below which parent a step is told: the last one that stands before it.
  std::vector<std::vector<std::size_t>> children(steps.size());
  std::vector<std::size_t> roots;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::size_t below = steps.size();
    for (const std::size_t parent : parents[i]) {
      if (parent < i && (below == steps.size() || parent > below)) below = parent;
    }
    // The summary, which everything leads to, is a root, and so is an objection to several steps.
    const bool alone = steps[i].kind() == ReasoningStep::SUMMARY ||
                       (steps[i].kind() == ReasoningStep::CRITIQUE && parents[i].size() > 1);
    if (below == steps.size() || alone) {
      roots.push_back(i);
    } else {
      children[below].push_back(i);
    }
  }
  std::string out;
  const auto width = static_cast<std::size_t>(std::max(terminal.width, 40));
  struct Open {
    std::size_t step;
    std::size_t depth;
  };
  std::vector<Open> open;
  for (auto it = roots.rbegin(); it != roots.rend(); ++it) open.push_back({*it, 0});
  while (!open.empty()) {
    const auto [at, depth] = open.back();
    open.pop_back();
    const ReasoningStep& step = steps[at];
    const std::string margin(2 * std::min(depth, kMaxDepth), ' ');
    absl::StrAppend(&out, margin, Paint(terminal, ColourOf(step), Title(step)), "\n");
    const std::string text = OneLine(step.text(), kMaxText);
    if (!text.empty()) {
      for (const std::string& line : Wrap(text, width - margin.size() - 4)) {
        absl::StrAppend(&out, margin, "    ", line, "\n");
      }
    }
    if (!step.evidence_ids().empty()) {
      for (const std::string& line : Wrap(
               absl::StrCat("[", OneLine(absl::StrJoin(step.evidence_ids(), "] ["), kMaxText), "]"),
               width - margin.size() - 4)) {
        absl::StrAppend(&out, margin, "    ", Paint(terminal, Colour::kDim, line), "\n");
      }
    }
    for (auto it = children[at].rbegin(); it != children[at].rend(); ++it) {
      open.push_back({*it, depth + 1});
    }
  }
  return out;
}

// Within a quoted text of Graphviz.
std::string DotText(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}});
}

std::string AsDot(const std::vector<ReasoningStep>& steps) {
  static const std::map<ReasoningStep::Kind, absl::string_view> kShapes = {
      {ReasoningStep::PROPOSITION, "box"},          {ReasoningStep::CRITIQUE, "octagon"},
      {ReasoningStep::REFINEMENT, "parallelogram"}, {ReasoningStep::VERIFICATION, "ellipse"},
      {ReasoningStep::SUMMARY, "doubleoctagon"},
  };
  std::string out = "digraph reasoning {\n  rankdir=TB;\n  node [fontsize=10];\n";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto shape = kShapes.find(steps[i].kind());
    absl::StrAppend(&out, "  s", i,
                    " [shape=", shape == kShapes.end() ? absl::string_view("box") : shape->second,
                    ", label=\"", DotText(Title(steps[i])), "\\n",
                    DotText(OneLine(steps[i].text(), kMaxLabel)), "\"];\n");
  }
  const auto parents = ParentsOf(steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const std::size_t parent : parents[i]) {
      absl::StrAppend(&out, "  s", parent, " -> s", i, ";\n");
    }
  }
  return absl::StrCat(out, "}\n");
}

// Within a quoted text of Mermaid, which knows entities by number ("#quot;") and HTML tags.
std::string MermaidText(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"#", "#35;"},
                                    {"\"", "#quot;"},
                                    {"<", "#lt;"},
                                    {">", "#gt;"},
                                    {"&", "#amp;"},
                                    {"`", "#96;"},
                                    {"\\", "#92;"}});
}

std::string AsMermaid(const std::vector<ReasoningStep>& steps) {
  std::string out = "flowchart TD\n";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool round = steps[i].kind() == ReasoningStep::VERIFICATION;
    absl::StrAppend(&out, "  s", i, round ? "([\"" : "[\"", MermaidText(Title(steps[i])), "<br/>",
                    MermaidText(OneLine(steps[i].text(), kMaxLabel)), round ? "\"])" : "\"]", "\n");
  }
  const auto parents = ParentsOf(steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const std::size_t parent : parents[i]) {
      absl::StrAppend(&out, "  s", parent, " --> s", i, "\n");
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<ReasoningForm> ParseReasoningForm(absl::string_view name) {
  if (name == "text") return ReasoningForm::kText;
  if (name == "dot") return ReasoningForm::kDot;
  if (name == "mermaid") return ReasoningForm::kMermaid;
  return absl::InvalidArgumentError(
      absl::StrCat("--show-reasoning ", name, ": there is none; use text, dot or mermaid"));
}

std::string ReasoningText(const std::vector<ReasoningStep>& steps, ReasoningForm form,
                          const Terminal& terminal) {
  switch (form) {
    case ReasoningForm::kDot:
      return AsDot(steps);
    case ReasoningForm::kMermaid:
      return AsMermaid(steps);
    case ReasoningForm::kText:
      break;
  }
  return AsText(steps, terminal);
}

}  // namespace galen::cli
