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
  // Skips the rest of the value whose first token was `first`. False when the text breaks in it.
  bool PassOver(Token first);
  // Reads the fields of the object that comes next; skips any other value. `field` takes a key,
  // which is no longer valid when its value is read, reads or skips the value, and is false when
  // the text breaks.
  template <typename Field>
  bool ReadObject(Field field) {
    const Token token = Next();
    if (token != Token::kBeginObject) return PassOver(token);
    Token next = Next();
    for (; next == Token::kKey; next = Next()) {
      if (!field(absl::string_view(text_))) return false;
    }
    return next == Token::kEndObject;
  }
  // Reads the elements of the array that comes next; skips any other value. `element` takes the
  // first token of each.
  template <typename Element>
  bool ReadArray(Element element) {
    const Token token = Next();
    if (token != Token::kBeginArray) return PassOver(token);
    Token next = Next();
    for (; next != Token::kEndArray; next = Next()) {
      if (next == Token::kBroken || next == Token::kEnd || !element(next)) return false;
    }
    return true;
  }
  // Reads a text or a number as text; skips any other value.
  bool ReadScalar(std::string& into);
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
