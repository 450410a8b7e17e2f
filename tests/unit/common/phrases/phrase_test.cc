#include "common/phrases/phrase.h"

#include <re2/re2.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace galen::phrases {
namespace {

using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

// The only list.
absl::StatusOr<std::string> Lists(absl::string_view name) {
  if (name == "engine") return std::string(R"((?:\bjob\b|\brun\b))");
  return absl::InvalidArgumentError(absl::StrCat("<", name, ">: no list has this name"));
}

struct Fits {
  const char* phrase;
  const char* text;
  bool fits;
};

class PhraseTest : public ::testing::TestWithParam<Fits> {};

TEST_P(PhraseTest, FitsWhatItSays) {
  const auto expression = PhraseExpression(GetParam().phrase, Lists);
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_EQ(RE2::PartialMatch(GetParam().text, RE2(*expression, RE2::Latin1)), GetParam().fits)
      << GetParam().phrase << " in " << GetParam().text << ": " << *expression;
}

INSTANTIATE_TEST_SUITE_P(
    Phrases, PhraseTest,
    ::testing::Values(
        Fits{"go ahead", "please go ahead now", true}, Fits{"go ahead", "let it go aheads", false},
        Fits{"go ahead", "ergo ahead", false}, Fits{"check(s)", "the checks", true},
        Fits{"check(s)", "the check", true}, Fits{"check(s)", "checking", false},
        Fits{"listen(s|ing)", "it is listening", true}, Fits{"listen(s|ing)", "listened", false},
        Fits{"re(-)run", "a rerun", true}, Fits{"re(-)run", "a re-run", true},
        Fits{"diagnos*", "a diagnosis", true}, Fits{"diagnos*", "misdiagnosed", false},
        Fits{"is|are down", "they are down", true}, Fits{"is|are down", "they were down", false},
        Fits{"go [right] ahead", "go right ahead", true},
        Fits{"go [right] ahead", "go ahead", true},
        Fits{"go [right] ahead", "go left ahead", false}, Fits{"[not] yet", "yet", true},
        Fits{"except [for] it", "except it", true},
        Fits{"stop [the|my]* job", "stop the my the job", true},
        Fits{"stop [the|my]* job", "stop job", true},
        Fits{"stop [the [old]] job", "stop the old job", true},
        Fits{"stop [the [old]] job", "stop old job", false},
        Fits{"don't * it", "don't double-check it", true}, Fits{"don't * it", "don't it", false},
        Fits{"curl ** now", "curl http://a/b?c now", true},
        Fits{"stop the <engine>", "stop the run", true},
        Fits{"stop the <engine>", "stop the fan", false}, Fits{"->", "a -> b", true},
        Fits{"e.g.", "e.g. this", true}, Fits{"e.g.", "eggs", false}, Fits{"+1", "a +1", true},
        Fits{"👍", "👍👍", true}, Fits{"mlx5_*", "mlx5_0", true}));

struct Refused {
  const char* phrase;
  const char* why;
};

class RefusedPhraseTest : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusedPhraseTest, SaysWhatIsWrong) {
  EXPECT_THAT(PhraseExpression(GetParam().phrase, Lists),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().why)));
}

INSTANTIATE_TEST_SUITE_P(
    Phrases, RefusedPhraseTest,
    ::testing::Values(
        Refused{"", "0 bytes"}, Refused{"Go", "capital letter"},
        Refused{"checks?", "not a regular expression"},
        Refused{"\\bgo\\b", "not a regular expression"}, Refused{"go\tahead", "control character"},
        Refused{"go  ahead", "two spaces"}, Refused{"go ", "two spaces"},
        Refused{" go", "two spaces"}, Refused{"[go", "no ]"}, Refused{"go]", "no ["},
        Refused{"[go]", "has to be there"}, Refused{"[]", "two spaces"},
        Refused{"[go]ahead", "space is missing"}, Refused{"check[s]", "within a word"},
        Refused{"check(s", "round bracket"}, Refused{"check()", "round bracket"},
        Refused{"check)", "round bracket"}, Refused{"a((b))", "round bracket"},
        Refused{"is||are", "empty"}, Refused{"is|", "empty"}, Refused{"di*gnose", "word's end"},
        Refused{"[[[[a] b] c] d] e", "3 deep"}, Refused{"a(b)(c)(d)(e)(f)(g)(h)", "64 forms"},
        Refused{"the <car>", "no list has this name"}));

TEST(Phrase, IsBoundedInLength) {
  EXPECT_TRUE(PhraseExpression(std::string(kMostPhraseBytes, 'a'), Lists).ok());
  EXPECT_FALSE(PhraseExpression(std::string(kMostPhraseBytes + 1, 'a'), Lists).ok());
}

}  // namespace
}  // namespace galen::phrases
