#include "services/node/checks/log/training_step.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/types/span.h"

namespace galen::node {
namespace {

// A log has millions of such lines, so this is by hand what the expressions in
// training_step_test.cc say in few words; that test holds one against the other.

constexpr std::size_t kLongest = 2048;

using Keys = absl::Span<const absl::string_view>;

// Lower case. Each begins and ends with a letter.
constexpr absl::string_view kStepKeys[] = {
    "global step", "global_step", "global steps", "global_steps", "iteration",
    "iterations",  "iter",        "iters",        "step",         "steps"};
constexpr absl::string_view kLossKeys[] = {
    "loss",       "lm loss",    "lm_loss",    "reduced_train_loss", "total loss",
    "total_loss", "train loss", "train_loss", "trainloss"};
constexpr absl::string_view kNormKeys[] = {"grad norm",     "grad_norm",     "gradnorm",
                                           "gradient norm", "gradient_norm", "gradientnorm",
                                           "gnorm"};
constexpr absl::string_view kRateKeys[] = {"samples per second",
                                           "samples/sec",
                                           "samples/second",
                                           "samples_per_second",
                                           "token/s",
                                           "token/s/gpu",
                                           "token/s/device",
                                           "token/sec",
                                           "token/sec/gpu",
                                           "token/sec/device",
                                           "tokens/s",
                                           "tokens/s/gpu",
                                           "tokens/s/device",
                                           "tokens/sec",
                                           "tokens/sec/gpu",
                                           "tokens/sec/device",
                                           "tps",
                                           "tflop",
                                           "tflops",
                                           "tflop/s/device",
                                           "throughput"};

// Which of the fields a letter may begin.
enum StepField : std::uint8_t { kStep = 1, kLoss = 2, kNorm = 4, kRate = 8 };

struct Letters {
  std::array<std::uint8_t, 256> begins = {};
  std::array<bool, 256> is_word = {};
};

constexpr void Note(Letters& letters, Keys keys, StepField field) {
  for (const absl::string_view key : keys) {
    const char c = key[0];
    letters.begins[static_cast<unsigned char>(c)] |= field;
    letters.begins[static_cast<unsigned char>(c - 'a' + 'A')] |= field;
  }
}

constexpr Letters MakeLetters() {
  Letters letters;
  Note(letters, kStepKeys, kStep);
  Note(letters, kLossKeys, kLoss);
  Note(letters, kNormKeys, kNorm);
  Note(letters, kRateKeys, kRate);
  for (int c = '0'; c <= '9'; ++c) letters.is_word[static_cast<std::size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) letters.is_word[static_cast<std::size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) letters.is_word[static_cast<std::size_t>(c)] = true;
  letters.is_word['_'] = true;
  return letters;
}

constexpr Letters kLetters = MakeLetters();

bool IsWord(char c) { return kLetters.is_word[static_cast<unsigned char>(c)]; }
bool IsDecimal(char c) { return c >= '0' && c <= '9'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; }

bool IsAt(const char* at, const char* end, absl::string_view key) {
  if (static_cast<std::size_t>(end - at) < key.size()) return false;
  for (const char c : key) {
    if (absl::ascii_tolower(static_cast<unsigned char>(*at++)) != c) return false;
  }
  return true;
}

const char* SkipSpace(const char* at, const char* end) {
  while (at < end && IsSpace(*at)) ++at;
  return at;
}

const char* SkipQuote(const char* at, const char* end) {
  return at < end && (*at == '\'' || *at == '"') ? at + 1 : at;
}

// Skips the separator of a key and its value, `: ` or ` = `, and an optional unit in parentheses
// before it. nullptr: something else.
const char* SkipEquals(const char* at, const char* end, std::size_t longest_unit) {
  at = SkipSpace(SkipQuote(at, end), end);
  if (longest_unit > 0 && at < end && *at == '(') {
    const auto room = std::min(static_cast<std::size_t>(end - at - 1), longest_unit + 1);
    const void* const close = std::memchr(at + 1, ')', room);
    if (close == nullptr) return nullptr;
    at = SkipSpace(static_cast<const char*>(close) + 1, end);
  }
  if (at == end || (*at != ':' && *at != '=')) return nullptr;
  return SkipSpace(at + 1, end);
}

// "12", " [12": the number that follows the word of a step. nullopt: none.
std::optional<std::int64_t> StepAt(const char* at, const char* end) {
  constexpr std::ptrdiff_t kMostDigits = 12;
  at = SkipQuote(at, end);
  const char* const space = at;
  at = SkipSpace(at, end);
  if (at < end && (*at == ':' || *at == '=')) {
    at = SkipSpace(at + 1, end);
  } else if (std::find(space, at, ' ') == at) {
    return std::nullopt;
  }
  if (at < end && *at == '[') ++at;
  const char* const begin = at;
  std::int64_t number = 0;
  while (at < end && IsDecimal(*at) && at - begin <= kMostDigits)
    number = 10 * number + (*at++ - '0');
  if (at == begin || at - begin > kMostDigits || (at < end && IsWord(*at))) return std::nullopt;
  return number;
}

// A number as programs print it: "2.66E+00", "1,024.5", and with `any` also "-3", "nan", "inf". The
// text after it does not matter. nullopt: none.
std::optional<double> NumberAt(const char* at, const char* end, bool any) {
  const char* const begin = at;
  bool negative = false;
  if (any && at < end && (*at == '-' || *at == '+')) negative = *at++ == '-';
  if (any && IsAt(at, end, "nan")) return std::numeric_limits<double>::quiet_NaN();
  if (any && IsAt(at, end, "inf")) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return negative ? -kInfinity : kInfinity;
  }
  if (at == end || !IsDecimal(*at)) return std::nullopt;
  bool has_commas = false;
  for (; at < end && (IsDecimal(*at) || *at == ','); ++at) has_commas = has_commas || *at == ',';
  if (at < end && *at == '.') ++at;
  while (at < end && IsDecimal(*at)) ++at;
  if (at < end && (*at == 'e' || *at == 'E')) {
    const char* digits = at + 1;
    if (digits < end && (*digits == '-' || *digits == '+')) ++digits;
    if (digits < end && IsDecimal(*digits)) {
      at = digits;
      while (at < end && IsDecimal(*at)) ++at;
    }
  }
  const absl::string_view text(begin, static_cast<std::size_t>(at - begin));
  double value = 0;
  if (!has_commas) return absl::SimpleAtod(text, &value) ? std::optional(value) : std::nullopt;
  std::string plain(text);
  plain.erase(std::remove(plain.begin(), plain.end(), ','), plain.end());
  return absl::SimpleAtod(plain, &value) ? std::optional(value) : std::nullopt;
}

// Whether NumberAt() finds the beginning of one.
bool IsNumber(const char* at, const char* end, bool any) {
  if (any && at < end && (*at == '-' || *at == '+')) ++at;
  if (any && (IsAt(at, end, "nan") || IsAt(at, end, "inf"))) return true;
  return at < end && IsDecimal(*at);
}

// Calls `take` with the text after each key found at `at`, until it returns true.
template <typename Take>
bool AnyKey(const char* at, const char* end, Keys keys, Take take) {
  for (const absl::string_view key : keys) {
    if (IsAt(at, end, key) && take(at + key.size())) return true;
  }
  return false;
}

}  // namespace

