#include "bench/eval/suite/questions.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::eval {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kHead[] = "suite: galen.suite/v1\nmetric: A\nquestions:\n";
constexpr char kShipped[] = GALEN_SOURCE_DIR "/bench/eval/suite/questions";

TEST(Questions, AreReadWithTheirAnswers) {
  const auto questions =
      ParseQuestions(absl::StrCat(kHead,
                                  "  - {id: a-1, split: test, text: hello, targets: ['10.0.0.2', "
                                  "'10.0.0.1:22'], go_on: \"no\"}\n"),
                     "a.yaml");
  ASSERT_TRUE(questions.ok()) << questions.status();
  ASSERT_EQ(questions->size(), 1u);
  EXPECT_EQ((*questions)[0].split, Split::kTest);
  EXPECT_THAT((*questions)[0].targets, ElementsAre("10.0.0.1:22", "10.0.0.2"));
  EXPECT_EQ((*questions)[0].go_on, "no");
}

struct Mistake {
  const char* name;
  std::string text;
  const char* says;
};

class MistakeTest : public ::testing::TestWithParam<Mistake> {};

TEST_P(MistakeTest, IsToldWithFileLineAndRemedy) {
  const auto questions = ParseQuestions(GetParam().text, "q.yaml");
  ASSERT_FALSE(questions.ok());
  EXPECT_EQ(questions.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(questions.status().message()), HasSubstr("q.yaml"));
  EXPECT_THAT(std::string(questions.status().message()), HasSubstr(GetParam().says));
}

const char kB[] = "suite: galen.suite/v1\nmetric: B\nquestions:\n";
const char kC[] = "suite: galen.suite/v1\nmetric: C\nquestions:\n";

INSTANTIATE_TEST_SUITE_P(
    Hostile, MistakeTest,
    ::testing::Values(
        Mistake{"NoMap", "[1, 2]", "is no map"}, Mistake{"Torn", "suite: [", "q.yaml"},
        Mistake{"Format", "suite: other\nmetric: A\nquestions: []\n", "is not known"},
        Mistake{"Metric", "suite: galen.suite/v1\nmetric: D\nquestions: []\n", "write A, B or C"},
        Mistake{"Key",
                absl::StrCat(kHead, "  - {id: a, split: dev, text: x, go_on: \"no\", answer: y}\n"),
                "is not known"},
        Mistake{"Id", absl::StrCat(kHead, "  - {id: ../a, split: dev, text: x, go_on: \"no\"}\n"),
                "id is invalid"},
        Mistake{"Split", absl::StrCat(kHead, "  - {id: a, split: train, text: x, go_on: \"no\"}\n"),
                "write dev or test"},
        Mistake{"GoOn", absl::StrCat(kHead, "  - {id: a, split: dev, text: x, go_on: maybe}\n"),
                "go_on"},
        Mistake{"Empty", absl::StrCat(kHead, "  - {id: a, split: dev, text: ' ', go_on: \"no\"}\n"),
                "is empty"},
        Mistake{"Long",
                absl::StrCat(kHead, "  - {id: a, split: dev, text: ", std::string(70000, 'x'),
                             ", go_on: \"no\"}\n"),
                "at most"},
        Mistake{"PathUp",
                absl::StrCat(kB,
                             "  - {id: b, split: dev, text: x, hosts: [{name: h, expect: healthy, "
                             "files: {/proc/../../etc/passwd: x}}]}\n"),
                "a path is invalid"},
        Mistake{"PathRelative",
                absl::StrCat(kB,
                             "  - {id: b, split: dev, text: x, hosts: [{name: h, expect: healthy, "
                             "files: {etc/passwd: x}}]}\n"),
                "a path is invalid"},
        Mistake{
            "HostName",
            absl::StrCat(
                kB, "  - {id: b, split: dev, text: x, hosts: [{name: ../h, expect: healthy}]}\n"),
            "a name is invalid"},
        Mistake{"HostTwice",
                absl::StrCat(kB,
                             "  - {id: b, split: dev, text: x, hosts: [{name: h, expect: healthy}, "
                             "{name: h, expect: faulty}]}\n"),
                "stands twice"},
        Mistake{"Shown",
                absl::StrCat(kB,
                             "  - {id: b, split: dev, text: x, hosts: [{name: h, expect: faulty, "
                             "shown: yes}]}\n"),
                "write true or false"},
        Mistake{"ShownUnknown",
                absl::StrCat(kB,
                             "  - {id: b, split: dev, text: x, hosts: [{name: h, expect: unknown, "
                             "shown: true}]}\n"),
                "show a healthy or a faulty host"},
        Mistake{"NoAnswer", absl::StrCat(kB, "  - {id: b, split: dev, text: x}\n"), "neither"},
        Mistake{"OneChoice",
                absl::StrCat(kC, "  - {id: c, split: dev, text: x, choices: [A.B], answer: A.B}\n"),
                "fewer than two"},
        Mistake{
            "OtherAnswer",
            absl::StrCat(kC,
                         "  - {id: c, split: dev, text: x, choices: [A.B, A.C], answer: A.D}\n"),
            "not one of the choices"}),
    [](const auto& tested) { return tested.param.name; });

TEST(Questions, AreBoundedInSize) {
  EXPECT_FALSE(ParseQuestions(std::string(kMostQuestionFileBytes + 1, ' '), "q.yaml").ok());
}

TEST(Questions, OfTooManyFilesNoneIsLeftOutInSilence) {
  const std::filesystem::path directory =
      std::filesystem::path(::testing::TempDir()) / "galen-many-questions";
  std::filesystem::create_directories(directory);
  for (int i = 0; i < 65; ++i) {
    std::ofstream(directory / absl::StrCat(i, ".yaml")) << "metric: talk\nquestions: []\n";
  }
  const auto questions = ReadQuestions(directory.string());
  std::filesystem::remove_all(directory);
  EXPECT_EQ(questions.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(questions.status().message()), HasSubstr("more than 64 files"));
}

TEST(Questions, ThoseThatAreNotThereAreToldOf) {
  EXPECT_EQ(ReadQuestions("/nonexistent/questions").status().code(), absl::StatusCode::kNotFound);
}

TEST(Questions, TheShippedOnesAreEnoughAndHalfOfEachKindIsHeldOut) {
  const auto questions = ReadQuestions(kShipped);
  ASSERT_TRUE(questions.ok()) << questions.status();
  EXPECT_GE(questions->size(), 150u);
  for (const Metric metric : {Metric::kTalk, Metric::kCheck, Metric::kCause}) {
    const auto count = [&](Split split) {
      return std::count_if(questions->begin(), questions->end(), [&](const Question& each) {
        return each.metric == metric && each.split == split;
      });
    };
    EXPECT_GE(count(Split::kTest), 20) << MetricName(metric);
    EXPECT_LE(std::abs(count(Split::kTest) - count(Split::kDev)), 1) << MetricName(metric);
  }
}

}  // namespace
}  // namespace galen::eval
