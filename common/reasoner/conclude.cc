#include "common/reasoner/conclude.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/knowledge/nothing_wrong.h"
#include "common/reasoner/explained.h"
#include "common/reasoner/judge.h"
#include "common/reasoner/wording.h"

namespace galen::reasoner {
namespace {

using galen::v1::CheckResult;
using galen::v1::Device;
using galen::v1::Finding;
using galen::v1::Hypothesis;
using galen::v1::Signal;
using galen::v1::Verdict;
using knowledge::v1::Label;

// Suspects of a search that proved nothing: maximum number, minimum probability of each, and
// minimum probability of the first to be presumed. A first suspect between 0.2 and 0.4 was right in
// 17 of 23 public reports (docs/decisions/019).
constexpr int kNamedSuspects = 3;
constexpr double kWorthNaming = 0.02;
constexpr double kWorthPresuming = 0.25;
// A report reads harmless if its words make "none of these" this much likelier (a logarithm), and
// if it is this likely.
constexpr double kReadsHarmless = 3.2;
constexpr double kLikelyNone = 0.7;

// One piece of evidence for a cause.
struct Ground {
  const Finding* finding;
  const CheckResult* result;
};

// A confirmed hypothesis with its evidence.
struct Cause {
  const Hypothesis* hypothesis = nullptr;
  const Label* leaf = nullptr;
  std::set<std::string> nodes;
  std::vector<Ground> grounds;
  bool opposed = false;
  int explains = 0;
  int64_t earliest = std::numeric_limits<int64_t>::max();  // nanoseconds of the first event
};

int64_t EventNanos(const Finding& finding) {
  if (!finding.has_event_value() || !finding.event_value().has_time()) {
    return std::numeric_limits<int64_t>::max();
  }
  const auto& time = finding.event_value().time();
  return time.seconds() * 1'000'000'000 + time.nanos();
}

Cause Study(const Case& the_case, const Hypothesis& hypothesis) {
  Cause cause;
  cause.hypothesis = &hypothesis;
  cause.leaf = the_case.knowledge.FindLabel(hypothesis.label());
  for (const Device& device : hypothesis.verdict().devices()) {
    if (!device.node().empty()) cause.nodes.insert(device.node());
  }
  for (const std::string& node : the_case.evidence.nodes()) {
    if (!cause.nodes.empty() && !cause.nodes.contains(node)) continue;
    const Belief belief = Weigh(the_case, *cause.leaf, node);
    cause.opposed = cause.opposed || belief.IsOpposed();
    for (const Observation& each : belief.observations) {
      if (each.witness == Witness::kEffect) continue;
      for (const Finding* finding : each.entry.findings) {
        cause.grounds.push_back({finding, each.entry.result});
        cause.earliest = std::min(cause.earliest, EventNanos(*finding));
      }
    }
  }
  for (const CheckResult* result : the_case.evidence.results()) {
    if (!cause.nodes.contains(result->node())) continue;
    for (const Finding& finding : result->findings()) {
      if ((finding.abnormal() || finding.has_event_value()) &&
          Explains(the_case, *cause.leaf, finding, *result)) {
        ++cause.explains;
      }
    }
  }
  for (const Signal& signal : the_case.evidence.summary().signals()) {
    if (signal.strength() >= galen::v1::STRONG && Explains(the_case, *cause.leaf, signal)) {
      ++cause.explains;
    }
  }
  return cause;
}

bool Before(const Cause& a, const Cause& b) {
  if (a.opposed != b.opposed) return b.opposed;
  if (a.explains != b.explains) return a.explains > b.explains;
  if (a.earliest != b.earliest) return a.earliest < b.earliest;
  const double left = a.hypothesis->verdict().probability();
  const double right = b.hypothesis->verdict().probability();
  if (left != right) return left > right;
  return a.hypothesis->label() < b.hypothesis->label();
}

bool ShareANode(const Cause& a, const Cause& b) {
  if (a.nodes.empty() || b.nodes.empty()) return true;
  return std::any_of(a.nodes.begin(), a.nodes.end(),
                     [&](const std::string& node) { return b.nodes.contains(node); });
}

// Whether `cause` alone would explain all evidence for `effect`.
bool AccountsFor(const Case& the_case, const Cause& cause, const Cause& effect) {
  return !effect.grounds.empty() &&
         std::all_of(effect.grounds.begin(), effect.grounds.end(), [&](const Ground& ground) {
           return cause.nodes.contains(ground.result->node()) &&
                  Explains(the_case, *cause.leaf, *ground.finding, *ground.result);
         });
}

bool LooksLike(const Label& a, const Label& b) {
  const auto names = [](const Label& label, const std::string& other) {
    return std::find(label.confused_with().begin(), label.confused_with().end(), other) !=
           label.confused_with().end();
  };
  return names(a, b.label()) || names(b, a.label());
}

bool IsEffect(const Case& the_case, const Cause& effect, const Cause& cause) {
  if (!ShareANode(effect, cause)) return false;
  // No effect comes before its cause.
  constexpr int64_t kUntold = std::numeric_limits<int64_t>::max();
  if (cause.earliest != kUntold && effect.earliest < cause.earliest) return false;
  const bool listed = ListsEffect(*cause.leaf, effect.hypothesis->label());
  const bool lists = ListsEffect(*effect.leaf, cause.hypothesis->label());
  // A cause with opposing evidence is over; an effect that outlived it is the current fault.
  if (listed && cause.opposed && !effect.opposed) return false;
  if (lists && effect.opposed && !cause.opposed) return true;
  if (listed != lists) return listed;
  if (LooksLike(*effect.leaf, *cause.leaf) && effect.opposed && !cause.opposed) return true;
  const bool forth = AccountsFor(the_case, cause, effect);
  const bool back = AccountsFor(the_case, effect, cause);
  // Each explains the other: the one that explains more is the cause.
  return (listed || forth) && (!back || Before(cause, effect));
}

class Effects {
 public:
  Effects(const Case& the_case, v1::ConcludeAnswer& answer) : case_(the_case), answer_(answer) {}

