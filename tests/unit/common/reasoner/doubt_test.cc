#include "common/reasoner/doubt.h"

#include <gmock/gmock.h>

#include "cases.h"

namespace galen::reasoner {
namespace {

using galen::v1::Verdict;
using knowledge::v1::Rule;
using testing::Book;
using testing::Bool;
using ::testing::Contains;
using testing::Event;
using ::testing::HasSubstr;
using testing::Int;
using testing::JudgeOf;
using ::testing::Not;
using testing::Scene;

// MANAGER would cause LINKS.
Book Links() {
  Book book;
  book.Check("nvlink", "inactive", "int", Rule::GT, "0")
      .Check("nvlink", "errors", "int", Rule::GT, "0")
      .Check("manager", "active", "bool", Rule::EQ, "false")
      .Check("growth", "growing", "bool", Rule::EQ, "true")
      .Check("log", "xid", "event", Rule::NE, "none");
  book.Leaf("MAIN.SUB.LINKS")
      .Confirm("nvlink", "inactive", Rule::GT, "0")
      .Confirm("nvlink", "errors", Rule::GT, "0")
      .Confirm("log", "xid", Rule::EQ, "74")
      .Refute("growth", "growing", Rule::EQ, "false");
  book.Leaf("MAIN.SUB.MANAGER")
      .Confirm("manager", "active", Rule::EQ, "false")
      .Refute("manager", "active", Rule::EQ, "true")
      .Causes("MAIN.SUB.LINKS");
  return book;
}

void ExpectInDoubt(const Verdict& verdict, absl::string_view why) {
  EXPECT_EQ(verdict.outcome(), Verdict::INCONCLUSIVE) << verdict.DebugString();
  EXPECT_TRUE(verdict.residual()) << "it is still what is presumed";
  EXPECT_LE(verdict.probability(), 0.75);
  EXPECT_THAT(verdict.missing(), Contains(HasSubstr(std::string(why))));
  EXPECT_EQ(verdict.devices_size(), 1);
}

TEST(Doubt, OneFindingSufficesWhereNothingElseWasAskedInVain) {
  const auto book = Links().Make();
  const Scene scene = Scene(book).Saw("nvlink", {Int("inactive", 2, "gpu:0")});
  EXPECT_EQ(JudgeOf(book, scene, "MAIN.SUB.LINKS").outcome(), Verdict::CONFIRMED);
}

TEST(Doubt, WhatWouldCauseItAndGaveNoAnswerHoldsItBack) {
  const auto book = Links().Make();
  const Scene scene = Scene(book).Saw("nvlink", {Int("inactive", 2, "gpu:0")}).Skipped("manager");
  ExpectInDoubt(JudgeOf(book, scene, "MAIN.SUB.LINKS"), "MAIN.SUB.MANAGER, which would cause it");
}

TEST(Doubt, WhatWouldCauseItAndIsClearedDoesNot) {
  const auto book = Links().Make();
  const Scene scene = Scene(book)
                          .Saw("nvlink", {Int("inactive", 2, "gpu:0")})
                          .Saw("manager", {Bool("active", true)});
  EXPECT_EQ(JudgeOf(book, scene, "MAIN.SUB.LINKS").outcome(), Verdict::CONFIRMED);
}

TEST(Doubt, TwoFindingsAreEnough) {
  const auto book = Links().Make();
  const Scene scene = Scene(book)
                          .Saw("nvlink", {Int("inactive", 2, "gpu:0"), Int("errors", 9, "gpu:0")})
                          .Skipped("manager")
                          .Skipped("growth");
  EXPECT_EQ(JudgeOf(book, scene, "MAIN.SUB.LINKS").outcome(), Verdict::CONFIRMED);
}

TEST(Doubt, OneFindingOnManyDevicesIsOneFinding) {
  const auto book = Links().Make();
  const Scene scene = Scene(book)
                          .Saw("nvlink", {Int("inactive", 2, "gpu:0"), Int("inactive", 2, "gpu:1")})
                          .Skipped("manager");
  EXPECT_EQ(JudgeOf(book, scene, "MAIN.SUB.LINKS").outcome(), Verdict::INCONCLUSIVE);
}

TEST(Doubt, AFindingAndAStrongMessageAreEnough) {
  const auto book = Links().Make();
  const Scene scene = Scene(book)
                          .Saw("nvlink", {Int("inactive", 2, "gpu:0")})
                          .Skipped("manager")
                          .Read("links", {"MAIN.SUB.LINKS"}, galen::v1::STRONG);
  EXPECT_EQ(JudgeOf(book, scene, "MAIN.SUB.LINKS").outcome(), Verdict::CONFIRMED);
}

TEST(Doubt, AMessageOfTheOtherCauseHasItAskedFirst) {
  const auto book = Links().Make();
  const Scene unasked = Scene(book)
                            .Saw("nvlink", {Int("inactive", 2, "gpu:0")})
                            .Read("manager down", {"MAIN.SUB.MANAGER"}, galen::v1::STRONG);
  ExpectInDoubt(JudgeOf(book, unasked, "MAIN.SUB.LINKS"), "meaning of manager down");
  Scene asked = unasked;
  asked.Saw("manager", {Bool("active", true)});
  EXPECT_EQ(JudgeOf(book, asked, "MAIN.SUB.LINKS").outcome(), Verdict::CONFIRMED);
}

TEST(Doubt, WhatCouldSpeakAgainstItAndGaveNoAnswerHoldsItBack) {
  const auto book = Links().Make();
  Scene scene = Scene(book).Saw("nvlink", {Int("inactive", 2, "gpu:0")});
  Scene silent = scene;
  silent.Failed("growth");
  ExpectInDoubt(JudgeOf(book, silent, "MAIN.SUB.LINKS"), "growth@n1: gave an error");
  // A weak word of it in a log will do against silence.
  silent.Read("links", {"MAIN.SUB.LINKS"}, galen::v1::WEAK);
  EXPECT_EQ(JudgeOf(book, silent, "MAIN.SUB.LINKS").outcome(), Verdict::CONFIRMED);
}

TEST(Doubt, AnAllClearOfNowStandsAgainstALoggedEvent) {
  const auto book = Links().Make();
  const Scene past =
      Scene(book).Saw("log", {Event("xid", "74", "gpu:0")}).Saw("growth", {Bool("growing", false)});
  ExpectInDoubt(JudgeOf(book, past, "MAIN.SUB.LINKS"), "a logged event alone");
  const Scene now = Scene(book)
                        .Saw("nvlink", {Int("inactive", 2, "gpu:0")})
                        .Saw("growth", {Bool("growing", false)});
  EXPECT_EQ(JudgeOf(book, now, "MAIN.SUB.LINKS").outcome(), Verdict::CONFIRMED);
}

TEST(Judge, ARefutingRuleThatNamesAnotherFaultIsMoreThanASignThatIsAbsent) {
  Book made = Links();
  made.Leaf("MAIN.SUB.CABLE")
      .Confirm("nvlink", "errors", Rule::GT, "0")
      .Refute("manager", "active", Rule::EQ, "false");
  const auto book = made.Make();
  const Scene scene = Scene(book)
                          .Saw("nvlink", {Int("errors", 4, "gpu:0")})
                          .Saw("manager", {Bool("active", false)});
  EXPECT_THAT(JudgeOf(book, scene, "MAIN.SUB.CABLE").outcome(), Not(Verdict::CONFIRMED));
}

}  // namespace
}  // namespace galen::reasoner
