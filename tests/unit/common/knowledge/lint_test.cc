#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/knowledge/load.h"
#include "knowledge_files.h"

namespace galen::knowledge {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// A small site without a mistake; each case below plants one.
constexpr absl::string_view kSound = R"(checks:
  - name: site.fan
    title: Fan of the rack
    kind: extract
    cost: 200ms
    needs: [root]
    command: [ipmitool, sensor]
    findings:
      - {name: rpm, type: int, subject: node, pattern: 'FAN1 +([0-9]+)', abnormal: {op: <, value: 500}}
      - {name: stopped, type: bool, subject: node, pattern: 'FAN1 +na'}
labels:
  - label: OTHER
    title: Other
    first_checks: [site.fan]
    children:
      - label: OTHER.RACK
        title: Rack
        first_checks: [site.fan]
        children:
          - label: OTHER.RACK.FAN
            title: Fan stopped
            owner: provider
            severity: high
            prior: low
            secondary_effects: [Xid 79]
            confused_with: [OTHER.RACK.FILTER]
            signals:
              - {pattern: 'fan [0-9]+ stopped', where: kernel_log, strength: strong}
            confirm:
              - {check: site.fan, finding: rpm, op: <, value: 500, observation: too slow}
            refute:
              - {check: site.fan, finding: stopped, op: ==, value: false}
          - label: OTHER.RACK.FILTER
            title: Filter full
            owner: either
            severity: low
            prior: low
            confirm:
              - {check: site.fan, finding: rpm, op: in, value: [600, 700]}
signals:
  - {id: site.hot, pattern: 'rack is hot', where: job_log, labels: [OTHER.RACK.FAN]}
incidents:
  - {id: i-1, title: It was hot, label: OTHER.RACK.FAN}
error_codes:
  - {family: xid, code: 79, name: LOST}
hardware:
  - {model: X1, match: X1, facts: {tdp_w: 700}}
kernel_lines:
  - {id: fan.down, family: power, match: 'fan (?P<subject>x1) is (?P<code>down|slow)', platform: true, program_codes: [slow], settle_s: 9}
)";

struct Mistake {
  std::string from;  // stands exactly once in kSound
  std::string to;
  std::string problem;  // the start of the line that reports it
};

std::string Plant(const Mistake& mistake) {
  std::string yaml(kSound);
  const std::size_t at = yaml.find(mistake.from);
  EXPECT_NE(at, std::string::npos) << mistake.from;
  EXPECT_EQ(yaml.find(mistake.from, at + 1), std::string::npos) << mistake.from << " is not unique";
  if (at != std::string::npos) yaml.replace(at, mistake.from.size(), mistake.to);
  return yaml;
}

TEST(Lint, FindsNothingInASoundSite) { EXPECT_THAT(Lines(ProblemsOf(kSound)), IsEmpty()); }

