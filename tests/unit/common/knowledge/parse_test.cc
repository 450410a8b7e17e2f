#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/knowledge/load.h"
#include "knowledge_files.h"
#include "tests/testing/status_matchers.h"

namespace galen::knowledge {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::KnowledgeBase MustParse(const std::vector<std::string>& directories) {
  std::vector<Problem> problems;
  const auto base = Parse(directories, problems);
  EXPECT_THAT(base, IsOk());
  EXPECT_THAT(Lines(problems), IsEmpty());
  return base.ok() ? *base : v1::KnowledgeBase();
}

v1::KnowledgeBase MustParse(absl::string_view yaml) {
  KnowledgeFiles files;
  files.Write("a.yaml", yaml);
  return MustParse(std::vector<std::string>{files.path()});
}

TEST(Parse, ReadsANestedTreeWithItsLines) {
  const v1::KnowledgeBase base = MustParse(R"(labels:
  - label: GPU
    title: GPU
    first_checks: [gpu.ecc]
    children:
      - label: GPU.MEMORY
        title: Memory
        children:
          - label: GPU.MEMORY.ECC
            title: ECC
            symptoms: one rank dies
            confirm:
              - {check: gpu.ecc, finding: count, op: '>', value: 0, observation: it counts}
              - {check: gpu.log, finding: xid, op: in, value: [48, 94]}
)");
  ASSERT_EQ(base.labels_size(), 3);
  EXPECT_THAT(base.labels(0).children(), ElementsAre("GPU.MEMORY"));
  EXPECT_EQ(base.labels(1).parent(), "GPU");
  const v1::Label& leaf = base.labels(2);
  EXPECT_EQ(leaf.parent(), "GPU.MEMORY");
  EXPECT_THAT(leaf.symptoms(), ElementsAre("one rank dies"));
  EXPECT_EQ(leaf.source().file(), "a.yaml");
  EXPECT_EQ(leaf.source().line(), 9);
  EXPECT_EQ(leaf.confirm(0).op(), v1::Rule::GT);
  EXPECT_EQ(leaf.confirm(0).source().line(), 13);
  EXPECT_EQ(leaf.confirm(1).value(), "48,94");
}

TEST(Parse, ReadsAFlatListByNameOrByParent) {
  const v1::KnowledgeBase base = MustParse(R"(labels:
  - label: NET.LINK
  - {label: NET.LINK.DOWN, parent: NET.LINK}
  - label: NET
)");
  EXPECT_EQ(base.labels(0).parent(), "NET");
  EXPECT_THAT(base.labels(0).children(), ElementsAre("NET.LINK.DOWN"));
  EXPECT_THAT(base.labels(2).children(), ElementsAre("NET.LINK"));
}

TEST(Parse, MergesThePatternThatStandsAtSeveralLeaves) {
  const v1::KnowledgeBase base = MustParse(R"(signals:
  - {id: own.timeout, pattern: timed out, where: job_log, role: secondary, strength: weak}
labels:
  - label: A.B.ONE
    title: One
    signals:
      - {pattern: link down, where: job_log, strength: weak}
      - {pattern: timed out, where: kernel_log, strength: strong}
  - label: A.B.TWO
    title: Two
    signals:
      - {pattern: link down, where: [tool_output, job_log], strength: decisive}
)");
  ASSERT_EQ(base.signals_size(), 2);
  const v1::SignalPattern& own = base.signals(0);
  EXPECT_EQ(own.id(), "own.timeout");
  EXPECT_EQ(own.role(), galen::v1::SECONDARY);
  EXPECT_THAT(own.labels(), ElementsAre("A.B.ONE"));
  EXPECT_EQ(own.strength(), galen::v1::STRONG);
  const v1::SignalPattern& merged = base.signals(1);
  EXPECT_EQ(merged.id(), "a.b.one.1");
  EXPECT_EQ(merged.meaning(), "One");
  EXPECT_THAT(merged.labels(), ElementsAre("A.B.ONE", "A.B.TWO"));
  EXPECT_THAT(merged.where(), ElementsAre(galen::v1::JOB_LOG, galen::v1::TOOL_OUTPUT));
  EXPECT_EQ(merged.strength(), galen::v1::DECISIVE);
}

TEST(Parse, ReadsChecksWithLimitsAndCosts) {
  const v1::KnowledgeBase base = MustParse(R"(checks:
  - name: site.fan
    title: Fan of the rack
    kind: extract
    needs: [root]
    cost: 1m0.5s
    command: [ipmitool, sensor]
    findings:
      - {name: rpm, type: int, unit: 1/min, subject: node, pattern: 'FAN1 +([0-9]+)',
         abnormal: {op: '<', value: 500}}
  - {name: site.other, kind: native, intrusive: true, cost: 20ms, in_job: true}
)");
  const v1::Check& check = base.checks(0);
  EXPECT_EQ(check.kind(), v1::Check::EXTRACT);
  EXPECT_EQ(check.cost().seconds(), 60);
  EXPECT_EQ(check.cost().nanos(), 500'000'000);
  EXPECT_THAT(check.command(), ElementsAre("ipmitool", "sensor"));
  const v1::FindingSpec& rpm = check.findings(0);
  EXPECT_EQ(rpm.unit(), "1/min");
  EXPECT_EQ(rpm.abnormal().check(), "site.fan");
  EXPECT_EQ(rpm.abnormal().finding(), "rpm");
  EXPECT_EQ(rpm.abnormal().op(), v1::Rule::LT);
  EXPECT_TRUE(base.checks(1).intrusive());
  EXPECT_TRUE(base.checks(1).in_job());
  EXPECT_FALSE(base.checks(0).in_job());
}

TEST(Parse, ReadsTheOtherCatalogues) {
  const v1::KnowledgeBase base = MustParse(R"(error_codes:
  - {family: xid, code: 48, name: DBE, meaning: double bit error, severity: critical}
hardware:
  - {model: X1, match: 'X1', facts: {nvlinks: 18, tdp_w: 700.5}, reference: data sheet}
incidents:
  - id: i-1
    title: Slow
    description: >
      Two lines
      in one.
    logs: [first, second]
    environment: {gpu: X1}
    label: A.B.C
    verification: ['tool: seen']
    resolution: Repaired.
    reference: https://example.com/1
)");
  EXPECT_EQ(base.error_codes(0).code(), 48);
  EXPECT_EQ(base.error_codes(0).severity(), "critical");
  EXPECT_EQ(base.hardware(0).facts().at("tdp_w"), 700.5);
  EXPECT_EQ(base.incidents(0).description(), "Two lines in one.\n");
  EXPECT_THAT(base.incidents(0).logs(), ElementsAre("first", "second"));
  EXPECT_EQ(base.incidents(0).environment().at("gpu"), "X1");
  EXPECT_EQ(base.incidents(0).source().line(), 6);
}

TEST(Parse, WhatATenantSaidOfAPastIncidentStandsApart) {
  const v1::KnowledgeBase base = MustParse(R"(incidents:
  - id: learned-1
    title: A.B.C with gpu.ecc
    label: A.B.C
    tenant_texts:
      tenant: acme
      title: Own words
      logs: [a line]
      environment: {gpu: X1}
      reference: tenants/acme/diagnoses/d1
  - id: diagnosis-d2
    title: Words of an earlier release
    description: More of them
    logs: [a line]
    environment: {gpu: X1}
    label: A.B.C
    verification: [seen]
    resolution: Repaired.
    reference: tenants/globex/diagnoses/d2
)");
  EXPECT_EQ(base.incidents(0).title(), "A.B.C with gpu.ecc");
  EXPECT_EQ(base.incidents(0).tenant_texts().tenant(), "acme");
  EXPECT_THAT(base.incidents(0).tenant_texts().logs(), ElementsAre("a line"));
  EXPECT_EQ(base.incidents(0).tenant_texts().environment().at("gpu"), "X1");
  const v1::PastIncident& old = base.incidents(1);
  EXPECT_EQ(old.tenant_texts().tenant(), "globex");
  EXPECT_EQ(old.tenant_texts().title(), "Words of an earlier release");
  EXPECT_EQ(old.tenant_texts().resolution(), "Repaired.");
  EXPECT_EQ(old.title(), "A.B.C");
  EXPECT_EQ(absl::StrCat(old.description(), old.logs_size(), old.environment().size(),
                         old.verification_size(), old.resolution(), old.reference()),
            "0"
            "0"
            "0");
  EXPECT_EQ(old.id().find("d2"), std::string::npos);
}

TEST(Parse, LaysALaterDirectoryOverTheEarlier) {
  KnowledgeFiles base;
  base.Write("x.yaml", R"(labels:
  - {label: A, title: Main}
  - {label: A.B, title: Old, signals: [{pattern: old line, where: job_log}]}
  - {label: A.C, title: Kept}
checks:
  - {name: a.one, kind: native, cost: 1s}
)");
  KnowledgeFiles site;
  site.Write("deep/y.yaml", R"(labels:
  - {label: A.B, title: New}
  - {label: A.D, title: Added}
checks:
  - {name: a.one, kind: native, cost: 2s}
)");
  const v1::KnowledgeBase merged = MustParse(std::vector<std::string>{base.path(), site.path()});
  ASSERT_EQ(merged.labels_size(), 4);
  EXPECT_THAT(merged.labels(0).children(), ElementsAre("A.B", "A.C", "A.D"));
  EXPECT_EQ(merged.labels(1).title(), "New");
  EXPECT_EQ(merged.labels(1).source().file(), site.path() + "/deep/y.yaml");
  EXPECT_THAT(merged.signals(), IsEmpty());  // they went with the label that held them
  ASSERT_EQ(merged.checks_size(), 1);
  EXPECT_EQ(merged.checks(0).cost().seconds(), 2);
}

TEST(Parse, PassesOverHiddenFilesAndOtherEndings) {
  KnowledgeFiles files;
  files.Write("a.yaml", "labels: [{label: A, title: A}]\n")
      .Write("..data/a.yaml", "labels: [{label: A, title: A}]\n")
      .Write(".hidden.yaml", "labels: [{label: B, title: B}]\n")
      .Write("notes.txt", "not: [yaml");
  EXPECT_EQ(MustParse(std::vector<std::string>{files.path()}).labels_size(), 1);
}

TEST(Parse, SaysWhichDirectoryIsMissing) {
  std::vector<Problem> problems;
  EXPECT_THAT(Parse({"/no/such/place"}, problems),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/place")));
}

TEST(Parse, TakesAnEmptyFileAsNothing) {
  EXPECT_THAT(MustParse("").labels(), IsEmpty());
  EXPECT_THAT(MustParse("# only a comment\n").labels(), IsEmpty());
  EXPECT_THAT(MustParse("labels:\n").labels(), IsEmpty());
}

struct Hostile {
  std::string name;
  std::string yaml;
  std::string problem;
};

TEST(Parse, TurnsHostileFilesIntoProblemsWithFileAndLine) {
  const std::string deep = std::string(100'000, '[');
  std::string nested;
  for (int i = 0; i < 70; ++i) absl::StrAppend(&nested, std::string(i * 2, ' '), "a", i, ":\n");
  const std::vector<Hostile> files = {
      {"broken", "labels:\n  - {label: A\n", "site.yaml:2: error: a key is not a plain word"},
      {"tab", "labels:\n\t- label: A\n", "site.yaml:2: error: not valid YAML"},
      {"flow depth", deep, "site.yaml:1: error: a key is not a plain word"},
      {"closed flow depth", "labels: " + deep + std::string(100'000, ']'),
       "site.yaml:1: error: nested deeper than 64 levels"},
      {"block depth", nested, "error: nested deeper than 64 levels"},
      {"anchor", "labels:\n  - &a {label: A}\n", "site.yaml:2: error: anchors and aliases"},
      {"laughs", "a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "error: anchors and aliases"},
      {"alias", "labels:\n  - *a\n", "site.yaml:2: error:"},
      {"not utf-8", "labels:\n  - label: \xff\xfe\n", "site.yaml: error: the file is not UTF-8"},
      {"nul", std::string("labels:\0", 8), "site.yaml: error: the file is not UTF-8"},
      {"surrogate", "labels:\n  - label: \"\\ud800\"\n", "error:"},
      {"list", "- a\n- b\n", "site.yaml:1: error: a knowledge file is written as keys"},
      {"text", "just words\n", "site.yaml:1: error: a knowledge file is written as keys"},
      {"second document", "labels:\n---\nchecks:\n", "error: a second document"},
      {"twice", "labels:\nchecks:\nlabels:\n", "site.yaml:3: error: key \"labels\" occurs twice"},
      {"complex key", "? [a, b]\n: c\n", "error: a key is not a plain word"},
      {"too large", std::string((16 << 20) + 1, '#'),
       "site.yaml: error: the file is larger than 16 MiB"},
  };
  for (const Hostile& file : files) {
    const std::vector<std::string> lines = Lines(ProblemsOf(file.yaml));
    ASSERT_FALSE(lines.empty()) << file.name;
    EXPECT_THAT(lines[0], HasSubstr(file.problem)) << file.name;
  }
}

TEST(Parse, ReadsTheOtherFilesWhenOneIsBroken) {
  KnowledgeFiles files;
  files.Write("a.yaml", "labels: [").Write("b.yaml", "labels: [{label: B, title: B}]\n");
  std::vector<Problem> problems;
  const auto base = Parse({files.path()}, problems);
  ASSERT_THAT(base, IsOk());
  EXPECT_EQ(base->labels_size(), 1);
  EXPECT_THAT(Lines(problems), ElementsAre(HasSubstr("a.yaml:1: error: not valid YAML")));
}

TEST(Parse, SurvivesEveryTruncationOfAFile) {
  const std::string text = R"(labels:
  - label: A.B
    title: "quoted \u00e9 text"
    signals: [{pattern: 'x[0-9]+', where: [job_log, kernel_log]}]
    confirm:
      - {check: a.b, finding: c, op: '>', value: 0}
checks:
  - {name: a.b, cost: 1s, kind: native, findings: [{name: c, type: int, subject: node}]}
incidents: [{id: x, label: A.B, environment: {a: b}, logs: [|
)";
  for (std::size_t size = 0; size < text.size(); ++size) {
    ProblemsOf(text.substr(0, size));  // must end for any content
  }
}

}  // namespace
}  // namespace galen::knowledge
