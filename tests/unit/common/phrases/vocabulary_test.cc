#include "common/phrases/vocabulary.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace galen::phrases {
namespace {

namespace fs = std::filesystem;
using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

Phrases ListOf(absl::string_view fields) {
  const auto vocabulary =
      Vocabulary::Parse(absl::StrCat("lists:\n  a: {why: test, ", fields, "}\n"), "a.yaml");
  EXPECT_THAT(vocabulary, IsOk());
  Phrases list;
  if (vocabulary.ok()) {
    EXPECT_THAT(vocabulary->Fill({{"a", &list}}), IsOk());
  }
  return list;
}

struct Stands {
  const char* fields;
  const char* text;
  bool in;
};

class PlaceTest : public ::testing::TestWithParam<Stands> {};

TEST_P(PlaceTest, SaysWhereAPhraseHasToStand) {
  EXPECT_EQ(ListOf(GetParam().fields).In(GetParam().text), GetParam().in)
      << GetParam().fields << " in " << GetParam().text;
}

constexpr char kEnd[] = "place: end, marks: '[(', filler: [the, old], phrases: [not]";
constexpr char kStart[] = "place: start, filler: [is], phrases: [fine]";
constexpr char kWhole[] = "place: whole, filler: [please], phrases: ['yes']";
constexpr char kOnly[] = "place: only, marks: ',', phrases: [and, the]";
constexpr char kClause[] = "place: clause, filler: [please], phrases: [stop]";

INSTANTIATE_TEST_SUITE_P(
    Lists, PlaceTest,
    ::testing::Values(Stands{"phrases: [go]", "let it go now", true},
                      Stands{"phrases: [go]", "gone", false},
                      Stands{kEnd, "but not the old [", true},
                      Stands{kEnd, "but not the new", false}, Stands{kEnd, "not: ", false},
                      Stands{kStart, " - is fine, all of it", true},
                      Stands{kStart, "it is fine", false}, Stands{kWhole, "yes, please!", true},
                      Stands{kWhole, "yes, but later", false}, Stands{kOnly, ", and the ", true},
                      Stands{kOnly, "", true}, Stands{kOnly, "and then", false},
                      Stands{kClause, "stop it", true}, Stands{kClause, "please stop it", true},
                      Stands{kClause, "no, stop it", true}, Stands{kClause, "jobs stop", false}));

TEST(Phrases, FindTheNextPlaceAndTheLongestThere) {
  const Phrases list = ListOf("phrases: [port, port number, at]");
  const auto first = list.Find("at port number 5, at 6");
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->begin, 0u);
  const auto second = list.Find("at port number 5, at 6", first->end);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->begin, 3u);
  EXPECT_EQ(second->end, 14u);
  EXPECT_FALSE(list.Find("at port", 7).has_value());
  EXPECT_FALSE(list.Find("at port", 100).has_value());
}

TEST(Phrases, OnesMadeByDefaultMatchNothing) {
  EXPECT_FALSE(Phrases().In(""));
  EXPECT_FALSE(Phrases().Find("a").has_value());
}

TEST(Phrases, BytesThatAreNoTextAreRead) {
  EXPECT_TRUE(ListOf("phrases: [go]").In("\xff\xfe go \xc3"));
}

TEST(Vocabulary, ListsNameOtherLists) {
  const auto vocabulary = Vocabulary::Parse(
      "lists:\n"
      "  order: {why: test, phrases: [stop the <thing>]}\n"
      "  thing: {why: test, phrases: [job, pod(s)]}\n",
      "a.yaml");
  ASSERT_THAT(vocabulary, IsOk());
  Phrases order;
  ASSERT_THAT(vocabulary->Fill({{"order", &order}}), IsOk());
  EXPECT_TRUE(order.In("stop the pods"));
  EXPECT_FALSE(order.In("stop the fan"));
}