TEST(Lint, ReportsEveryPlantedMistakeWithFileLineAndRemedy) {
  const std::vector<Mistake> mistakes = {
      // The tree.
      {"- label: OTHER.RACK.FILTER", "- label: OTHER.RACK.FAN",
       "site.yaml:33: error: label OTHER.RACK.FAN is defined twice; remove one or rename it; the "
       "first is in site.yaml:20"},
      {"- label: OTHER.RACK.FILTER", "- label: GPU.RACK.FILTER",
       "site.yaml:33: error: label GPU.RACK.FILTER does not start with its parent's name "
       "OTHER.RACK; start it with OTHER.RACK."},
      {"signals:\n  - {id", "  - {label: NET.LINK.DOWN, title: T}\nsignals:\n  - {id",
       "site.yaml:40: error: label NET.LINK.DOWN has the unknown parent NET.LINK; add the parent"},
      {"signals:\n  - {id",
       "  - {label: A.B, parent: A.C, title: T}\n  - {label: A.C, parent: A.B, title: T}\n"
       "signals:\n  - {id",
       "site.yaml:40: error: label A.B is its own ancestor: A.B -> A.C -> A.B; correct one"},
      {"signals:\n  - {id", "  - {label: OTHER.rack, title: T}\nsignals:\n  - {id",
       "site.yaml:40: error: label OTHER.rack is not a label name; write MAIN.SUB.DETAIL"},
      {"signals:\n  - {id", "  - {label: OTHER.X.Y, parent: OTHER, title: T}\nsignals:\n  - {id",
       "site.yaml:40: error: label OTHER.X.Y skips a level below its parent OTHER"},
      {"title: Filter full", "title: ''",
       "site.yaml:33: error: label OTHER.RACK.FILTER has no title"},
      // Fields of labels.
      {"owner: either", "owner: nobody",
       "site.yaml:33: error: label OTHER.RACK.FILTER has the unknown owner \"nobody\"; use one of: "
       "customer, provider, either"},
      {"severity: high", "severity: hihg",
       "site.yaml:20: error: label OTHER.RACK.FAN has the unknown severity \"hihg\"; did you mean "
       "\"high\"?"},
      {"            prior: low\n            secondary", "            secondary",
       "site.yaml:20: error: label OTHER.RACK.FAN has no prior; use one of: low, medium, high"},
      {"confused_with: [OTHER.RACK.FILTER]", "confused_with: [OTHER.RACK.FILTRE]",
       "site.yaml:20: error: label OTHER.RACK.FAN names the unknown label OTHER.RACK.FILTRE in "
       "confused_with; did you mean \"OTHER.RACK.FILTER\"?"},
      {"confused_with: [OTHER.RACK.FILTER]", "confused_with: [a bad sensor]",
       "site.yaml:20: warning: label OTHER.RACK.FAN names the unknown label a bad sensor"},
      {"secondary_effects: [Xid 79]", "secondary_effects: [GPU.PCIE.LOST]",
       "site.yaml:20: warning: label OTHER.RACK.FAN names the unknown label GPU.PCIE.LOST in "
       "secondary_effects"},
      {"secondary_effects: [Xid 79]", "secondary_effects: [OTHER.RACK.FAN]",
       "site.yaml:20: error: label OTHER.RACK.FAN names itself in secondary_effects"},
      {"title: Rack\n        first_checks: [site.fan]",
       "title: Rack\n        first_checks: [site.fun]",
       "site.yaml:16: error: label OTHER.RACK names the unknown check site.fun in first_checks; "
       "did "
       "you mean \"site.fan\"?"},
      {"confirm:\n              - {check: site.fan, finding: rpm, op: in, value: [600, 700]}", "",
       "site.yaml:33: error: label OTHER.RACK.FILTER is a leaf without a rule that confirms it"},
      // Rules.
      {"refute:\n              - {check: site.fan", "refute:\n              - {check: site.fam",
       "site.yaml:32: error: rule of OTHER.RACK.FAN names the unknown check site.fam; did you mean "
       "\"site.fan\"?"},
      {"finding: stopped", "finding: stoped",
       "site.yaml:32: error: rule of OTHER.RACK.FAN is over the finding stoped, which check "
       "site.fan "
       "does not emit; did you mean \"stopped\"?"},
      {"value: [600, 700]", "value: []",
       "site.yaml:39: error: rule of OTHER.RACK.FILTER over site.fan rpm compares with an empty "
       "list"},
      {"op: in, value: [600, 700]", "op: '='",
       "site.yaml:39: error: \"op\" is \"=\"; did you mean \"==\"?"},
      {"value: 500, observation", "observation",
       "site.yaml:30: error: rule of OTHER.RACK.FAN over site.fan rpm has no value"},
      {"op: ==, value: false", "op: ==, value: 3",
       "site.yaml:32: error: rule of OTHER.RACK.FAN over site.fan stopped compares a finding of "
       "type "
       "bool with \"3\""},
      {"op: ==, value: false", "op: '>', value: false",
       "site.yaml:32: error: rule of OTHER.RACK.FAN over site.fan stopped orders a finding of type "
       "bool"},
      {"value: [600, 700]", "value: [600, many]",
       "site.yaml:39: error: rule of OTHER.RACK.FILTER over site.fan rpm compares a finding of "
       "type "
       "int with \"many\""},
      {"refute:\n              - {check: site.fan, finding: stopped, op: ==, value: false}",
       "refute:\n              - {check: site.fan, finding: rpm, op: <, value: 500}",
       "site.yaml:32: error: rule of OTHER.RACK.FAN over site.fan rpm confirms and refutes with "
       "the "
       "same condition; remove one; the first is in line 30"},
      {"value: [600, 700]}",
       "value: [600, 700]}\n              - {check: site.fan, finding: rpm, "
       "op: in, value: [600, 700]}",
       "site.yaml:40: error: rule of OTHER.RACK.FILTER over site.fan rpm is defined twice"},
      // Days.
      {"title: It was hot, label", "title: It was hot, date: 2026-02-30, label",
       "site.yaml:43: error: \"date\" is \"2026-02-30\", which is not a date; write it as "
       "YYYY-MM-DD"},
      {"title: Filter full", "title: Filter full\n            added: yesterday",
       "site.yaml:35: error: \"added\" is \"yesterday\", which is not a date"},
      // Checks.
      {"    cost: 200ms\n", "", "site.yaml:2: error: check site.fan has no cost"},
      {"cost: 200ms", "cost: -1s", "site.yaml:2: error: check site.fan has a negative cost"},
      {"cost: 200ms", "cost: 200", "site.yaml:5: error: \"cost\" is \"200\"; write a duration"},
      {"needs: [root]", "needs: [rooot]",
       "site.yaml:2: error: check site.fan has the unknown need \"rooot\"; did you mean \"root\"?"},
      {"kind: extract", "kind: exctract",
       "site.yaml:4: error: \"kind\" is \"exctract\"; did you mean \"extract\"?"},
      {"    command: [ipmitool, sensor]\n", "",
       "site.yaml:2: error: check site.fan reads nothing; add `command: [program, argument]` or"},
      {"command: [ipmitool, sensor]", "command: [a]\n    file: /b",
       "site.yaml:2: error: check site.fan names both a command and a file"},
      {"kind: extract", "kind: native",
       "site.yaml:2: error: check site.fan names a command or file to read"},
      {"'FAN1 +([0-9]+)'", "'FAN([0-9]) +([0-9]+)'",
       "site.yaml:2: error: finding rpm of check site.fan has a pattern with 2 groups; use exactly "
       "one"},
      {"'FAN1 +([0-9]+)'", "'FAN1 +([0-9]+'",
       "site.yaml:2: error: finding rpm of check site.fan has a pattern that does not compile"},
      {"pattern: 'FAN1 +([0-9]+)', ", "",
       "site.yaml:2: error: finding rpm of check site.fan has no pattern"},
      {"rpm, type: int, subject: node", "rpm, type: int",
       "site.yaml:2: error: finding rpm of check site.fan has no subject"},
      {"rpm, type: int", "rpm, type: number",
       "site.yaml:2: error: finding rpm of check site.fan has the unknown type \"number\""},
      {"name: stopped, type", "name: rpm, type",
       "site.yaml:2: error: finding rpm of check site.fan is defined twice"},
      {"- name: site.fan", "- name: Site fan",
       "site.yaml:2: error: check Site fan is not a check name"},
      // Signals and the rest.
      {"pattern: 'rack is hot'", "pattern: 'rack (?=is) hot'",
       "site.yaml:41: error: signal site.hot has a pattern that does not compile: invalid perl "
       "operator: (?="},
      {"pattern: 'rack is hot'", "pattern: '(rack is hot)*'",
       "site.yaml:41: error: signal site.hot has a pattern that matches every line"},
      {"where: job_log, labels: [OTHER.RACK.FAN]", "where: job_log, labels: [OTHER.RACK.FANS]",
       "site.yaml:41: error: signal site.hot names the unknown label OTHER.RACK.FANS; did you mean "
       "\"OTHER.RACK.FAN\"?"},
      {"where: job_log, labels", "where: joblog, labels",
       "site.yaml:41: error: \"where\" is \"joblog\"; did you mean \"job_log\"?"},
      {"where: job_log, labels", "labels",
       "site.yaml:41: error: signal site.hot does not say where it is read"},
      {"id: site.hot", "id: site/hot", "site.yaml:41: error: signal site/hot has \"@\", \"/\""},
      {"title: It was hot, label: OTHER.RACK.FAN", "title: It was hot, label: OTHER.RACK.FAM",
       "site.yaml:43: error: past incident i-1 names the unknown label OTHER.RACK.FAM; did you "
       "mean"},
      {"title: It was hot, label: OTHER.RACK.FAN", "title: It was hot, label: OTHER.RACK",
       "site.yaml:43: error: past incident i-1 names the inner label OTHER.RACK"},
      {"  - {family: xid, code: 79, name: LOST}",
       "  - {family: xid, code: 79, name: LOST}\n  - {family: xid, code: 79, name: OFF}",
       "site.yaml:46: error: error code xid 79 is defined twice"},
      {"code: 79", "code: seventy",
       "site.yaml:45: error: \"code\" is \"seventy\"; write the number"},
      {"match: X1,", "match: 'X1(',",
       "site.yaml:47: error: hardware model X1 has a pattern that does not compile"},
      {"tdp_w: 700", "tdp_w: 700 W",
       "site.yaml:47: error: \"tdp_w\" is \"700 W\", which is not a number"},
      {"family: power", "family: powr",
       "site.yaml:49: error: \"family\" is \"powr\"; did you mean \"power\"?"},
      {"is (?P<code>down|slow)", "is (down|slow)",
       "site.yaml:49: error: kernel line fan.down has no code; add `code:`"},
      {"(?P<subject>x1)", "(?P<device>x1)",
       "site.yaml:49: error: kernel line fan.down has a group \"device\"; name a group pci"},
      {"match: 'fan (", "match: 'fan ((",
       "site.yaml:49: error: kernel line fan.down has a pattern that does not compile"},
      {"platform: true, program", "platform: false, program",
       "site.yaml:49: error: kernel line fan.down lists program_codes without platform: true"},
      {"settle_s: 9}", "settle_s: -9}",
       "site.yaml:49: error: kernel line fan.down has settle_s -9"},
      // Settings without a meaning.
      {"title: Filter full", "title: Filter full\n            aliases: [OTHER.RACK.FAN]",
       "site.yaml:33: error: label OTHER.RACK.FILTER has the alias OTHER.RACK.FAN, which is a "
       "label"},
      {"title: Filter full", "title: Filter full\n            first_checks: [site.fan]",
       "site.yaml:33: error: label OTHER.RACK.FILTER is a leaf, and its first_checks are never "
       "run"},
      {"op: ==, value: false}", "op: ==, value: false, context: true}",
       "site.yaml:32: error: rule of OTHER.RACK.FAN over site.fan stopped refutes and is marked as "
       "context"},
      {"confused_with: [OTHER.RACK.FILTER]",
       "confused_with: [OTHER.RACK.FILTER, OTHER.RACK.FILTER]",
       "site.yaml:20: error: label OTHER.RACK.FAN names OTHER.RACK.FILTER twice in confused_with"},
      {"needs: [root]", "intrusive: true",
       "site.yaml:20: warning: label OTHER.RACK.FAN cannot be confirmed: all checks of its rules "
       "are intrusive"},
      {"needs: [root]",
       "parameters: [{name: n, type: int, description: d, default: 7, min: 1, max: 5}]",
       "site.yaml:2: error: parameter n of check site.fan has the default \"7\", which lies "
       "outside "
       "its bounds"},
      {"needs: [root]",
       "parameters: [{name: n, type: text, description: d, default: x, choices: [a, b]}]",
       "site.yaml:2: error: parameter n of check site.fan has the default \"x\", which is none of "
       "its choices; use one of: a, b"},
      {"needs: [root]", "time_limit: 100ms",
       "site.yaml:2: error: check site.fan may take less than it costs"},
      {"where: job_log, labels: [OTHER.RACK.FAN]}",
       "where: job_log, labels: [OTHER.RACK.FAN]}\n"
       "  - {id: site.hot2, pattern: 'rack is hot', where: job_log}",
       "site.yaml:42: error: signal site.hot2 has the pattern of signal site.hot; remove one"},
      // Typos in keys.
      {"title: Fan of the rack", "titel: Fan of the rack",
       "site.yaml:3: error: unknown key \"titel\" in a check; did you mean \"title\"?"},
      {"observation: too slow", "observatoin: too slow",
       "site.yaml:30: error: unknown key \"observatoin\" in a rule; did you mean \"observation\"?"},
      {"incidents:", "incident:",
       "site.yaml:42: error: unknown key \"incident\" in a knowledge file; did you mean "
       "\"incidents\"?"},
      {"id: i-1, ", "", "site.yaml:43: error: a past incident without \"id\"; add `id: ...`"},
  };
  for (const Mistake& mistake : mistakes) {
    EXPECT_THAT(Lines(ProblemsOf(Plant(mistake))), Contains(StartsWith(mistake.problem)))
        << mistake.from << " -> " << mistake.to;
  }
}

