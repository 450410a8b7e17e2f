// The leading cause if a language model judged too.
#include "services/conclusion/model_verdicts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace galen::conclusion {
namespace {

using galen::v1::ModelVerdict;
using galen::v1::Report;
using galen::v1::Verdict;
using ::testing::HasSubstr;

constexpr char kProven[] = "GPU.FAN.STUCK";
constexpr char kOther[] = "NET.LINK.DOWN";

// A fan whose standstill is the fault itself, and a link whose message is not.
struct JudgedScene {
  explicit JudgedScene(bool defining) {
    knowledge::v1::KnowledgeBase base;
    for (const char* name : {kProven, kOther}) {
      knowledge::v1::Label& label = *base.add_labels();
      label.set_label(name);
      label.set_title(std::string("title of ") + name);
      knowledge::v1::Rule& rule = *label.add_confirm();
      rule.set_check("gpu.fan");
      rule.set_finding("speed");
      rule.set_op(knowledge::v1::Rule::EQ);
      rule.set_value("0");
      rule.set_defining(defining && name == std::string(kProven));
    }
    book = std::make_unique<const knowledge::Knowledge>(std::move(base));
    galen::v1::CheckResult& result = *request.mutable_evidence()->add_results();
    result.set_id("gpu.fan@n1");
    result.set_check("gpu.fan");
    result.set_node("n1");
    galen::v1::Finding& speed = *result.add_findings();
    speed.set_name("speed");
    speed.set_int_value(0);
    galen::v1::Hypothesis& judged = *request.add_hypotheses();
    judged.set_label(kProven);
    judged.mutable_verdict()->set_label(kProven);
    judged.mutable_verdict()->set_outcome(Verdict::CONFIRMED);
    galen::v1::Reason& reason = *judged.mutable_verdict()->add_reasons();
    reason.set_direction(galen::v1::Reason::SUPPORTS);
    reason.add_evidence_ids("gpu.fan@n1");
    *reason.mutable_finding() = speed;
  }

  void Confirmed() {
    report.set_outcome(Report::CAUSE_CONFIRMED);
    report.mutable_primary_cause()->set_label(kProven);
  }
  void Presumed() {
    report.set_outcome(Report::NO_CAUSE_CONFIRMED);
    report.mutable_presumed_cause()->set_label(kProven);
    report.add_suspects()->set_label(kProven);
  }
  void Says(ModelVerdict::Outcome outcome, const std::string& label,
            const std::string& objection = "") {
    ModelVerdict& verdict = *request.add_model_verdicts();
    verdict.set_label(label);
    verdict.set_outcome(outcome);
    verdict.set_model("m");
    verdict.set_text("so it is");
    verdict.set_probability(0.8);
    verdict.set_objection(objection);
    galen::v1::Citation& citation = *verdict.add_citations();
    citation.set_artefact("gpu.fan@n1");
    citation.set_line(1);
    citation.set_quote("FAIL: the fan stands still");
  }
  const Report& Counted() {
    LetModelCount(*book, request, report);
    return report;
  }

