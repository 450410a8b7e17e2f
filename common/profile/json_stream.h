#ifndef COMMON_PROFILE_JSON_STREAM_H_
#define COMMON_PROFILE_JSON_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::profile {

// Reads JSON of any size and of a hostile author, token by token, in constant memory: only the
// first kMostText bytes of a string are kept. It accepts profilers' deviations from JSON (NaN, raw
// control characters, unknown escapes). Not thread-safe.
class JsonStream {
 public:
  enum class Token {
    kBeginObject,
    kEndObject,
    kBeginArray,
    kEndArray,
    kKey,
    kText,
    kNumber,
    kOther,   // true, false, null, NaN
    kEnd,     // the value is complete
    kBroken,  // trouble() says why; so is every one after it
  };
  static constexpr std::size_t kMostText = 4096;
  static constexpr std::size_t kMostDepth = 64;

  // The next bytes of the text, valid until the next call; empty at its end.
  using Source = std::function<absl::StatusOr<absl::string_view>()>;
  explicit JsonStream(Source source) : source_(std::move(source)) {}

  Token Next();
  // Text of the last key, string, number or literal.
  const std::string& text() const { return text_; }
  // Skips the value after a key. False when the text breaks in it.
  bool SkipValue();
  // The number of open objects and arrays.
  std::size_t depth() const { return open_.size(); }
  const std::string& trouble() const { return trouble_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  enum class Want { kValue, kValueOrEnd, kKeyOrEnd, kMore, kNothing };

  bool Fill();
  // The next byte that is not a space, not consumed; -1 at the end.
  int Peek();
  Token Broken(absl::string_view why);
  Token Value();
  bool ReadText();
  bool ReadEscape();
  bool ReadHex(std::uint32_t& code);
  void Keep(const char* from, std::size_t size);
  void AfterValue() { want_ = open_.empty() ? Want::kNothing : Want::kMore; }

  Source source_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::int64_t bytes_ = 0;
  std::vector<char> open_;  // '{' and '['
  Want want_ = Want::kValue;
  bool keep_ = true;
  bool over_ = false;
  std::string text_;
  std::string trouble_;
};

}  // namespace galen::profile

#endif  // COMMON_PROFILE_JSON_STREAM_H_