TEST(Lint, ABaseRateSaysHowManyIncidentsWereAskedAndNoFewerThanShowedIt) {
  const auto problem = [](const std::string& rate) {
    const auto lines = Lines(ProblemsOf(std::string(kSound) + "base_rates:\n  - " + rate + "\n"));
    return lines.empty() ? std::string() : lines[0];
  };
  EXPECT_EQ(problem("{of: 'site.fan rpm == 600', seen: 2, asked: 9}"), "");
  EXPECT_THAT(problem("{of: x, seen: 2}"), HasSubstr("\"asked\" is missing"));
  EXPECT_THAT(problem("{of: x, seen: -1, asked: 9}"), HasSubstr("\"seen\" is -1"));
  EXPECT_THAT(problem("{of: x, seen: 9, asked: 2}"), HasSubstr("was seen 9 times in 2 incidents"));
}

TEST(Lint, ComplaintsAreOfALeafThatThereIs) {
  const auto problem = [](const std::string& complaints) {
    const auto lines =
        Lines(ProblemsOf(absl::StrCat(kSound, "complaints:\n  - ", complaints, "\n")));
    return lines.empty() ? std::string() : lines[0];
  };
  EXPECT_EQ(problem("{label: OTHER.RACK.FAN, told: [it hums]}"), "");
  EXPECT_EQ(problem("{label: NOTHING_WRONG, told: [is this normal]}"), "");
  EXPECT_THAT(problem("{label: OTHER.RACK.FAN}"), HasSubstr("is empty"));
  EXPECT_THAT(problem("{label: OTHER.RACK, told: [it hums]}"), HasSubstr("inner label"));
  EXPECT_THAT(problem("{label: OTHER.RACK.GONE, told: [it hums]}"), HasSubstr("OTHER.RACK.GONE"));
  EXPECT_THAT(problem("{told: [it hums]}"), HasSubstr("without \"label\""));
}

