#include "services/watch/early_warning/detection/rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/yaml/knowledge_file.h"
#include "common/yaml/yaml.h"

namespace galen::watch::detection {
namespace {

constexpr std::size_t kMostRules = 256;
constexpr std::size_t kMostGiven = 4;
constexpr std::size_t kMostName = 128;
constexpr std::size_t kMostSilences = 1000;
constexpr int kMostWarmUp = 24 * 60;
constexpr double kMostRaised = 10;

struct OfName {
  Of of;
  absl::string_view name;
};
constexpr std::array<OfName, 3> kOfs = {
    {{Of::kGpu, "gpu"}, {Of::kNode, "node"}, {Of::kJob, "job"}}};
struct TestName {
  Test test;
  absl::string_view name;
};
constexpr std::array<TestName, 5> kTests = {{{Test::kPeers, "peers"},
                                             {Test::kOwn, "own"},
                                             {Test::kBound, "bound"},
                                             {Test::kGrowth, "growth"},
                                             {Test::kLeak, "leak"}}};

absl::StatusOr<double> NumberOf(const Yaml& value, absl::string_view file, absl::string_view field,
                                double least, double most) {
  GALEN_ASSIGN_OR_RETURN(const std::string text, YamlText(value, file, field));
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !std::isfinite(number) || number < least ||
      number > most) {
    return YamlError(value, file,
                     absl::StrCat(field, ": write a number from ", least, " to ", most));
  }
  return number;
}

absl::Status ReadText(const Yaml& entry, absl::string_view file, absl::string_view field,
                      bool needed, std::string& into) {
  const Yaml* value = entry.Find(field);
  if (value == nullptr) {
    return needed ? YamlError(entry, file, absl::StrCat("needs ", field)) : absl::OkStatus();
  }
  GALEN_ASSIGN_OR_RETURN(into, YamlText(*value, file, field));
  if (into.empty() || (into.size() > kMostName && field != "source" && field != "title")) {
    return YamlError(*value, file, absl::StrCat(field, ": must have 1 to 128 bytes"));
  }
  return absl::OkStatus();
}

absl::Status ReadNumber(const Yaml& entry, absl::string_view file, absl::string_view field,
                        double most, float& into) {
  const Yaml* value = entry.Find(field);
  if (value == nullptr) return absl::OkStatus();
  GALEN_ASSIGN_OR_RETURN(const double number, NumberOf(*value, file, field, 0, most));
  into = static_cast<float>(number);
  return absl::OkStatus();
}

absl::Status ReadKinds(const Yaml& entry, absl::string_view file, Rule& rule) {
  std::string of;
  GALEN_RETURN_IF_ERROR(ReadText(entry, file, "of", true, of));
  const auto known_of =
      std::find_if(kOfs.begin(), kOfs.end(), [&](const OfName& each) { return each.name == of; });
  if (known_of == kOfs.end()) {
    return YamlError(*entry.Find("of"), file, "of: is gpu, node or job");
  }
  rule.of = known_of->of;
  std::string test;
  GALEN_RETURN_IF_ERROR(ReadText(entry, file, "test", true, test));
  const auto known_test = std::find_if(kTests.begin(), kTests.end(),
                                       [&](const TestName& each) { return each.name == test; });
  if (known_test == kTests.end()) {
    return YamlError(*entry.Find("test"), file, "test: is peers, own, bound, growth or leak");
  }
  rule.test = known_test->test;
  std::string bad = rule.test == Test::kGrowth ? "high" : "low";
  GALEN_RETURN_IF_ERROR(ReadText(entry, file, "bad", false, bad));
  if (bad != "low" && bad != "high") {
    return YamlError(*entry.Find("bad"), file, "bad: is low or high");
  }
  rule.low = bad == "low";
  return absl::OkStatus();
}

absl::Status ReadGiven(const Yaml& entry, absl::string_view file, Rule& rule) {
  const Yaml* given = entry.Find("given");
  if (given == nullptr) return absl::OkStatus();
  if (given->kind != Yaml::Kind::kMap || given->fields.size() > kMostGiven) {
    return YamlError(*given, file, "given: write up to 4 quantities with the least of each");
  }
  for (const Yaml::Field& field : given->fields) {
    GALEN_ASSIGN_OR_RETURN(const double least,
                           NumberOf(field.value, file, field.name, -1e18, 1e18));
    rule.given.push_back({field.name, static_cast<float>(least)});
  }
  return absl::OkStatus();
}

absl::StatusOr<Rule> ReadRule(const Yaml& entry, absl::string_view file) {
  GALEN_RETURN_IF_ERROR(YamlFields(
      entry, file,
      {"name", "title", "of", "measure", "test", "bad", "bound", "given", "slack", "noises",
       "habit", "cap", "beyond_peers", "limit", "warm_up", "points_to", "source"}));
  Rule rule;
  GALEN_RETURN_IF_ERROR(ReadText(entry, file, "name", true, rule.name));
  GALEN_RETURN_IF_ERROR(ReadText(entry, file, "title", true, rule.title));
  GALEN_RETURN_IF_ERROR(ReadText(entry, file, "measure", true, rule.measure));
  GALEN_RETURN_IF_ERROR(ReadText(entry, file, "source", true, rule.source));
  GALEN_RETURN_IF_ERROR(ReadKinds(entry, file, rule));
  const bool bounded = rule.test == Test::kBound || rule.test == Test::kLeak;
  GALEN_RETURN_IF_ERROR(ReadText(entry, file, "bound", bounded, rule.bound));
  if (!bounded && !rule.bound.empty()) {
    return YamlError(*entry.Find("bound"), file, "bound: is for tests bound and leak");
  }
  GALEN_RETURN_IF_ERROR(ReadGiven(entry, file, rule));
  GALEN_RETURN_IF_ERROR(ReadNumber(entry, file, "slack", 1e9, rule.slack));
  GALEN_RETURN_IF_ERROR(ReadNumber(entry, file, "noises", 100, rule.noises));
  GALEN_RETURN_IF_ERROR(ReadNumber(entry, file, "habit", 1e9, rule.habit));
  GALEN_RETURN_IF_ERROR(ReadNumber(entry, file, "cap", 1e9, rule.cap));
  GALEN_RETURN_IF_ERROR(ReadNumber(entry, file, "limit", 1e9, rule.limit));
  if (rule.limit <= 0 || (rule.slack <= 0 && rule.test != Test::kLeak)) {
    return YamlError(entry, file, "needs a limit and a slack of more than 0");
  }
  if (rule.test == Test::kGrowth && rule.cap <= rule.slack) {
    return YamlError(entry, file, "needs a cap of more than the slack");
  }
  if (const Yaml* value = entry.Find("beyond_peers"); value != nullptr) {
    GALEN_ASSIGN_OR_RETURN(rule.beyond_peers, YamlBool(*value, file, "beyond_peers"));
  }
  if (const Yaml* value = entry.Find("warm_up"); value != nullptr) {
    GALEN_ASSIGN_OR_RETURN(const double minutes, NumberOf(*value, file, "warm_up", 0, kMostWarmUp));
    rule.warm_up = static_cast<int>(minutes);
  }
  if (const Yaml* value = entry.Find("points_to"); value != nullptr) {
    GALEN_ASSIGN_OR_RETURN(rule.points_to, YamlTexts(*value, file, "points_to"));
  }
  return rule;
}

absl::StatusOr<absl::Time> TimeOf(const Yaml& entry, absl::string_view file,
                                  absl::string_view field) {
  std::string text;
  GALEN_RETURN_IF_ERROR(ReadText(entry, file, field, true, text));
  absl::Time time;
  std::string why;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &why)) {
    return YamlError(*entry.Find(field), file,
                     absl::StrCat(field, ": ", why, "; write a time such as 2026-02-14T08:00:00Z"));
  }
  return time;
}

