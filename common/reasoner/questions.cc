#include "common/reasoner/questions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/reasoner/expected_bits.h"
#include "common/reasoner/rates.h"

namespace galen::reasoner {
namespace {

using galen::v1::Question;
using knowledge::v1::Check;
using knowledge::v1::Label;
using knowledge::v1::Rule;

constexpr int kMostQuestions = 3;
constexpr int kMostAnswers = 3;
constexpr int kMostEffects = 3;
constexpr int kMostCommands = 3;
// A question with less expected information is not worth a person's time.
constexpr double kLeastBits = 0.02;
// Maximum number of leading causes whose machines are asked about.
constexpr std::size_t kLeading = 16;
// Maximum number of machines that a person inspects for one question.
constexpr std::size_t kAtOnce = 4;
// The most that a check without a finding subtracts from a leaf, as in the model.
constexpr double kMostAgainst = -6.0;
// Overhead of a test for asking, reading and waiting, in addition to its declared time.
constexpr double kTestSeconds = 10.0;
// How often a log has a strong message of an absent cause, over all causes.
constexpr double kMisleading = 0.5;
// A smaller change of the probability is not mentioned.
constexpr double kWorthTelling = 0.01;

bool IsPattern(absl::string_view text) {
  return text.find_first_of("*{<") != absl::string_view::npos;
}

// The input that a person would give for the check: the first of its sources that can be typed.
std::string ReadingOf(const Check& check) {
  if (check.intrusive()) return check.name();
  if (check.reads().empty()) return "";
  for (const std::string& read : check.reads()) {
    if (absl::StartsWith(read, "logs/")) return "logs/*";
    if (absl::StartsWith(read, "native:") || absl::StartsWith(read, "PromQL")) continue;
    if (!IsPattern(read)) return read;
  }
  return check.reads(0);
}

// A check that a person can answer, or that may run as a test.
bool CanBeAsked(const Check& check) {
  if (check.off() || check.kind() == Check::PROMQL || check.kind() == Check::HISTORY) return false;
  if (check.intrusive()) return true;
  return !check.reads().empty() && !absl::StartsWith(check.reads(0), "native:");
}

bool IsAbout(const v1::ExploreQuestion& question, std::initializer_list<absl::string_view> words) {
  const std::string text = absl::AsciiStrToLower(absl::StrCat(
      question.incident().description(), " ", question.incident().environment().gpu()));
  return std::any_of(words.begin(), words.end(),
                     [&](absl::string_view word) { return absl::StrContains(text, word); });
}

class Asking {
 public:
  Asking(const Case& the_case, const v1::ExploreQuestion& question)
      : case_(the_case),
        question_(question),
        beliefs_(the_case),
        asked_(question.asked().begin(), question.asked().end()),
        amd_(IsAbout(question, {"amd", "rocm", "mi300", "mi250", "mi325", "rccl", "instinct"})) {
    double known = 0;
    for (const Label* leaf : the_case.index.leaves()) {
      shares_.push_back(beliefs_.Probability(*leaf));
      known += shares_.back();
    }
    shares_.push_back(std::max(1 - known, 0.0));
    shares_ = Normalized(std::move(shares_));
    CollectNodes();
    for (std::size_t i = 0; i < the_case.index.leaves().size(); ++i) Look(i);
    AddMessages();
  }

  void Choose(bool tests, google::protobuf::RepeatedPtrField<Question>& chosen) {
    Shares shares = shares_;
    std::set<std::string> used;
    while (chosen.size() < kMostQuestions) {
      const Readable* best = nullptr;
      double most = 0;
      double bits_of_best = 0;
      for (const auto& [key, reading] : readings_) {
        if (reading.checks.front()->intrusive() != tests || used.contains(reading.what) ||
            WasAsked(reading)) {
          continue;
        }
        const double bits = ExpectedBits(reading, shares);
        const double worth = tests ? bits / (kTestSeconds + CostOf(reading)) : bits;
        if (bits < kLeastBits || worth <= most) continue;
        most = worth;
        bits_of_best = bits;
        best = &reading;
      }
      if (best == nullptr) return;
      used.insert(best->what);
      *chosen.Add() = Make(*best, shares, bits_of_best);
      shares = AfterNothing(*best, shares);
    }
  }

 private:
  // Whether it was asked for that machine, or for all of them at once.
  bool WasAsked(const Readable& reading) const {
    const std::string typed = Typed(reading.what);
    return asked_.contains(IdOf(reading)) || asked_.contains(absl::StrCat(typed, "@")) ||
           asked_.contains(absl::StrCat(typed, "@", reading.node)) ||
           asked_.contains(FirstOf(reading).name());
  }