TEST(Lint, ACheckOfEarlierFailuresSaysWhichItCounts) {
  const auto problems = [](const std::string& data) {
    return Lines(ProblemsOf(absl::StrCat(
        "checks:\n  - name: site.earlier\n    title: T\n    kind: history\n    cost: 1s\n", data,
        "    findings: [{name: failures_same_node, type: int, subject: node}]\n")));
  };
  const std::string wrong =
      "site.yaml:2: error: check site.earlier does not say which failures it counts";
  EXPECT_THAT(problems(""), Contains(StartsWith(wrong)));
  EXPECT_THAT(problems("    data: [{name: days, number: 1}, {name: hours_apart, number: 24}]\n"),
              Contains(StartsWith(wrong)));
  EXPECT_THAT(problems("    data: [{name: days, number: 7}, {name: hours_apart, number: 0}]\n"),
              Not(Contains(StartsWith(wrong))));
}

TEST(Lint, ATrialSetsAVariableAndBecomesAFindingOfItsCheck) {
  const auto problems = [](const std::string& data) {
    return Lines(ProblemsOf(absl::StrCat(
        "checks:\n  - name: site.run\n    title: T\n    kind: exec\n    cost: 1s\n",
        "    exec: {argv: [run], time: 1s, output: json_lines}\n", data,
        "    findings: [{name: passes, type: bool, subject: node}, {name: n, type: int, subject: "
        "node}]\n")));
  };
  const std::string at = "site.yaml:2: error: trial ";
  EXPECT_THAT(problems("    data: [{name: passes, texts: [A=1, B=]}]\n"),
              Not(Contains(StartsWith(at))));
  EXPECT_THAT(
      problems("    data: [{name: passed, texts: [A=1]}]\n"),
      Contains(StartsWith(at + "passed of check site.run is not a bool finding of the check")));
  EXPECT_THAT(problems("    data: [{name: n, texts: [A=1]}]\n"),
              Contains(StartsWith(at + "n of check site.run is not a bool finding of the check")));
  EXPECT_THAT(problems("    data: [{name: passes, texts: [rm]}]\n"),
              Contains(StartsWith(at + "passes of check site.run sets \"rm\"")));
  EXPECT_THAT(problems("    data: [{name: passes, number: 1}]\n"),
              Contains(StartsWith(at + "passes of check site.run sets nothing")));
}