TEST(Vocabulary, SaysWhichListIsNotThere) {
  const auto vocabulary = Vocabulary::Parse("lists: {a: {why: test, phrases: [b]}}", "a.yaml");
  ASSERT_THAT(vocabulary, IsOk());
  Phrases list;
  EXPECT_THAT(vocabulary->Fill({{"c", &list}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no list c")));
}

struct Mistake {
  const char* text;
  const char* where;
  const char* what;
};

class MistakeTest : public ::testing::TestWithParam<Mistake> {};

TEST_P(MistakeTest, IsToldWithFileAndLine) {
  EXPECT_THAT(Vocabulary::Parse(GetParam().text, "a.yaml"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(GetParam().where), HasSubstr(GetParam().what))));
}

INSTANTIATE_TEST_SUITE_P(
    Files, MistakeTest,
    ::testing::Values(
        Mistake{"lists: [", "a.yaml:", ""}, Mistake{"- a", "a.yaml:1", "not a map"},
        Mistake{"phrases: []", "a.yaml:1", "unknown"},
        Mistake{"lists: [a]", "a.yaml:1", "needs lists"},
        Mistake{"lists:\n  A: {why: test, phrases: [b]}", "a.yaml:2", "a-z"},
        Mistake{"lists:\n  a: {why: test, word: [b]}", "a.yaml:2", "word: unknown"},
        Mistake{"lists:\n  a: {phrases: [b]}", "a.yaml:2", "no list has this name"},
        Mistake{"lists:\n  a: {why: test}", "a.yaml:2", "needs phrases"},
        Mistake{"lists:\n  a: {why: test, phrases: b}", "a.yaml:2", "phrases: is not a list"},
        Mistake{"lists:\n  a: {why: test, place: middle, phrases: [b]}", "a.yaml:2", "place: is"},
        Mistake{"lists:\n  a: {why: test, marks: '.', phrases: [b]}", "a.yaml:2", "marks:"},
        Mistake{"lists:\n  a: {why: test, filler: [c], phrases: [b]}", "a.yaml:2", "filler:"},
        Mistake{"lists:\n  a:\n    why: test\n    phrases:\n      - b\n      - c\n      - b\n",
                "a.yaml:7", "is at a.yaml:5 already"},
        Mistake{"lists:\n  a:\n    why: test\n    phrases:\n      - b\n      - c?\n", "a.yaml:6",
                "not a regular expression"},
        Mistake{"lists:\n  a: {why: test, phrases: [b]}\n  a: {why: test, phrases: [c]}",
                "a.yaml:3", ""},
        Mistake{"lists:\n  a:\n    why: test\n    phrases: [b <c>]\n", "a.yaml:4", "<c>: no list"},
        Mistake{"lists:\n  a: {why: test, phrases: [b <c>]}\n  c: {why: test, phrases: [d <a>]}",
                "a.yaml:", "names itself"}));

TEST(Vocabulary, AListIsBoundedInPhrases) {
  std::string text = "lists:\n  a:\n    why: test\n    phrases:\n";
  for (std::size_t i = 0; i <= kMostPhrases; ++i) absl::StrAppend(&text, "      - word", i, "\n");
  EXPECT_THAT(Vocabulary::Parse(text, "a.yaml"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 1000 phrases")));
}

// Each list names the one before it twenty times: 20^12 words.
TEST(Vocabulary, ListsThatNameEachOtherDoNotGrowWithoutBound) {
  std::string text = "lists:\n  a0: {why: test, phrases: [word]}\n";
  for (int i = 1; i <= 12; ++i) {
    absl::StrAppend(&text, "  a", i, ": {why: test, phrases: [x");
    for (int k = 0; k < 20; ++k) absl::StrAppend(&text, " <a", i - 1, ">");
    absl::StrAppend(&text, "]}\n");
  }
  EXPECT_THAT(Vocabulary::Parse(text, "a.yaml"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too large")));
}

TEST(Vocabulary, RepetitionsWithinRepetitionsAreRefusedOrLinear) {
  const auto list = ListOf("phrases: ['[[[a]* b]* c]* d']");
  EXPECT_FALSE(list.In(std::string(200'000, 'a')));
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "a b c ";
  EXPECT_FALSE(list.In(text));
}

class SiteTest : public ::testing::Test {
 protected:
  SiteTest() {
    std::string root = ::testing::TempDir() + "galen-words-XXXXXX";
    root_ = ::mkdtemp(root.data());
    Write("shipped", "a.yaml", "lists:\n  a: {why: test, place: start, phrases: [go]}\n");
  }
  ~SiteTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  void Write(const std::string& directory, const std::string& name, const std::string& text) {
    fs::create_directories(root_ + "/" + directory + "/talk");
    std::ofstream(root_ + "/" + directory + "/talk/" + name) << text;
  }
  absl::StatusOr<Vocabulary> Load() const {
    return Vocabulary::Load({root_ + "/shipped", root_ + "/site"});
  }

  std::string root_;
};

TEST_F(SiteTest, ItsPhrasesAreAdded) {
  Write("site", "ours.yaml", "lists:\n  a: {phrases: [vamos]}\n");
  const auto vocabulary = Load();
  ASSERT_THAT(vocabulary, IsOk());
  Phrases list;
  ASSERT_THAT(vocabulary->Fill({{"a", &list}}), IsOk());
  EXPECT_TRUE(list.In("go"));
  EXPECT_TRUE(list.In("vamos"));
  EXPECT_FALSE(list.In("ya vamos"));  // the place is that of the list
}

TEST_F(SiteTest, APhraseThatGalenHasSinceIsNoMistake) {
  Write("site", "ours.yaml", "lists:\n  a: {phrases: [go]}\n");
  EXPECT_THAT(Load(), IsOk());
}

TEST_F(SiteTest, AMisspeltListAndAnotherPlaceAreMistakes) {
  Write("site", "ours.yaml", "lists:\n  b: {phrases: [vamos]}\n");
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("site/talk/ours.yaml:2"), HasSubstr("b: no list"))));
  Write("site", "ours.yaml", "lists:\n  a: {place: end, phrases: [vamos]}\n");
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("site/talk/ours.yaml:2"), HasSubstr("place"))));
}

TEST_F(SiteTest, WithoutAnyListsThereIsNothingToFind) {
  fs::remove_all(root_ + "/shipped");
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("talk")));
}

}  // namespace
}  // namespace galen::phrases
