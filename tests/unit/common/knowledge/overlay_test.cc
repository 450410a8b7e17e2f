#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "knowledge_files.h"
#include "tests/testing/status_matchers.h"

namespace galen::knowledge {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::string_view kShipped = R"(checks:
  - {name: a.one, kind: native, cost: 1s, findings: [{name: bad, type: bool, subject: node}]}
labels:
  - {label: A, title: Main, first_checks: [a.one]}
  - {label: A.X, title: Only child follows}
  - label: A.X.LEAF
    title: Leaf
    owner: either
    severity: low
    prior: low
    signals: [{pattern: leaf one, where: job_log}, {pattern: leaf two, where: job_log}]
    confirm: [{check: a.one, finding: bad, op: ==, value: true}]
  - label: A.B
    title: Other leaf
    owner: either
    severity: low
    prior: low
    confused_with: [A.X.LEAF]
    secondary_effects: [A.X.LEAF, Xid 48]
    confirm: [{check: a.one, finding: bad, op: ==, value: false}]
signals:
  - {id: loud, pattern: very loud, where: job_log, labels: [A.X.LEAF, A.B]}
incidents:
  - {id: i-1, title: Was the leaf, label: A.X.LEAF}
  - {id: i-2, title: Was the other, label: A.B, labels_secondary: [A.X.LEAF]}
kernel_lines:
  - {id: k.one, family: nic, code: shipped, match: acme one}
  - {id: k.two, family: nic, code: second, match: acme two}
)";

class OverlayTest : public ::testing::Test {
 protected:
  OverlayTest() { shipped_.Write("shipped.yaml", kShipped); }

  std::shared_ptr<const Knowledge> With(absl::string_view site) {
    site_.Write("site.yaml", site);
    auto loaded = Load({shipped_.path(), site_.path()}, {});
    EXPECT_THAT(loaded, IsOk());
    return loaded.ok() ? *loaded : nullptr;
  }
  std::vector<std::string> ProblemsWith(absl::string_view site) {
    site_.Write("site.yaml", site);
    std::vector<Problem> problems;
    const auto base = Parse({shipped_.path(), site_.path()}, problems);
    EXPECT_THAT(base, IsOk());
    for (Problem& problem : Lint(*base)) problems.push_back(std::move(problem));
    return Lines(problems);
  }
  std::string InSite(absl::string_view rest) const {
    return absl::StrCat(site_.path(), "/site.yaml:", rest);
  }

  KnowledgeFiles shipped_;
  KnowledgeFiles site_;
};

TEST_F(OverlayTest, ASiteReplacesAShippedCheckAndLabelWhole) {
  const auto knowledge = With(R"(checks:
  - {name: a.one, kind: native, cost: 9s, findings: [{name: bad, type: bool, subject: gpu}]}
labels:
  - {label: A.B, title: Ours, owner: provider, severity: high, prior: high,
     confirm: [{check: a.one, finding: bad, op: ==, value: true}]}
signals:
  - {id: loud, pattern: not so loud, where: kernel_log}
)");
  ASSERT_NE(knowledge, nullptr);
  EXPECT_EQ(knowledge->FindCheck("a.one")->cost().seconds(), 9);
  EXPECT_EQ(knowledge->FindLabel("A.B")->title(), "Ours");
  EXPECT_THAT(knowledge->FindLabel("A.B")->confused_with(), IsEmpty());
  EXPECT_EQ(knowledge->FindSignal("loud")->pattern(), "not so loud");
  EXPECT_EQ(knowledge->Children("A").size(), 2u);
}

TEST_F(OverlayTest, ASiteReplacesAKernelLineInItsPlaceAndAddsOthersAtTheEnd) {
  const auto book = With(
      "kernel_lines:\n"
      "  - {id: k.site, family: nic, code: added, match: acme}\n"
      "  - {id: k.one, family: power, code: replaced, match: acme one}\n");
  ASSERT_NE(book, nullptr);
  std::vector<std::string> codes;
  for (const v1::KernelLine& line : book->base().kernel_lines()) codes.push_back(line.code());
  EXPECT_THAT(codes, ElementsAre("replaced", "second", "added"));
  EXPECT_EQ(book->base().kernel_lines(0).family(), v1::KERNEL_POWER);
}

TEST_F(OverlayTest, ALabelThatIsSwitchedOffTakesAllThatHangsOnItAlong) {
  const auto knowledge = With("off: {labels: [A.X.LEAF]}\n");
  ASSERT_NE(knowledge, nullptr);
  EXPECT_EQ(knowledge->FindLabel("A.X.LEAF"), nullptr);
  EXPECT_EQ(knowledge->FindLabel("A.X"), nullptr) << "it has no child left";
  EXPECT_NE(knowledge->FindLabel("A"), nullptr);
  EXPECT_EQ(knowledge->FindSignal("a.x.leaf.1"), nullptr);
  EXPECT_THAT(knowledge->FindSignal("loud")->labels(), ElementsAre("A.B"));
  EXPECT_THAT(knowledge->FindLabel("A.B")->confused_with(), IsEmpty());
  EXPECT_THAT(knowledge->FindLabel("A.B")->secondary_effects(), ElementsAre("Xid 48"));
  ASSERT_EQ(knowledge->base().incidents_size(), 1);
  EXPECT_EQ(knowledge->base().incidents(0).id(), "i-2");
  EXPECT_THAT(knowledge->base().incidents(0).labels_secondary(), IsEmpty());
}