  void Add(const std::string& name, const std::string& cause, const std::string& text,
           const Device& device, const std::string& evidence_id) {
    const auto [it, is_new] = index_.emplace(absl::AsciiStrToLower(name), answer_.effects_size());
    v1::ConcludeAnswer::Effect& effect =
        is_new ? *answer_.add_effects() : *answer_.mutable_effects(it->second);
    if (is_new) {
      effect.set_effect(name);
      effect.set_cause(cause);
      effect.set_text(text);
    }
    const bool known_device =
        std::any_of(effect.devices().begin(), effect.devices().end(), [&](const Device& each) {
          return each.node() == device.node() && each.device() == device.device();
        });
    if (!known_device && !(device.node().empty() && device.device().empty())) {
      *effect.add_devices() = device;
    }
    if (!evidence_id.empty() &&
        std::find(effect.evidence_ids().begin(), effect.evidence_ids().end(), evidence_id) ==
            effect.evidence_ids().end()) {
      effect.add_evidence_ids(evidence_id);
    }
  }

  // A confirmed cause that turned out to be an effect.
  void AddConfirmed(const Cause& effect, const Cause& cause) {
    const Verdict& verdict = effect.hypothesis->verdict();
    const std::string& label = effect.hypothesis->label();
    const std::string text =
        absl::StrCat(effect.leaf->title(), ", explained by ", cause.leaf->title());
    for (const Device& device : verdict.devices())
      Add(label, cause.leaf->label(), text, device, "");
    for (const galen::v1::Reason& reason : verdict.reasons()) {
      if (reason.direction() != galen::v1::Reason::SUPPORTS) continue;
      for (const std::string& id : reason.evidence_ids()) {
        Add(label, cause.leaf->label(), text, Device(), id);
      }
    }
  }

  // Adds the effects that `cause` lists and that the evidence shows on its nodes.
  void AddListed(const Cause& cause, const std::set<std::string>& causes) {
    for (const std::string& listed : cause.leaf->secondary_effects()) {
      if (const Label* leaf = case_.knowledge.FindLabel(listed); leaf != nullptr) {
        if (!causes.contains(listed)) AddLeaf(cause, *leaf);
        continue;
      }
      AddEvents(cause, listed);
      AddTexts(cause, listed);
    }
  }