  // Collects the machines of the likeliest causes, possibly none.
  void CollectNodes() {
    if (case_.evidence.nodes().empty()) {
      nodes_.insert("");
      return;
    }
    for (std::size_t i = 0; i < std::min(beliefs_.ranked().size(), kLeading); ++i) {
      nodes_.insert(beliefs_.Of(*beliefs_.ranked()[i]).node);
    }
  }

  bool Fits(const Check& check) const {
    const auto needs = [&](absl::string_view what) {
      return std::find(check.needs().begin(), check.needs().end(), what) != check.needs().end();
    };
    if (amd_ ? needs("nvidia") : needs("amd")) return false;
    return !needs("prometheus");
  }

  // The reading that would answer the check there; null: it was already read, or nobody can read
  // it.
  Readable* ReadingFor(const std::string& name, const std::string& node) {
    const Check* check = case_.knowledge.FindCheck(name);
    if (check == nullptr || !CanBeAsked(*check) || !Fits(*check)) return nullptr;
    const galen::v1::CheckResult* result = case_.evidence.Find(name, node);
    if (result != nullptr && Ran(*result)) return nullptr;
    // A test that a machine refused or does not have is not proposed again. A passive check that
    // has not run is left to the search: the machine answers it without a person.
    if (check->intrusive() ? result != nullptr : !node.empty() && result == nullptr) return nullptr;
    const std::string what = ReadingOf(*check);
    const bool together = std::find(check->needs().begin(), check->needs().end(), "two_nodes") !=
                          check->needs().end();
    const bool anywhere = what == "logs/*" || together || (!check->intrusive() && LackOnAll(name));
    const std::string where = anywhere ? "" : node;
    Readable& reading = readings_[{what, where}];
    reading.what = what;
    reading.node = where;
    if (std::find(reading.checks.begin(), reading.checks.end(), check) == reading.checks.end()) {
      reading.checks.push_back(check);
    }
    return &reading;
  }

  // Whether all of a few machines lack the result: then one question covers all of them.
  bool LackOnAll(const std::string& check) const {
    const std::vector<std::string>& nodes = case_.evidence.nodes();
    return nodes.size() > 1 && nodes.size() <= kAtOnce &&
           std::none_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
             const galen::v1::CheckResult* result = case_.evidence.Find(check, node);
             return result == nullptr || Ran(*result);
           });
  }

  std::string On(const Readable& reading, bool loads) const {
    if (reading.node == "reported-machine") return " on the machine";
    if (!reading.node.empty()) return absl::StrCat(" on ", reading.node);
    if (loads) return " between the machines of the job";
    const std::vector<std::string>& nodes = case_.evidence.nodes();
    if (nodes.size() > 1 && nodes.size() <= kAtOnce) {
      return absl::StrCat(" on each of ", absl::StrJoin(nodes, ", "));
    }
    return " on a machine of the job";
  }

  void Look(std::size_t leaf) {
    const Label& label = *case_.index.leaves()[leaf];
    for (const Belief& belief : beliefs_.OnNodes(label)) {
      if (!nodes_.contains(belief.node)) continue;
      std::map<std::pair<Readable*, std::string>, double> absent;  // by check, as the model counts
      for (const Entry& entry : belief.unknown) {
        const Rule* untold = entry.untold == nullptr ? entry.rule : entry.untold;
        if (untold->check().empty()) continue;
        Readable* const reading = ReadingFor(untold->check(), belief.node);
        if (reading == nullptr) continue;
        if (IsConfirm(label, *entry.rule)) {
          const Prospect prospect = ProspectOf(case_, *entry.rule);
          AddSign(leaf, belief, *entry.rule, prospect, *reading);
          double& least = absent[{reading, untold->check()}];
          least = std::min(least, prospect.if_absent);
        } else if (&belief == &beliefs_.Of(label) && !StatesAbsenceOnly(*entry.rule)) {
          Add(reading->if_nothing[leaf], RefutedBy(case_, *entry.rule));
        }
      }
      if (&belief != &beliefs_.Of(label)) continue;
      for (const auto& [key, weight] : absent) Add(key.first->if_nothing[leaf], weight);
    }
  }

  // A refute rule over abnormal values names another fault; it does not describe an absence.
  bool StatesAbsenceOnly(const Rule& rule) const {
    const knowledge::v1::FindingSpec* spec =
        case_.knowledge.FindFinding(rule.check(), rule.finding());
    return spec != nullptr && spec->has_abnormal() && rule.op() == spec->abnormal().op() &&
           rule.value() == spec->abnormal().value();
  }

  static void Add(double& sum, double weight) { sum = std::max(sum + weight, kMostAgainst); }

  static bool IsConfirm(const Label& label, const Rule& rule) {
    return std::any_of(label.confirm().begin(), label.confirm().end(),
                       [&](const Rule& each) { return &each == &rule; });
  }