  std::unique_ptr<const knowledge::Knowledge> book;
  v1::ConcludeRequest request;
  Report report;
};

TEST(WhoLeads, ADefiningFactDoesWhateverTheModelSays) {
  JudgedScene scene(/*defining=*/true);
  scene.Confirmed();
  scene.Says(ModelVerdict::REJECTED, kProven);
  scene.Says(ModelVerdict::CONFIRMED, kOther);
  const Report& report = scene.Counted();
  EXPECT_EQ(report.outcome(), Report::CAUSE_CONFIRMED);
  EXPECT_EQ(report.primary_cause().label(), kProven);
  ASSERT_EQ(report.suspects_size(), 1);
  EXPECT_EQ(report.suspects(0).label(), kOther);
  EXPECT_EQ(report.suspects(0).judged_by(), "m");
  EXPECT_THAT(report.notes(0), HasSubstr("disagrees"));
}

// The report names one cause as confirmed, and also the one that the model confirms.
TEST(WhoLeads, ACauseThatChecksConfirmDoesAndTheModelsIsToldBesideIt) {
  for (const bool defining : {false, true}) {
    JudgedScene scene(defining);
    scene.Confirmed();
    scene.Says(ModelVerdict::REJECTED, kProven);
    scene.Says(ModelVerdict::CONFIRMED, kOther);
    const Report& report = scene.Counted();
    EXPECT_EQ(report.outcome(), Report::CAUSE_CONFIRMED);
    EXPECT_EQ(report.primary_cause().label(), kProven);
    EXPECT_FALSE(report.has_presumed_cause());
    ASSERT_EQ(report.suspects_size(), 1);
    EXPECT_EQ(report.suspects(0).label(), kOther);
    EXPECT_THAT(report.model_verdicts(1).effect(), HasSubstr("contributing"));
    EXPECT_EQ(HeadlineOfModel(report), "");
  }
}

TEST(WhoLeads, NoFaultTakesAPresumptionAwayAndIsTheHeadline) {
  for (const double probability : {0.2, 0.5}) {
    JudgedScene scene(/*defining=*/false);
    scene.Presumed();
    scene.report.mutable_suspects(0)->set_probability(probability);
    scene.report.mutable_suspects(0)->set_title("a stuck fan");
    scene.Says(ModelVerdict::REJECTED, "");
    const Report& report = scene.Counted();
    EXPECT_FALSE(report.has_presumed_cause());
    const std::string headline = HeadlineOfModel(report);
    EXPECT_THAT(headline, HasSubstr("No fault found"));
    EXPECT_EQ(headline.find("a stuck fan") != std::string::npos, probability > 0.3);
  }
  JudgedScene confirmed(/*defining=*/false);
  confirmed.Confirmed();
  confirmed.Says(ModelVerdict::REJECTED, "");
  EXPECT_EQ(confirmed.Counted().primary_cause().label(), kProven);
  EXPECT_EQ(HeadlineOfModel(confirmed.report), "");
}

TEST(WhoLeads, ASuspectThatTheModelRejectsIsUndecidedAndNoLongerInTheHeadline) {
  JudgedScene scene(/*defining=*/false);
  scene.report.set_outcome(Report::NO_CAUSE_CONFIRMED);
  scene.report.add_suspects()->set_label(kProven);
  scene.Says(ModelVerdict::REJECTED, kProven);
  const Report& report = scene.Counted();
  EXPECT_EQ(report.suspects_size(), 0);
  ASSERT_EQ(report.undecided_size(), 1);
  EXPECT_EQ(report.undecided(0).label(), kProven);
}

TEST(WhoLeads, AnOpenVerdictIsTheFirstSuspectAndPresumesNothing) {
  JudgedScene scene(/*defining=*/false);
  scene.report.set_outcome(Report::NO_CAUSE_CONFIRMED);
  scene.report.add_suspects()->set_label(kProven);
  scene.Says(ModelVerdict::OPEN, kOther);
  const Report& report = scene.Counted();
  EXPECT_FALSE(report.has_presumed_cause());
  ASSERT_EQ(report.suspects_size(), 2);
  EXPECT_EQ(report.suspects(0).label(), kOther);
  EXPECT_LT(report.suspects(0).probability(), 0.35);
  JudgedScene presumed(/*defining=*/false);
  presumed.Presumed();
  presumed.Says(ModelVerdict::OPEN, kOther);
  EXPECT_EQ(presumed.Counted().presumed_cause().label(), kProven);
  EXPECT_EQ(presumed.report.suspects(0).label(), kProven);
}

TEST(WhoLeads, AnOpenVerdictWithoutALabelIsToldInTheHeadline) {
  JudgedScene scene(/*defining=*/false);
  scene.report.set_outcome(Report::NO_CAUSE_CONFIRMED);
  scene.Says(ModelVerdict::OPEN, "");
  EXPECT_THAT(HeadlineOfModel(scene.Counted()), HasSubstr("so it is"));
}

std::vector<std::string> PlacesOf(const galen::v1::Cause& cause) {
  std::vector<std::string> places;
  for (const galen::v1::Device& place : cause.devices()) {
    places.push_back(place.node() + " " + place.device());
  }
  return places;
}

TEST(Places, AreAllThatTheModelNames) {
  const struct {
    const char* nodes;
    const char* devices;
    std::vector<std::string> places;
  } kCases[] = {
      {"n1, n2", "gpu:0, gpu:3", {"n1 gpu:0", "n2 gpu:3"}},
      {"n1", "gpu:0, gpu:3", {"n1 gpu:0", "n1 gpu:3"}},
      {"n1, n2", "gpu:0", {"n1 gpu:0", "n2 gpu:0"}},
      {"n1, n2", "", {"n1 ", "n2 "}},
      {"n1, n2", "gpu:0, gpu:1, gpu:2", {"n1 ", "n2 "}},
  };
  for (const auto& c : kCases) {
    JudgedScene scene(/*defining=*/false);
    scene.Presumed();
    scene.Says(ModelVerdict::CONFIRMED, kOther);
    scene.request.mutable_model_verdicts(0)->set_node(c.nodes);
    scene.request.mutable_model_verdicts(0)->set_device(c.devices);
    EXPECT_EQ(PlacesOf(scene.Counted().presumed_cause()), c.places) << c.nodes << "; " << c.devices;
  }
}

TEST(Places, FollowFromWhatIsCitedWhereTheModelNamesNone) {
  JudgedScene scene(/*defining=*/false);
  galen::v1::Finding& speed =
      *scene.request.mutable_evidence()->mutable_results(0)->mutable_findings(0);
  speed.set_abnormal(true);
  speed.mutable_subject()->set_device("gpu:2");
  scene.Presumed();
  scene.Says(ModelVerdict::CONFIRMED, kOther);
  EXPECT_THAT(PlacesOf(scene.Counted().presumed_cause()), ::testing::ElementsAre("n1 gpu:2"));
}

TEST(WhoLeads, TheModelDoesWhereNothingIsConfirmed) {
  JudgedScene scene(/*defining=*/false);
  scene.Presumed();
  scene.Says(ModelVerdict::CONFIRMED, kOther);
  const Report& report = scene.Counted();
  EXPECT_EQ(report.presumed_cause().label(), kOther);
  EXPECT_EQ(report.suspects(1).label(), kProven);
  EXPECT_THAT(report.presumed_cause().evidence_ids(), ::testing::ElementsAre("gpu.fan@n1"));
  EXPECT_THAT(HeadlineOfModel(report), HasSubstr("judged by the model m, not proven by a check"));
}

TEST(WhoLeads, ARejectionTakesAPresumptionAway) {
  JudgedScene scene(/*defining=*/false);
  scene.Presumed();
  scene.Says(ModelVerdict::REJECTED, kProven);
  const Report& report = scene.Counted();
  EXPECT_FALSE(report.has_presumed_cause());
  EXPECT_EQ(report.suspects_size(), 0);
  ASSERT_EQ(report.undecided_size(), 1);
  EXPECT_EQ(report.undecided(0).label(), kProven);
}

TEST(WhoLeads, WhatDoesNotStandCountsForNothing) {
  for (const ModelVerdict::Outcome outcome : {ModelVerdict::CONFIRMED, ModelVerdict::REJECTED}) {
    JudgedScene scene(/*defining=*/false);
    scene.Presumed();
    scene.Says(outcome, outcome == ModelVerdict::CONFIRMED ? kOther : kProven, "it cites nothing");
    const Report& report = scene.Counted();
    EXPECT_EQ(report.presumed_cause().label(), kProven);
    EXPECT_EQ(report.suspects_size(), 1);
    EXPECT_TRUE(report.model_verdicts(0).citations().empty());
    EXPECT_EQ(report.model_verdicts(0).text(), "");
  }
}

TEST(WhoLeads, AFactThatCameLaterExcludesTheModelsCauseToo) {
  JudgedScene scene(/*defining=*/false);
  knowledge::v1::KnowledgeBase base = scene.book->base();
  knowledge::v1::Rule& rule = *base.mutable_labels(1)->add_refute();
  rule.set_check("gpu.fan");
  rule.set_finding("speed");
  rule.set_op(knowledge::v1::Rule::EQ);
  rule.set_value("0");
  rule.set_observation("the fan stands still");
  scene.book = std::make_unique<const knowledge::Knowledge>(std::move(base));
  galen::v1::Hypothesis& rejected = *scene.request.add_hypotheses();
  rejected = scene.request.hypotheses(0);
  rejected.set_label(kOther);
  rejected.mutable_verdict()->set_label(kOther);
  rejected.mutable_verdict()->set_outcome(Verdict::REJECTED);
  rejected.mutable_verdict()->mutable_reasons(0)->set_direction(galen::v1::Reason::OPPOSES);
  scene.Presumed();
  scene.Says(ModelVerdict::CONFIRMED, kOther);
  const Report& report = scene.Counted();
  EXPECT_EQ(report.presumed_cause().label(), kProven);
  EXPECT_THAT(report.model_verdicts(0).objection(), HasSubstr("the fan stands still"));
}

TEST(WhoLeads, ACauseInWordsIsAHeadlineWhereThereIsNoOther) {
  JudgedScene scene(/*defining=*/false);
  scene.report.set_outcome(Report::NO_CAUSE_CONFIRMED);
  scene.Says(ModelVerdict::CONFIRMED, "");
  EXPECT_THAT(HeadlineOfModel(scene.Counted()),
              HasSubstr("a cause that the taxonomy does not have, as worded by the model m: so"));
}

}  // namespace
}  // namespace galen::conclusion
