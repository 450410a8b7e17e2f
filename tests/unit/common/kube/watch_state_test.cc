// The state of a watch and its next step, line by line.
#include "common/kube/watch_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/retry_hint.h"
#include "tests/testing/status_matchers.h"

namespace galen::kube {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Code = absl::StatusCode;

Json Object(const std::string& name, const std::string& version, const std::string& uid = "u") {
  return {{"metadata",
           {{"name", name}, {"namespace", "n"}, {"uid", uid}, {"resourceVersion", version}}}};
}

std::string Event(const std::string& type, const Json& object) {
  return Json{{"type", type}, {"object", object}}.dump();
}

// "+a", "~a", "-a"
std::vector<std::string> Told(const absl::StatusOr<std::vector<Change>>& changes) {
  EXPECT_THAT(changes, IsOk());
  std::vector<std::string> told;
  if (!changes.ok()) return told;
  for (const Change& change : *changes) {
    const char* const sign = change.kind == Change::Kind::kAdded     ? "+"
                             : change.kind == Change::Kind::kChanged ? "~"
                                                                     : "-";
    told.push_back(sign + TextAt(change.object, {"metadata", "name"}));
  }
  return told;
}

class WatchStateTest : public ::testing::Test {
 protected:
  WatchStateTest() {
    EXPECT_TRUE(state_.Next().list);
    EXPECT_THAT(Told(state_.Listed({{Object("a", "1"), Object("b", "2")}, "10"})),
                ElementsAre("+a", "+b"));
  }
  WatchState state_;
};

TEST_F(WatchStateTest, WatchesFromTheVersionOfItsList) {
  EXPECT_FALSE(state_.Next().list);
  EXPECT_EQ(state_.Next().version, "10");
  EXPECT_EQ(state_.Next().failures, 0);
}

TEST_F(WatchStateTest, GoesOnFromTheLastVersionThatItSawAlsoOfABookmark) {
  EXPECT_THAT(Told(state_.Line(Event("MODIFIED", Object("a", "11")))), ElementsAre("~a"));
  EXPECT_THAT(Told(state_.Line(Event("ADDED", Object("c", "12")))), ElementsAre("+c"));
  EXPECT_THAT(Told(state_.Line(Event("DELETED", Object("b", "13")))), ElementsAre("-b"));
  state_.Ended(absl::OkStatus());
  EXPECT_EQ(state_.Next().version, "13");
  EXPECT_THAT(
      Told(state_.Line(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"99"}}})")),
      IsEmpty());
  state_.Ended(absl::UnavailableError("cut off"));
  EXPECT_EQ(state_.Next().version, "99");
  EXPECT_FALSE(state_.Next().list);
  EXPECT_EQ(state_.known(), 2);
}

TEST_F(WatchStateTest, TellsNothingTwice) {
  EXPECT_THAT(Told(state_.Line(Event("MODIFIED", Object("a", "11")))), ElementsAre("~a"));
  EXPECT_THAT(Told(state_.Line(Event("MODIFIED", Object("a", "11")))), IsEmpty());
  EXPECT_THAT(Told(state_.Line(Event("DELETED", Object("b", "13")))), ElementsAre("-b"));
  EXPECT_THAT(Told(state_.Line(Event("DELETED", Object("b", "13")))), IsEmpty());
}

TEST_F(WatchStateTest, ListsAgainWhenItsVersionIsGoneAndTellsOnlyWhatIsDifferent) {
  const auto gone = state_.Line(
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}})");
  EXPECT_THAT(gone, StatusIs(Code::kOutOfRange, HasSubstr("too old")));
  state_.Ended(gone.status());
  EXPECT_TRUE(state_.Next().list);
  EXPECT_THAT(Told(state_.Listed(
                  {{Object("a", "1"), Object("c", "15"), Object("d", "16", "other")}, "20"})),
              UnorderedElementsAre("-b", "+c", "+d"));
  EXPECT_EQ(state_.Next().version, "20");
}

TEST_F(WatchStateTest, AnotherObjectOfTheSameNameIsADeletionAndAnAddition) {
  EXPECT_THAT(Told(state_.Line(Event("ADDED", Object("a", "12", "reborn")))),
              ElementsAre("-a", "+a"));
  EXPECT_THAT(Told(state_.Listed({{Object("a", "30", "third"), Object("b", "2")}, "31"})),
              ElementsAre("-a", "+a"));
}

TEST_F(WatchStateTest, KnowsWhatADeletionWasThatItNeverSaw) {
  const auto changes = state_.Listed({{Object("a", "1")}, "20"});
  ASSERT_THAT(changes, IsOk());
  ASSERT_EQ(changes->size(), 1);
  EXPECT_EQ(changes->front().object,
            Json({{"metadata", {{"name", "b"}, {"namespace", "n"}, {"uid", "u"}}}}));
}