  // Adds abnormal findings of the cause's own device that no cause names, in checks that its
  // siblings in the taxonomy use: traces of a fault in the same part ("page retirement pending").
  void AddTraces(const Cause& cause, const std::vector<const Cause*>& causes) {
    std::set<std::string> checks;
    for (const Label* sibling : case_.knowledge.Children(cause.leaf->parent())) {
      for (const auto* rules : {&sibling->confirm(), &sibling->refute()}) {
        for (const knowledge::v1::Rule& rule : *rules) checks.insert(rule.check());
      }
    }
    for (const Device& device : cause.hypothesis->verdict().devices()) {
      if (device.device().empty()) continue;
      for (const std::string& name : checks) {
        const CheckResult* result = case_.evidence.Find(name, device.node());
        if (result == nullptr || !Ran(*result)) continue;
        for (const Finding& finding : result->findings()) {
          if (!finding.abnormal() || finding.has_event_value() ||
              finding.subject().device() != device.device()) {
            continue;
          }
          const bool named = std::any_of(causes.begin(), causes.end(), [&](const Cause* each) {
            return Explains(case_, *each->leaf, finding, *result);
          });
          if (named) continue;
          Add(TraceName(name, finding), cause.leaf->label(),
              absl::StrCat(reasoner::Describe(case_.knowledge, finding, device.node()), ", beside ",
                           cause.leaf->title()),
              device, result->id());
        }
      }
    }
  }

 private:
  void AddLeaf(const Cause& cause, const Label& leaf) {
    for (const std::string& node : cause.nodes) {
      const Belief belief = Weigh(case_, leaf, node);
      if (belief.IsOpposed() || !belief.HasEvidence()) continue;
      for (const Observation& each : belief.observations) {
        if (each.witness == Witness::kEffect) continue;
        for (const Finding* finding : each.entry.findings) {
          Add(leaf.label(), cause.leaf->label(),
              absl::StrCat(leaf.title(), ", an effect of ", cause.leaf->title()),
              PlaceOf(*finding, node), each.entry.result->id());
        }
      }
    }
  }

  void AddEvents(const Cause& cause, const std::string& name) {
    for (const CheckResult* result : case_.evidence.results()) {
      if (!cause.nodes.contains(result->node())) continue;
      for (const Finding& finding : result->findings()) {
        if (!absl::EqualsIgnoreCase(EffectName(finding), name)) continue;
        Add(name, cause.leaf->label(),
            absl::StrCat(DescribeEvent(case_.knowledge, finding), ", an effect of ",
                         cause.leaf->title()),
            PlaceOf(finding, result->node()), result->id());
      }
    }
  }

  // Adds the effect if the texts of the report mention it.
  void AddTexts(const Cause& cause, const std::string& name) {
    for (const Signal& signal : case_.evidence.summary().signals()) {
      if (!Tells(signal.excerpt(), name)) continue;
      if (!signal.node().empty() && !cause.nodes.contains(signal.node())) continue;
      Device device;
      device.set_node(signal.node());
      Add(name, cause.leaf->label(),
          absl::StrCat(name, Meaning(name), ", an effect of ", cause.leaf->title()), device,
          signal.id());
    }
  }

  // " (Double Bit ECC Error)" for a code in the knowledge.
  std::string Meaning(const std::string& name) const {
    const std::vector<std::string> parts = absl::StrSplit(name, ' ');
    int code = 0;
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &code)) return "";
    const knowledge::v1::ErrorCode* known =
        case_.knowledge.FindErrorCode(absl::AsciiStrToLower(parts[0]), code);
    if (known == nullptr) return "";
    return absl::StrCat(" (", known->name().empty() ? known->meaning() : known->name(), ")");
  }

  // "page retirement pending", "recovery action GPU_RESET".
  static std::string TraceName(absl::string_view check, const Finding& finding) {
    const absl::string_view subject = check.substr(check.find('.') + 1);
    return absl::StrCat(
        Words(subject), " ",
        finding.has_bool_value() ? Words(finding.name()) : knowledge::ValueText(finding));
  }

  // Whether a log line reports the effect: "NVRM: Xid (PCI:0000:b3:00): 48, ..." reports "Xid 48".
  static bool Tells(const std::string& line, const std::string& name) {
    const std::vector<std::string> parts = absl::StrSplit(name, ' ');
    int code = 0;
    if (parts.size() == 2 && absl::SimpleAtoi(parts[1], &code)) {
      return absl::StrContains(line, absl::StrCat(parts[0], " (")) &&
             absl::StrContains(line, absl::StrCat("): ", parts[1], ","));
    }
    return absl::StrContains(absl::AsciiStrToLower(line), absl::AsciiStrToLower(name));
  }

  static Device PlaceOf(const Finding& finding, const std::string& node) {
    Device device = finding.subject();
    if (device.node().empty()) device.set_node(node);
    return device;
  }

  const Case& case_;
  v1::ConcludeAnswer& answer_;
  std::map<std::string, int> index_;  // by name in lower case
};