  void AddSign(std::size_t leaf, const Belief& belief, const Rule& rule, const Prospect& prospect,
               Readable& reading) {
    MaySee& sign = reading.signs[ObservationName(rule)];
    if (sign.text.empty()) sign.text = rule.observation();
    sign.otherwise = std::min(sign.otherwise, prospect.otherwise);
    const double weight = AddedBy(prospect.weight, belief, Witness::kMachine);
    sign.Add({leaf, prospect.if_cause, weight});
  }

  // A missing log may contain messages, in addition to the findings of checks.
  void AddMessages() {
    const auto& logs = question_.incident().logs();
    const bool has_job_log =
        std::any_of(logs.begin(), logs.end(),
                    [](const auto& log) { return log.kind() != galen::v1::LogSource::TOOL; }) ||
        std::any_of(case_.evidence.summary().signals().begin(),
                    case_.evidence.summary().signals().end(),
                    [](const auto& signal) { return signal.where() == galen::v1::JOB_LOG; });
    for (auto& [key, reading] : readings_) {
      const bool job = reading.what == "logs/*" && !has_job_log;
      const bool kernel = absl::StartsWith(reading.what, "dmesg");
      if (job) AddMessagesOf(galen::v1::JOB_LOG, reading);
      if (kernel) AddMessagesOf(galen::v1::KERNEL_LOG, reading);
    }
  }

  void AddMessagesOf(galen::v1::Where where, Readable& reading) {
    const Prospect prospect = ProspectOfMessages();
    const double misleading = kMisleading / static_cast<double>(case_.index.leaves().size());
    for (std::size_t i = 0; i < case_.index.leaves().size(); ++i) {
      const Label& label = *case_.index.leaves()[i];
      if (!HasMessage(label, where)) continue;
      MaySee& sign = reading.signs[absl::StrCat("message of ", label.label())];
      sign.text = absl::StrCat("a message of \"", label.title(), "\"");
      sign.otherwise = std::min(misleading, prospect.otherwise);
      const Witness witness = where == galen::v1::KERNEL_LOG ? Witness::kMachine : Witness::kLog;
      sign.Add({i, prospect.if_cause, AddedBy(prospect.weight, beliefs_.Of(label), witness)});
    }
  }

  bool HasMessage(const Label& label, galen::v1::Where where) const {
    return std::any_of(case_.knowledge.base().signals().begin(),
                       case_.knowledge.base().signals().end(),
                       [&](const knowledge::v1::SignalPattern& signal) {
                         return signal.strength() >= galen::v1::STRONG &&
                                std::find(signal.where().begin(), signal.where().end(), where) !=
                                    signal.where().end() &&
                                std::find(signal.labels().begin(), signal.labels().end(),
                                          label.label()) != signal.labels().end();
                       });
  }

  double CostOf(const Readable& reading) const {
    double cost = 0;
    for (const Check* check : reading.checks) {
      cost = std::max(cost, CostSeconds(case_.knowledge, check->name()));
    }
    return cost;
  }

  static const Check& FirstOf(const Readable& reading) {
    return **std::min_element(reading.checks.begin(), reading.checks.end(),
                              [](const Check* a, const Check* b) { return a->name() < b->name(); });
  }

  // The check that would use most of the reading: its other inputs are asked for as well.
  static const Check& LeadOf(const Readable& reading, const Shares& shares) {
    const Check* lead = &FirstOf(reading);
    double most = 0;
    for (const Check* check : reading.checks) {
      double sees = 0;
      for (const auto& [name, sign] : reading.signs) {
        if (absl::StartsWith(name, absl::StrCat(check->name(), " "))) {
          sees += ProbabilityOf(sign, shares);
        }
      }
      if (sees <= most) continue;
      most = sees;
      lead = check;
    }
    return *lead;
  }

  static std::string IdOf(const Readable& reading) {
    return absl::StrCat(FirstOf(reading).name(), reading.node.empty() ? "" : "@", reading.node);
  }

  Question Make(const Readable& reading, const Shares& shares, double bits) const {
    const Check& first = FirstOf(reading);
    Question made;
    made.set_id(IdOf(reading));
    made.set_check(first.name());
    made.set_node(reading.node);
    made.set_bits(bits);
    made.set_loads(first.intrusive());
    made.set_occupies(first.occupies());
    made.mutable_cost()->set_seconds(static_cast<std::int64_t>(std::ceil(CostOf(reading))));
    AddAnswers(reading, shares, made);
    SetWords(reading, LeadOf(reading, shares), made);
    return made;
  }