TEST(Lint, SaysWhatToDoAboutEveryProblem) {
  const std::string text(kSound);
  for (const char* const from : {"prior: low\n            sec", "kind: extract", "cost: 200ms"}) {
    std::string yaml = text;
    yaml.replace(yaml.find(from), 5, "xxxx:");
    for (const Problem& problem : ProblemsOf(yaml)) {
      EXPECT_FALSE(problem.remedy.empty()) << ToString(problem);
    }
  }
}

TEST(Lint, ReportsACycleOnceHoweverManyHangOnIt) {
  const std::vector<std::string> lines = Lines(ProblemsOf(R"(labels:
  - {label: A.A, parent: A.B, title: T}
  - {label: A.B, parent: A.C, title: T}
  - {label: A.C, parent: A.A, title: T}
  - {label: A.A.D, title: T}
)"));
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) {
                            return line.find("its own ancestor") != std::string::npos;
                          }),
            1);
}

TEST(Lint, OrdersProblemsByFileAndLine) {
  KnowledgeFiles files;
  files.Write("b.yaml", "labels: [{label: X.Y, title: T}]\n")
      .Write("a.yaml", "labels:\n  - {label: V.W, title: T}\n  - {label: T.U, title: T}\n");
  std::vector<Problem> ignored;
  const auto base = Parse({files.path()}, ignored);
  ASSERT_TRUE(base.ok());
  std::vector<std::string> places;
  for (const Problem& problem : Lint(*base)) {
    const std::string place = absl::StrCat(problem.file, ":", problem.line);
    if (places.empty() || places.back() != place) places.push_back(place);
  }
  EXPECT_THAT(places, ElementsAre("a.yaml:2", "a.yaml:3", "b.yaml:1"));
}

TEST(Lint, AcceptsAReferenceToAnotherFindingOfTheCheck) {
  std::string yaml(kSound);
  yaml.replace(yaml.find("value: 500, observation"), 10, "value: expected");
  EXPECT_THAT(Lines(ProblemsOf(yaml)), Not(Contains(HasSubstr("compares"))));
}

}  // namespace
}  // namespace galen::knowledge
