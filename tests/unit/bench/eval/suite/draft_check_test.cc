#include "bench/eval/suite/drafts/draft_check.h"

#include <string>

#include "bench/eval/suite/drafts/condition.h"
#include "bench/eval/suite/drafts/find_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "re2/re2.h"
#include "suite_words.h"

namespace galen::drafts {
namespace {

using knowledge::v1::Rule;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const DescriptionWords& Words() { return eval::TheSuiteWords().descriptions; }

struct Sentence {
  const char* text;
  Rule::Op fault;
  const char* value;
};

class ConditionTest : public ::testing::TestWithParam<Sentence> {};

TEST_P(ConditionTest, SaysWhenTheMachineIsAtFault) {
  const auto read = ReadCondition(GetParam().text, Words(), true);
  ASSERT_TRUE(read.has_value()) << GetParam().text;
  EXPECT_EQ(Rule::Op_Name(read->fault), Rule::Op_Name(GetParam().fault)) << GetParam().text;
  EXPECT_EQ(read->value, GetParam().value) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Sentences, ConditionTest,
    ::testing::Values(Sentence{"it must be at least 8", Rule::LT, "8"},
                      Sentence{"it should be at most 10.", Rule::GT, "10"},
                      Sentence{"a fault when it is above 90", Rule::GT, "90"},
                      Sentence{"bad if below 4 GiB", Rule::LT, "4"},
                      Sentence{"it must not be below 131,072", Rule::LT, "131072"},
                      Sentence{"it must not exceed 256", Rule::GT, "256"},
                      Sentence{"it has to be 0", Rule::NE, "0"},
                      Sentence{"wrong if it shows anything but 400", Rule::NE, "400"},
                      Sentence{"it must be \"Active\"", Rule::NE, "Active"},
                      Sentence{"8 or more is healthy", Rule::LT, "8"}));

TEST(Condition, WithoutNegationsNotBelowIsBelow) {
  EXPECT_NE(ReadCondition("it must not be below 8", Words(), false)->fault,
            ReadCondition("it must not be below 8", Words(), true)->fault);
}

TEST(Condition, SaysNothingWhereNoneIsSaid) {
  EXPECT_FALSE(ReadCondition("look at /proc/meminfo", Words(), true).has_value());
}

knowledge::v1::KnowledgeBase Catalogue() {
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::Check& ecc = *base.add_checks();
  ecc.set_name("gpu.ecc");
  ecc.set_title("ECC counters of the memory");
  ecc.add_reads("nvidia-smi -q");
  knowledge::v1::Check& burn = *base.add_checks();
  burn.set_name("gpu.memory_test");
  burn.set_title("Pattern test of the free memory of each GPU");
  knowledge::v1::Parameter& gpu = *burn.add_parameters();
  gpu.set_name("gpu");
  gpu.set_type("int");
  knowledge::v1::Parameter& seconds = *burn.add_parameters();
  seconds.set_name("seconds");
  seconds.set_type("float");
  seconds.set_unit("s");
  return base;
}

absl::StatusOr<CheckDraft> Draft(const CheckRequest& request, const Drafting& drafting = {}) {
  return DraftCheck(Catalogue(), request, Words(), drafting);
}

TEST(DraftCheck, ReadsTheNamedFieldOfTheNamedFile) {
  const auto draft =
      Draft({.description = "In /proc/meminfo the field \"Cached\" must be at least 4096."});
  ASSERT_TRUE(draft.ok()) << draft.status();
  EXPECT_EQ(draft->check.file(), "/proc/meminfo");
  EXPECT_EQ(draft->check.kind(), knowledge::v1::Check::EXTRACT);
  std::string value;
  ASSERT_TRUE(RE2::PartialMatch("SwapCached: 7 kB\nCached: 42 kB\n",
                                "(?m:" + draft->check.findings(0).pattern() + ")", &value));
  EXPECT_EQ(value, "42");
  EXPECT_EQ(draft->check.findings(0).abnormal().op(), Rule::LT);
}

TEST(DraftCheck, RunsTheNamedCommand) {
  const auto draft = Draft({.description = "Run `nvidia-smi -q`; \"Links\" has to be 18."});
  ASSERT_TRUE(draft.ok()) << draft.status();
  EXPECT_THAT(draft->check.command(), ElementsAre("nvidia-smi", "-q"));
}

TEST(DraftCheck, BringsTheBoundIntoTheUnitOfTheSource) {
  const auto draft = Draft({.description = "\"Cached\" of /proc/meminfo is bad below 4 GiB.",
                            .shown = ShownOutput{"Cached: 8000000 kB\n", false}});
  ASSERT_TRUE(draft.ok()) << draft.status();
  EXPECT_EQ(draft->check.findings(0).abnormal().value(), "4194304");
}

TEST(DraftCheck, IsTurnedRoundWhereTheShownOutputContradictsIt) {
  const CheckRequest request = {.description = "/sys/x says 1 here.",
                                .shown = ShownOutput{"1\n", true}};
  const auto draft = Draft(request);
  ASSERT_TRUE(draft.ok()) << draft.status();
  EXPECT_EQ(draft->check.findings(0).abnormal().op(), Rule::EQ);
  const auto unchecked = Draft(request, {.retrieval = true, .critique = true, .self_check = false});
  ASSERT_TRUE(unchecked.ok());
  EXPECT_EQ(unchecked->check.findings(0).abnormal().op(), Rule::NE);
}

TEST(DraftCheck, CallsWhatTheCatalogueHas) {
  const auto draft =
      Draft({.description = "Test the free memory of GPU 3 with a pattern for 2 minutes"});
  ASSERT_TRUE(draft.ok()) << draft.status();
  EXPECT_EQ(draft->call, "gpu.memory_test");
  EXPECT_THAT(draft->parameters,
              ::testing::UnorderedElementsAre(Pair("gpu", "3"), Pair("seconds", "120")));
}

TEST(DraftCheck, SaysWhatTheDescriptionLacks) {
  const auto without_source =
      Draft({.description = "Something must be at least 4."}, {.retrieval = false});
  EXPECT_THAT(std::string(without_source.status().message()),
              HasSubstr("neither a file nor a command"));
  const auto without_condition = Draft({.description = "Read /proc/meminfo for me"});
  EXPECT_THAT(std::string(without_condition.status().message()), HasSubstr("when it is a fault"));
  EXPECT_FALSE(Draft({.description = std::string(kMostDescriptionBytes + 1, 'x')}).ok());
}

TEST(DraftCheck, WhatIsQuotedIsTakenLiterally) {
  const auto draft = Draft({.description = "/proc/cmdline must contain \"a.b(c|d)*[\"."});
  ASSERT_TRUE(draft.ok()) << draft.status();
  EXPECT_TRUE(RE2::PartialMatch("x a.b(c|d)*[ y", draft->check.findings(0).pattern()));
  EXPECT_FALSE(RE2::PartialMatch("x axbc y", draft->check.findings(0).pattern()));
}

}  // namespace
}  // namespace galen::drafts