std::optional<TrainingStep> ParseTrainingStep(absl::string_view line) {
  constexpr std::size_t kLongestNormUnit = 64;
  if (line.size() > kLongest) return std::nullopt;
  TrainingStep found;
  // A field whose first number says nothing has none: what comes later is of something else.
  unsigned missing = kStep | kLoss | kNorm | kRate;
  const char* const end = line.data() + line.size();
  bool in_word = false;
  for (const char* at = line.data(); at < end && missing != 0; ++at) {
    const auto c = static_cast<unsigned char>(*at);
    const bool begins = !in_word;
    in_word = kLetters.is_word[c];
    const unsigned fields = begins ? kLetters.begins[c] & missing : 0U;
    if (fields == 0) continue;
    if ((fields & kStep) != 0 && AnyKey(at, end, kStepKeys, [&](const char* rest) {
          const auto step = StepAt(rest, end);
          found.step = step.value_or(0);
          return step.has_value();
        })) {
      missing &= ~unsigned{kStep};
    }
    const auto number = [&](Keys keys, std::size_t unit, bool may_be_open, bool any,
                            std::optional<double>& value) {
      return AnyKey(at, end, keys, [&](const char* rest) {
        rest = SkipEquals(rest, end, unit);
        if (rest == nullptr) return false;
        if (may_be_open && rest < end && *rest == '(') ++rest;
        if (!IsNumber(rest, end, any)) return false;
        value = NumberAt(rest, end, any);
        return true;
      });
    };
    if ((fields & kLoss) != 0 && number(kLossKeys, 0, true, true, found.loss)) {
      if (!found.loss.has_value()) return std::nullopt;
      missing &= ~unsigned{kLoss};
    }
    if ((fields & kNorm) != 0 &&
        number(kNormKeys, kLongestNormUnit, false, true, found.grad_norm)) {
      missing &= ~unsigned{kNorm};
    }
    if ((fields & kRate) != 0 && number(kRateKeys, kLongest, false, false, found.rate)) {
      missing &= ~unsigned{kRate};
    }
  }
  if ((missing & (kStep | kLoss)) != 0) return std::nullopt;
  return found;
}

}  // namespace galen::node