TEST_F(OverlayTest, ABranchThatIsSwitchedOffGoesWithItsLeaves) {
  const auto knowledge = With("off: {labels: A.X}\n");
  ASSERT_NE(knowledge, nullptr);
  EXPECT_EQ(knowledge->FindLabel("A.X.LEAF"), nullptr);
}

TEST_F(OverlayTest, ALabelThatTheSiteWritesAnewIsNotSwitchedOff) {
  const auto knowledge = With(R"(off: {labels: [A.X.LEAF]}
labels:
  - {label: A.X.LEAF, title: Ours, owner: either, severity: low, prior: low,
     confirm: [{check: a.one, finding: bad, op: ==, value: true}]}
)");
  ASSERT_NE(knowledge, nullptr);
  EXPECT_EQ(knowledge->FindLabel("A.X.LEAF")->title(), "Ours");
}

TEST_F(OverlayTest, ACheckThatIsSwitchedOffStaysDeclaredSoThatItsRulesAreUnknownNotGone) {
  const auto knowledge = With("off: {checks: [a.one]}\n");
  ASSERT_NE(knowledge, nullptr);
  EXPECT_TRUE(knowledge->FindCheck("a.one")->off());
  EXPECT_THAT(knowledge->ChecksFor(*knowledge->FindLabel("A.B")), ElementsAre("a.one"));
}

TEST_F(OverlayTest, SignalsAndIncidentsAreSwitchedOffByTheirIds) {
  const auto knowledge = With("off: {signals: [loud, a.x.leaf.1], incidents: [i-1]}\n");
  ASSERT_NE(knowledge, nullptr);
  EXPECT_EQ(knowledge->FindSignal("loud"), nullptr);
  EXPECT_EQ(knowledge->FindSignal("a.x.leaf.1"), nullptr);
  EXPECT_EQ(knowledge->FindSignal("a.x.leaf.2")->pattern(), "leaf two") << "ids stay what they are";
  EXPECT_EQ(knowledge->base().incidents_size(), 1);
}

TEST_F(OverlayTest, SwitchingOffWhatDoesNotExistIsAMistakeWithItsLine) {
  EXPECT_THAT(ProblemsWith("off:\n  labels:\n    - A.X.LEAV\n"),
              ElementsAre(InSite("3: error: off: no earlier directory has the label A.X.LEAV; did "
                                 "you mean \"A.X.LEAF\"?")));
  EXPECT_THAT(ProblemsWith("off:\n  check: [a.one]\n"),
              ElementsAre(InSite("2: error: unknown key \"check\" in a list of what is switched "
                                 "off; did you mean \"checks\"?")));
  EXPECT_THAT(
      ProblemsWith("off:\n  signals:\n    - {id: loud}\n"),
      ElementsAre(InSite("3: error: \"signals\" of off is not a list of names; write `- NAME` "
                         "lines")));
}

TEST_F(OverlayTest, AMistakeNamesTheDirectoryItStandsIn) {
  EXPECT_THAT(ProblemsWith("labels:\n  - {label: A.NEW, title: T}\n"),
              Contains(HasSubstr(InSite("2: error: label A.NEW is a leaf without a rule"))));
}

TEST_F(OverlayTest, WhatWaitsForReviewIsNotLoaded) {
  site_.Write("proposals/p.yaml", "proposal: {id: p}\nlabels: [{label: A.NEW}]\n")
      .Write("deeper/proposals/q.yaml", "labels: []\n");
  const auto knowledge = With("");
  ASSERT_NE(knowledge, nullptr);
  EXPECT_EQ(knowledge->FindLabel("A.NEW"), nullptr);
}

TEST_F(OverlayTest, ACandidateIsReadAsIfItStoodInTheLastDirectory) {
  site_.Write("site.yaml", "incidents: [{id: i-9, title: Old, label: A.B}]\n");
  std::vector<Problem> problems;
  const auto base =
      ParseWith({shipped_.path(), site_.path()},
                {"site.yaml", "incidents: [{id: i-9, title: New, label: A.C}]\n"}, problems);
  ASSERT_THAT(base, IsOk());
  EXPECT_EQ(base->incidents(2).title(), "New");
  EXPECT_THAT(
      Lines(Lint(*base)),
      ElementsAre(HasSubstr("site.yaml:1: error: past incident i-9 names the unknown label")));
}

TEST_F(OverlayTest, TheDigestTellsOneSiteFromAnother) {
  const auto one = With("incidents: [{id: i-9, title: One, label: A.B}]\n");
  const auto two = With("incidents: [{id: i-9, title: Two, label: A.B}]\n");
  ASSERT_TRUE(one != nullptr && two != nullptr);
  EXPECT_NE(one->digest(), two->digest());
}

}  // namespace
}  // namespace galen::knowledge