  void AddAnswers(const Readable& reading, const Shares& shares, Question& made) const {
    std::vector<std::pair<double, const MaySee*>> likely;
    for (const auto& [name, sign] : reading.signs) {
      likely.emplace_back(ProbabilityOf(sign, shares) * MostRaised(sign, shares), &sign);
    }
    std::stable_sort(likely.begin(), likely.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [worth, sign] : likely) {
      if (made.answers_size() == kMostAnswers) break;
      Question::Answer& answer = *made.add_answers();
      answer.set_text(sign->text);
      AddEffects(shares, AfterSign(*sign, shares), answer);
      if (answer.effects().empty()) made.mutable_answers()->RemoveLast();
    }
    Question::Answer& nothing = *made.add_answers();
    nothing.set_text("nothing of the kind");
    AddEffects(shares, AfterNothing(reading, shares), nothing);
    if (nothing.effects().empty()) made.mutable_answers()->RemoveLast();
  }

  void AddEffects(const Shares& before, const Shares& after, Question::Answer& answer) const {
    std::vector<std::pair<double, std::size_t>> moved;
    for (std::size_t i = 0; i + 1 < before.size(); ++i) {
      const double by = std::abs(after[i] - before[i]);
      if (by >= kWorthTelling) moved.emplace_back(-by, i);
    }
    std::sort(moved.begin(), moved.end());
    for (const auto& [by, leaf] : moved) {
      if (answer.effects_size() == kMostEffects) break;
      Question::Answer::Effect& effect = *answer.add_effects();
      effect.set_label(case_.index.leaves()[leaf]->label());
      effect.set_title(case_.index.leaves()[leaf]->title());
      effect.set_before(before[leaf]);
      effect.set_after(after[leaf]);
    }
  }

  // Writes the question for a person: what to inspect, and its subject.
  void SetWords(const Readable& reading, const Check& lead, Question& made) const {
    const std::string on = On(reading, made.loads());
    std::vector<std::string> seen;
    for (const Question::Answer& answer : made.answers()) {
      if (seen.size() == 2 || answer.text() == "nothing of the kind") continue;
      seen.push_back(answer.text());
    }
    const std::string about =
        seen.empty() ? "" : absl::StrCat(" It would show: ", absl::StrJoin(seen, "; or: "), ".");
    if (made.loads()) {
      made.set_text(
          absl::StrCat("May Galen run \"", FirstOf(reading).title(), "\"", on, "?", about));
      for (const std::string& read : FirstOf(reading).reads()) {
        if (made.commands_size() < kMostCommands) made.add_commands(read);
      }
      return;
    }
    if (reading.what == "logs/*") {
      made.add_commands("the job's log, from all ranks, around the time of the failure");
      made.set_text(absl::StrCat("Please give the job's log, from all ranks.", about));
      return;
    }
    AddCommands(reading, lead, made);
    std::vector<std::string> shown;
    for (const std::string& command : made.commands())
      shown.push_back(absl::StrCat("`", command, "`"));
    made.set_text(absl::StrCat(
        "Please run ", absl::StrJoin(shown, ", "), on,
        shown.size() == 1 ? " and paste all that it prints." : " and paste all that they print.",
        about));
  }

  // As a person types it.
  static std::string Typed(const std::string& read) {
    if (read == "env.yaml") return "env";
    if (absl::StartsWith(read, "dmesg")) return "dmesg -T";
    if (!absl::StartsWith(read, "/")) return read;
    return absl::StrCat(IsPattern(read) ? "grep . " : "cat ", read);
  }

  // Adds the reading itself, and the other inputs of the check that would use most of it.
  void AddCommands(const Readable& reading, const Check& lead, Question& made) const {
    made.add_commands(Typed(reading.what));
    for (const std::string& read : lead.reads()) {
      if (made.commands_size() == kMostCommands) return;
      const bool other_vendor =
          amd_ ? absl::StartsWith(read, "nvidia-smi")
               : absl::StartsWith(read, "amd-smi") || absl::StartsWith(read, "rocm-smi");
      if (read == reading.what || IsPattern(read) || other_vendor ||
          absl::StartsWith(read, "native:") || absl::StartsWith(read, "logs/")) {
        continue;
      }
      made.add_commands(Typed(read));
    }
  }

  const Case& case_;
  const v1::ExploreQuestion& question_;
  const Beliefs beliefs_;
  const std::set<std::string> asked_;
  const bool amd_;
  std::set<std::string> nodes_;
  Shares shares_;
  std::map<std::pair<std::string, std::string>, Readable> readings_;
};

}  // namespace

void AddQuestions(const Case& the_case, const v1::ExploreQuestion& question,
                  v1::ExploreAnswer& answer) {
  Asking asking(the_case, question);
  asking.Choose(/*tests=*/false, *answer.mutable_questions());
  // A test needs live machines; a bundle cannot be tested any more.
  if (question.incident().bundle().empty() && !the_case.evidence.nodes().empty()) {
    asking.Choose(/*tests=*/true, *answer.mutable_tests());
  }
}

}  // namespace galen::reasoner
