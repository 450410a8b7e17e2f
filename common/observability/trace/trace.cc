#include "common/observability/trace/trace.h"

#include <sys/random.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "common/base/names.h"

namespace galen::trace {
namespace {

constexpr std::uint8_t kRecorded = 1;
constexpr std::size_t kLength = 55;  // of version 00
constexpr std::size_t kMostLength = 512;

thread_local Work current;

// Bytes that nobody can guess, fetched for some dozen ids at a time.
class RandomBytes {
 public:
  void Take(std::uint8_t* to, std::size_t count) {
    if (used_ + count > bytes_.size()) Refill();
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(used_), count, to);
    used_ += count;
  }

 private:
  void Refill() {
    used_ = 0;
    if (getrandom(bytes_.data(), bytes_.size(), 0) == static_cast<ssize_t>(bytes_.size())) return;
    std::random_device random;
    for (std::uint8_t& byte : bytes_) byte = static_cast<std::uint8_t>(random());
  }

  std::array<std::uint8_t, 256> bytes_{};  // what getrandom() gives whole
  std::size_t used_ = 256;
};

template <std::size_t n>
void Randomize(std::array<std::uint8_t, n>& id) {
  thread_local RandomBytes random;
  do {
    random.Take(id.data(), n);
  } while (std::all_of(id.begin(), id.end(), [](std::uint8_t byte) { return byte == 0; }));
}

// -1 for a character that is not a lowercase hexadecimal digit.
int Digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

template <std::size_t n>
bool FromHex(absl::string_view text, std::array<std::uint8_t, n>& bytes) {
  if (text.size() != 2 * n) return false;
  for (std::size_t i = 0; i < n; ++i) {
    const int high = Digit(text[2 * i]);
    const int low = Digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

template <std::size_t n>
void AppendHex(const std::array<std::uint8_t, n>& bytes, std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
}

}  // namespace

bool Context::valid() const {
  const auto is_set = [](std::uint8_t byte) { return byte != 0; };
  return std::any_of(trace_id.begin(), trace_id.end(), is_set) &&
         std::any_of(span_id.begin(), span_id.end(), is_set);
}

std::optional<Context> Parse(absl::string_view traceparent) {
  if (traceparent.size() < kLength || traceparent.size() > kMostLength) return std::nullopt;
  std::array<std::uint8_t, 1> version{};
  std::array<std::uint8_t, 1> flags{};
  Context context;
  if (!FromHex(traceparent.substr(0, 2), version) || traceparent[2] != '-' ||
      !FromHex(traceparent.substr(3, 32), context.trace_id) || traceparent[35] != '-' ||
      !FromHex(traceparent.substr(36, 16), context.span_id) || traceparent[52] != '-' ||
      !FromHex(traceparent.substr(53, 2), flags)) {
    return std::nullopt;
  }
  if (version[0] == 0xff) return std::nullopt;
  const bool longer = traceparent.size() > kLength;
  if (longer && (version[0] == 0 || traceparent[kLength] != '-')) return std::nullopt;
  // Only the first flag is known; unknown ones are not passed on.
  context.flags = flags[0] & kRecorded;
  if (!context.valid()) return std::nullopt;
  return context;
}

std::string Format(const Context& context) {
  std::string text = "00-";
  text.reserve(kLength);
  AppendHex(context.trace_id, text);
  text += '-';
  AppendHex(context.span_id, text);
  text += '-';
  AppendHex(std::array<std::uint8_t, 1>{context.flags}, text);
  return text;
}

std::string TraceIdOf(const Context& context) {
  std::string text;
  if (context.valid()) AppendHex(context.trace_id, text);
  return text;
}

Context NewTrace() {
  Context context;
  Randomize(context.trace_id);
  Randomize(context.span_id);
  context.flags = kRecorded;
  return context;
}

Context ChildOf(const Context& parent) {
  Context context = parent;
  Randomize(context.span_id);
  return context;
}

std::optional<Context> InTrace(absl::string_view trace_id) {
  Context context;
  if (!FromHex(trace_id, context.trace_id)) return std::nullopt;
  Randomize(context.span_id);
  context.flags = kRecorded;
  if (!context.valid()) return std::nullopt;
  return context;
}

const Work& Current() { return current; }

Scope::Scope(Work work) : outer_(std::move(current)) { current = std::move(work); }

Scope::~Scope() { current = std::move(outer_); }

absl::string_view DiagnosisName(absl::string_view name) {
  absl::string_view rest = name;
  if (!absl::ConsumePrefix(&rest, "tenants/")) return "";
  const std::size_t cut = rest.find('/');
  if (cut == absl::string_view::npos || !IsSegment(rest.substr(0, cut))) return "";
  rest.remove_prefix(cut);
  if (!absl::ConsumePrefix(&rest, "/diagnoses/") || !IsSegment(rest)) return "";
  return name;
}

}  // namespace galen::trace