absl::StatusOr<Silence> ReadSilence(const Yaml& entry, absl::string_view file) {
  GALEN_RETURN_IF_ERROR(YamlFields(entry, file, {"from", "until", "node", "job", "reason"}));
  Silence silence;
  GALEN_ASSIGN_OR_RETURN(silence.from, TimeOf(entry, file, "from"));
  GALEN_ASSIGN_OR_RETURN(silence.until, TimeOf(entry, file, "until"));
  if (silence.until <= silence.from) {
    return YamlError(entry, file, "until: must be later than from");
  }
  GALEN_RETURN_IF_ERROR(ReadText(entry, file, "node", false, silence.node));
  GALEN_RETURN_IF_ERROR(ReadText(entry, file, "job", false, silence.job));
  GALEN_RETURN_IF_ERROR(ReadText(entry, file, "reason", true, silence.reason));
  return silence;
}

absl::Status ReadPolicy(const Yaml& entry, absl::string_view file, PolicyNumbers& policy) {
  GALEN_RETURN_IF_ERROR(YamlFields(entry, file,
                                   {"clear", "gather_minutes", "together_minutes", "rearm_hours",
                                    "budget_per_week", "raise", "most_raised", "forgive_days"}));
  const auto number = [&](absl::string_view field, double least, double most,
                          double now) -> absl::StatusOr<double> {
    const Yaml* value = entry.Find(field);
    if (value == nullptr) return now;
    return NumberOf(*value, file, field, least, most);
  };
  GALEN_ASSIGN_OR_RETURN(policy.clear, number("clear", 0.05, 0.95, policy.clear));
  GALEN_ASSIGN_OR_RETURN(const double gather,
                         number("gather_minutes", 0, 60, absl::ToDoubleMinutes(policy.gather)));
  GALEN_ASSIGN_OR_RETURN(const double together, number("together_minutes", 0, 1440,
                                                       absl::ToDoubleMinutes(policy.together)));
  GALEN_ASSIGN_OR_RETURN(const double rearm,
                         number("rearm_hours", 0.1, 720, absl::ToDoubleHours(policy.rearm)));
  GALEN_ASSIGN_OR_RETURN(policy.budget_per_week,
                         number("budget_per_week", 0.01, 1000, policy.budget_per_week));
  GALEN_ASSIGN_OR_RETURN(policy.raise, number("raise", 1, 10, policy.raise));
  GALEN_ASSIGN_OR_RETURN(policy.most_raised,
                         number("most_raised", 1, kMostRaised, policy.most_raised));
  GALEN_ASSIGN_OR_RETURN(const double forgive, number("forgive_days", 0.1, 3650,
                                                      absl::ToDoubleHours(policy.forgive) / 24));
  policy.gather = absl::Minutes(gather);
  policy.together = absl::Minutes(together);
  policy.rearm = absl::Hours(rearm);
  policy.forgive = absl::Hours(24 * forgive);
  return absl::OkStatus();
}

}  // namespace

