#include "services/conclusion/system_review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::conclusion {
namespace {

using galen::v1::CheckResult;
using galen::v1::SystemReview;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

knowledge::Knowledge Catalogue() {
  knowledge::v1::KnowledgeBase base;
  for (const auto& [name, family] :
       {std::pair("t.net", "network"), {"t.ecc", "gpu"}, {"t.clock", "gpu"}, {"t.other", ""}}) {
    auto& check = *base.add_checks();
    check.set_name(name);
    check.set_family(family);
    auto& finding = *check.add_findings();
    finding.set_name("errors");
    finding.mutable_abnormal()->set_op(knowledge::v1::Rule::GT);
    finding.mutable_abnormal()->set_value("0");
  }
  return knowledge::Knowledge(std::move(base));
}

void Add(galen::v1::EvidenceSet& evidence, const std::string& check, const std::string& node,
         CheckResult::Status status) {
  CheckResult& result = *evidence.add_results();
  result.set_id(check + "@" + node);
  result.set_check(check);
  result.set_node(node);
  result.set_status(status);
  if (status == CheckResult::SKIPPED) result.set_message("no series");
  if (status == CheckResult::PASS) {
    result.add_findings()->set_name("errors");
    result.mutable_findings(0)->set_int_value(0);
  }
}

galen::v1::EvidenceSet AllPass() {
  galen::v1::EvidenceSet evidence;
  for (const char* const check : {"t.net", "t.ecc", "t.clock"}) {
    for (const char* const node : {"n1", "n2"}) Add(evidence, check, node, CheckResult::PASS);
  }
  return evidence;
}

TEST(SystemReviewTest, TheSystemIsFineWhenEveryFamilyIsCleanOnEveryNode) {
  const SystemReview review = ReviewSystem(Catalogue(), AllPass());
  EXPECT_EQ(review.state(), SystemReview::CLEAN);
  ASSERT_THAT(review.families(), SizeIs(2));
  EXPECT_EQ(review.families(0).name(), "network");
  EXPECT_THAT(review.families(0).evidence_ids(), ElementsAre("t.net@n1", "t.net@n2"));
  EXPECT_THAT(FineSystem(review), HasSubstr("The system is fine: network, gpu"));
}

TEST(SystemReviewTest, WhatWasNotLookedAtIsUnknownAndNeverClean) {
  const struct {
    const char* what;
    int drop;  // result that is taken away
    CheckResult::Status instead;
  } kCases[] = {{"one check has no result of one node", 1, CheckResult::STATUS_UNSPECIFIED},
                {"it was skipped", 1, CheckResult::SKIPPED},
                {"it broke", 4, CheckResult::ERROR}};
  for (const auto& each : kCases) {
    galen::v1::EvidenceSet evidence = AllPass();
    if (each.instead == CheckResult::STATUS_UNSPECIFIED) {
      evidence.mutable_results()->DeleteSubrange(each.drop, 1);
    } else {
      evidence.mutable_results(each.drop)->set_status(each.instead);
    }
    const SystemReview review = ReviewSystem(Catalogue(), evidence);
    EXPECT_EQ(review.state(), SystemReview::UNKNOWN) << each.what;
    EXPECT_EQ(FineSystem(review), "") << each.what;
  }
}

TEST(SystemReviewTest, APassThatKnowsNothingIsNoAllClear) {
  galen::v1::EvidenceSet evidence = AllPass();
  evidence.mutable_results(3)->mutable_findings(0)->clear_value();
  const SystemReview review = ReviewSystem(Catalogue(), evidence);
  EXPECT_EQ(review.state(), SystemReview::UNKNOWN);
  EXPECT_EQ(review.families(1).state(), SystemReview::UNKNOWN);
}

TEST(SystemReviewTest, AnAbnormalNodeMakesItsFamilyFaultyAndIsNamed) {
  galen::v1::EvidenceSet evidence = AllPass();
  evidence.mutable_results(3)->set_status(CheckResult::FAIL);  // t.ecc on n2
  evidence.mutable_results(4)->set_status(CheckResult::ERROR);
  const SystemReview review = ReviewSystem(Catalogue(), evidence);
  EXPECT_EQ(review.state(), SystemReview::FAULTY);
  EXPECT_EQ(review.families(0).state(), SystemReview::CLEAN);
  EXPECT_EQ(review.families(1).state(), SystemReview::FAULTY);
  EXPECT_THAT(review.families(1).text(), HasSubstr("1 of 2 nodes (n2)"));
  EXPECT_THAT(review.families(1).evidence_ids(), ElementsAre("t.ecc@n2"));
}

TEST(SystemReviewTest, NothingIsSaidWhereNoCheckOfAFamilyRan) {
  galen::v1::EvidenceSet evidence;
  Add(evidence, "t.other", "n1", CheckResult::PASS);
  Add(evidence, "t.net", "n1", CheckResult::SKIPPED);
  EXPECT_THAT(ReviewSystem(Catalogue(), evidence).families(), IsEmpty());
}

}  // namespace
}  // namespace galen::conclusion