std::string HeadlineWithoutCause(const v1::ConcludeQuestion& question) {
  int rejected = 0;
  int open = 0;
  for (const Hypothesis& each : question.judged()) {
    rejected += each.status() == Hypothesis::REJECTED ? 1 : 0;
    open += each.status() == Hypothesis::INCONCLUSIVE ? 1 : 0;
  }
  return absl::StrCat("No cause confirmed: ", rejected, rejected == 1 ? " cause" : " causes",
                      " ruled out, ", open, " undecided");
}

std::string Headline(const Cause& primary, size_t others) {
  std::string text = primary.leaf->title();
  if (primary.hypothesis->verdict().devices_size() > 0) {
    absl::StrAppend(&text, ": ", Places(primary.hypothesis->verdict().devices()));
  }
  if (others > 0) {
    absl::StrAppend(&text, ", and ", others, " independent ", others == 1 ? "cause" : "causes");
  }
  return text;
}

// Adds the likeliest leaves with evidence in the texts or on a machine.
void AddSuspects(const Case& the_case, v1::ConcludeAnswer& answer) {
  const Beliefs beliefs(the_case);
  for (const Label* leaf : beliefs.ranked()) {
    const double probability = beliefs.Probability(*leaf);
    if (answer.suspects_size() == kNamedSuspects || probability < kWorthNaming) break;
    if (DescribeBest(the_case.knowledge, beliefs.Of(*leaf)).empty()) continue;
    *answer.add_suspects() = Judge(the_case, beliefs, *leaf);
  }
  if (!answer.suspects().empty()) {
    const Verdict& first = answer.suspects(0);
    if (first.label() == beliefs.ranked().front()->label() &&
        first.probability() >= std::max(kWorthPresuming, beliefs.NoneOfThese())) {
      answer.set_presumed_label(first.label());
      return;
    }
  }
  const auto nothing = the_case.alike.find(knowledge::kNothingWrong);
  answer.set_reads_harmless(nothing != the_case.alike.end() &&
                            nothing->second.weight >= kReadsHarmless &&
                            beliefs.NoneOfThese() >= kLikelyNone);
}

}  // namespace

v1::ConcludeAnswer Conclude(const Case& the_case, const v1::ConcludeQuestion& question) {
  v1::ConcludeAnswer answer;
  std::vector<Cause> causes;
  for (const Hypothesis* hypothesis : Confirmed(the_case.knowledge, question.judged())) {
    causes.push_back(Study(the_case, *hypothesis));
  }
  if (causes.empty()) {
    answer.set_headline(HeadlineWithoutCause(question));
    AddSuspects(the_case, answer);
    return answer;
  }
  std::stable_sort(causes.begin(), causes.end(), Before);
  std::vector<const Cause*> effects;
  std::vector<const Cause*> independent;
  std::map<const Cause*, const Cause*> explained_by;
  for (const Cause& each : causes) {
    for (const Cause& other : causes) {
      // An effect of an effect is attributed to the first link that is not its own effect.
      if (&other == &each || !IsEffect(the_case, each, other)) continue;
      if (explained_by.contains(&other) && explained_by[&other] == &each) continue;
      explained_by.emplace(&each, &other);
      break;
    }
    (explained_by.contains(&each) ? effects : independent).push_back(&each);
  }
  // A circle of effects: the strongest of them is the cause.
  if (independent.empty()) {
    independent.push_back(effects.front());
    effects.erase(effects.begin());
  }
  const auto root = [&](const Cause* cause) {
    for (size_t i = 0; i < causes.size(); ++i) {
      const auto it = explained_by.find(cause);
      if (it == explained_by.end() || cause == independent.front()) break;
      cause = it->second;
    }
    return cause;
  };
  std::set<std::string> names;
  for (const Cause* cause : independent) names.insert(cause->leaf->label());
  Effects seen(the_case, answer);
  for (const Cause* effect : effects) seen.AddConfirmed(*effect, *root(effect));
  std::vector<const Cause*> all = independent;
  all.insert(all.end(), effects.begin(), effects.end());
  for (const Cause* cause : independent) {
    seen.AddListed(*cause, names);
    seen.AddTraces(*cause, all);
  }
  answer.set_primary_label(independent.front()->hypothesis->label());
  for (size_t i = 1; i < independent.size(); ++i) {
    answer.add_other_labels(independent[i]->hypothesis->label());
  }
  answer.set_headline(Headline(*independent.front(), independent.size() - 1));
  return answer;
}

}  // namespace galen::reasoner