absl::string_view ToString(Of of) {
  for (const OfName& each : kOfs) {
    if (each.of == of) return each.name;
  }
  return "";
}

absl::string_view ToString(Test test) {
  for (const TestName& each : kTests) {
    if (each.test == test) return each.name;
  }
  return "";
}

bool Silence::Covers(absl::string_view of_node, absl::string_view of_job, absl::Time at) const {
  return at >= from && at < until && (node.empty() || node == of_node) &&
         (job.empty() || job == of_job);
}

const Rule* RuleSet::Find(absl::string_view name) const {
  for (const Rule& rule : rules) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

absl::Status AddRules(absl::string_view text, absl::string_view file, RuleSet& rule_set) {
  GALEN_ASSIGN_OR_RETURN(const Yaml document, ParseYaml(text, file));
  if (document.kind == Yaml::Kind::kNull) return absl::OkStatus();
  GALEN_RETURN_IF_ERROR(YamlFields(
      document, file, {"rules", "never_constant", "frozen_minutes", "policy", "silences"}));
  std::vector<std::string> here;
  GALEN_ASSIGN_OR_RETURN(const absl::Span<const Yaml> rules, YamlItems(document, file, "rules"));
  for (const Yaml& entry : rules) {
    GALEN_ASSIGN_OR_RETURN(Rule rule, ReadRule(entry, file));
    if (std::find(here.begin(), here.end(), rule.name) != here.end()) {
      return YamlError(entry, file, absl::StrCat("rule ", rule.name, ": twice"));
    }
    here.push_back(rule.name);
    const auto same = std::find_if(rule_set.rules.begin(), rule_set.rules.end(),
                                   [&](const Rule& other) { return other.name == rule.name; });
    if (same != rule_set.rules.end()) {
      *same = std::move(rule);
    } else {
      rule_set.rules.push_back(std::move(rule));
    }
  }
  if (const Yaml* names = document.Find("never_constant"); names != nullptr) {
    GALEN_ASSIGN_OR_RETURN(rule_set.never_constant, YamlTexts(*names, file, "never_constant"));
  }
  if (const Yaml* minutes = document.Find("frozen_minutes"); minutes != nullptr) {
    GALEN_ASSIGN_OR_RETURN(const double number, NumberOf(*minutes, file, "frozen_minutes", 2, 120));
    rule_set.frozen_minutes = static_cast<int>(number);
  }
  if (const Yaml* policy = document.Find("policy"); policy != nullptr) {
    GALEN_RETURN_IF_ERROR(ReadPolicy(*policy, file, rule_set.policy));
  }
  GALEN_ASSIGN_OR_RETURN(const absl::Span<const Yaml> silences,
                         YamlItems(document, file, "silences"));
  for (const Yaml& entry : silences) {
    GALEN_ASSIGN_OR_RETURN(Silence silence, ReadSilence(entry, file));
    rule_set.silences.push_back(std::move(silence));
    if (rule_set.silences.size() > kMostSilences) {
      return YamlError(entry, file, "silences: more than 1000; take out those that are over");
    }
  }
  if (rule_set.rules.size() > kMostRules) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": more than ", kMostRules, " rules of early warning; take some out"));
  }
  return absl::OkStatus();
}

absl::StatusOr<RuleSet> LoadRules(const std::vector<std::string>& directories) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<KnowledgeFile> files,
                         KnowledgeFolder(directories, "warning"));
  RuleSet rule_set;
  for (const KnowledgeFile& file : files) {
    GALEN_RETURN_IF_ERROR(AddRules(file.text, file.path, rule_set));
  }
  return rule_set;
}

}  // namespace galen::watch::detection
