#include "services/node/checks/log/training_step.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace galen::node {
namespace {

// The line of a step in regular expressions: the parser does the same by hand.
std::optional<double> Number(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  const std::string lower = absl::AsciiStrToLower(text);
  if (lower == "nan" || lower == "-nan" || lower == "+nan") return std::nan("");
  if (lower == "inf" || lower == "+inf") return HUGE_VAL;
  double value = 0;
  if (!absl::SimpleAtod(text, &value)) return std::nullopt;
  return value;
}

std::optional<double> Find(const std::string& line, const RE2& form) {
  std::string text;
  if (!RE2::PartialMatch(line, form, &text)) return std::nullopt;
  return Number(text);
}

std::optional<TrainingStep> ByExpressions(const std::string& line) {
  static const RE2 step(
      R"((?i)\b(?:global[_ ]step|iteration|iter|step)s?['"]?\s*[:= ]\s*\[?(\d{1,12})\b)",
      RE2::Latin1);
  static const RE2 loss(
      R"((?i)\b(?:lm[_ ]loss|reduced_train_loss|total[_ ]loss|train[_ ]?loss|loss)['"]?\s*[:=]\s*\(?([-+]?(?:\d[\d,]*\.?\d*(?:e[-+]?\d+)?|nan|inf)))",
      RE2::Latin1);
  static const RE2 norm(
      R"((?i)\b(?:grad(?:ient)?[_ ]?norm|gnorm)['"]?\s*(?:\([^)]{0,64}\))?\s*[:=]\s*([-+]?(?:\d[\d,]*\.?\d*(?:e[-+]?\d+)?|nan|inf)))",
      RE2::Latin1);
  static const RE2 rate(
      R"((?i)\b(?:samples per second|samples/sec(?:ond)?|samples_per_second|tokens?/s(?:ec)?(?:/(?:gpu|device))?|tps|TFLOPs?|tflop/s/device|throughput)['"]?\s*(?:\([^)]*\))?\s*[:=]\s*(\d[\d,]*\.?\d*(?:e[-+]?\d+)?))",
      RE2::Latin1);
  TrainingStep found;
  std::string number;
  if (line.size() > 2048 || !RE2::PartialMatch(line, step, &number) ||
      !absl::SimpleAtoi(number, &found.step)) {
    return std::nullopt;
  }
  found.loss = Find(line, loss);
  if (!found.loss.has_value()) return std::nullopt;
  found.grad_norm = Find(line, norm);
  found.rate = Find(line, rate);
  return found;
}

bool Same(std::optional<double> a, std::optional<double> b) {
  if (a.has_value() != b.has_value()) return false;
  return !a.has_value() || *a == *b || (std::isnan(*a) && std::isnan(*b));
}

TEST(TrainingStep, IsWhatTheExpressionsSayOfAnyLine) {
  const std::vector<std::string> parts = {"step",
                                          "steps",
                                          "iteration",
                                          "iter",
                                          "global_step",
                                          "Global step",
                                          "loss",
                                          "LOSS",
                                          "lm loss",
                                          "lm_loss",
                                          "train_loss",
                                          "trainloss",
                                          "reduced_train_loss",
                                          "total_loss",
                                          "val_loss",
                                          "grad norm",
                                          "gnorm",
                                          "gradient_norm",
                                          "gradnorm",
                                          "tps",
                                          "TFLOPs",
                                          "tflop",
                                          "tokens/s",
                                          "tokens/sec/gpu",
                                          "samples per second",
                                          "samples/second",
                                          "throughput",
                                          "tflop/s/device",
                                          ":",
                                          "=",
                                          " ",
                                          "  ",
                                          "\t",
                                          "'",
                                          "\"",
                                          "(",
                                          ")",
                                          "[",
                                          "]",
                                          "(ms)",
                                          "1",
                                          "12",
                                          "1,024",
                                          "1.5E+00",
                                          "2.e",
                                          "3e-",
                                          "nan",
                                          "inf",
                                          "-inf",
                                          "+3",
                                          "-",
                                          "123456789012",
                                          "1234567890123",
                                          "|",
                                          "_",
                                          "x",
                                          ",",
                                          ".",
                                          "\xc3\xa9"};
  std::mt19937 random(20261121);
  std::uniform_int_distribution<std::size_t> part(0, parts.size() - 1);
  std::uniform_int_distribution<int> length(1, 24);
  int steps = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::string line;
    // Half of them have the required parts of a step, so that the rest of it is tried too.
    if (round % 2 == 0) line = "iter 7 loss: 0.5 ";
    for (int i = length(random); i > 0; --i) line += parts[part(random)];
    const auto expected = ByExpressions(line);
    const auto found = ParseTrainingStep(line);
    ASSERT_EQ(found.has_value(), expected.has_value()) << line;
    if (!found.has_value()) continue;
    ++steps;
    EXPECT_EQ(found->step, expected->step) << line;
    EXPECT_TRUE(Same(found->loss, expected->loss)) << line;
    EXPECT_TRUE(Same(found->grad_norm, expected->grad_norm)) << line;
    EXPECT_TRUE(Same(found->rate, expected->rate)) << line;
  }
  EXPECT_GT(steps, 10'000);
}

TEST(TrainingStep, ALineThatIsTooLongIsNone) {
  EXPECT_TRUE(ParseTrainingStep("step 1 loss: 2").has_value());
  EXPECT_FALSE(
      ParseTrainingStep(absl::StrCat("step 1 loss: 2", std::string(3000, ' '))).has_value());
}

}  // namespace
}  // namespace galen::node