TEST_F(WatchStateTest, RefusesLinesThatAreNone) {
  const std::vector<std::string> odd = {
      "nonsense",
      "[]",
      "{}",
      R"({"type":"ADDED"})",
      R"({"type":"ADDED","object":[]})",
      R"({"type":"ADDED","object":{}})",
      R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"1"}}})",
      R"({"type":"ADDED","object":{"metadata":{"name":"x"}}})",
      R"({"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":7}}})",
      R"({"type":"SHOUTED","object":{"metadata":{"name":"x","resourceVersion":"7"}}})",
      R"({"type":7,"object":{"metadata":{"name":"x","resourceVersion":"7"}}})",
      "{\"type\":\"ADDED\",\"object\":" + std::string(100'000, '[') + "}"};
  for (const std::string& line : odd) {
    EXPECT_THAT(state_.Line(line), StatusIs(Code::kDataLoss, _)) << line.substr(0, 80);
  }
  EXPECT_EQ(state_.known(), 2);
  EXPECT_EQ(state_.Next().version, "10");
  EXPECT_THAT(Told(state_.Line("")), IsEmpty());
  EXPECT_THAT(Told(state_.Line("  \r")), IsEmpty());
}

TEST_F(WatchStateTest, AnErrorWithoutACodeIsOneOfTheServer) {
  for (const char* object : {"{}", R"({"code":"410"})", R"({"code":-1})", R"({"code":99999})"}) {
    EXPECT_THAT(state_.Line(absl::StrCat(R"({"type":"ERROR","object":)", object, "}")),
                StatusIs(Code::kUnavailable, _))
        << object;
  }
}

TEST_F(WatchStateTest, RefusesAListWithoutAVersionOrWithAnObjectWithoutAName) {
  EXPECT_THAT(state_.Listed({{Object("a", "1")}, ""}), StatusIs(Code::kDataLoss, _));
  EXPECT_THAT(state_.Listed({{Json::object()}, "9"}), StatusIs(Code::kDataLoss, _));
  EXPECT_EQ(state_.known(), 2);
}

TEST_F(WatchStateTest, CountsConnectionsThatBringNothingAndListsAfterSome) {
  for (int i = 1; i <= 4; ++i) {
    state_.Ended(absl::UnavailableError("refused"));
    EXPECT_EQ(state_.Next().failures, i);
    EXPECT_FALSE(state_.Next().list);
  }
  state_.Ended(absl::UnavailableError("refused"));
  EXPECT_TRUE(state_.Next().list);
  EXPECT_THAT(Told(state_.Listed({{Object("a", "1"), Object("b", "2")}, "10"})), IsEmpty());
  EXPECT_EQ(state_.Next().failures, 0);
}

TEST_F(WatchStateTest, APauseEndsWithTheFirstWord) {
  state_.Ended(WithRetryAfter(absl::ResourceExhaustedError("slow"), absl::Seconds(9)));
  EXPECT_EQ(state_.Next().retry_after, absl::Seconds(9));
  EXPECT_EQ(state_.Next().failures, 1);
  EXPECT_THAT(Told(state_.Line(Event("MODIFIED", Object("a", "11")))), ElementsAre("~a"));
  EXPECT_EQ(state_.Next().failures, 0);
  EXPECT_EQ(state_.Next().retry_after, std::nullopt);
  // The server ends each connection some time: no failure.
  state_.Ended(absl::OkStatus());
  EXPECT_EQ(state_.Next().failures, 0);
}

TEST(WatchStateFailureTest, AServerWhoseVersionsAreAlwaysGoneIsNotAskedWithoutAPause) {
  WatchState state;
  for (int i = 1; i <= 3; ++i) {
    ASSERT_THAT(state.Listed({{}, "10"}), IsOk());
    state.Ended(absl::OutOfRangeError("gone"));
    EXPECT_TRUE(state.Next().list);
  }
  EXPECT_GT(state.Next().failures, 0);
}

TEST(LinesTest, AreWholeWhereverTheBytesAreCut) {
  const std::string text = "one\ntwo\n\nthree\nrest";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    Lines lines(100);
    std::vector<std::string> taken;
    for (std::size_t at = 0; at < text.size(); at += size) {
      ASSERT_THAT(lines.Add(absl::string_view(text).substr(at, size),
                            [&](absl::string_view line) {
                              taken.emplace_back(line);
                              return absl::OkStatus();
                            }),
                  IsOk());
    }
    EXPECT_THAT(taken, ElementsAre("one", "two", "", "three")) << size;
  }
}

TEST(LinesTest, KeepNoMoreThanALineMayHave) {
  const auto none = [](absl::string_view) { return absl::OkStatus(); };
  Lines lines(5);
  EXPECT_THAT(lines.Add("12345\n1234", none), IsOk());
  EXPECT_THAT(lines.Add("5", none), IsOk());
  EXPECT_THAT(lines.Add("6", none), StatusIs(Code::kDataLoss, HasSubstr("5 bytes")));
  Lines whole(5);
  EXPECT_THAT(whole.Add("123456\n", none), StatusIs(Code::kDataLoss, _));
}

TEST(LinesTest, EndWithTheFirstRefusal) {
  Lines lines(5);
  int taken = 0;
  EXPECT_THAT(lines.Add("1\n2\n3\n",
                        [&](absl::string_view line) {
                          ++taken;
                          return line == "2" ? absl::AbortedError("enough") : absl::OkStatus();
                        }),
              StatusIs(Code::kAborted, "enough"));
  EXPECT_EQ(taken, 2);
}

}  // namespace
}  // namespace galen::kube
