#include "common/profile/json_stream.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace galen::profile {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

void AppendUtf8(std::uint32_t code, std::string& text) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | (code >> 6));
    text += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    // Halves of pairs stand for nothing by themselves, and no name of a kernel needs a pair.
    if (code >= 0xD800 && code < 0xE000) code = 0xFFFD;
    text += static_cast<char>(0xE0 | (code >> 12));
    text += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    text += static_cast<char>(0x80 | (code & 0x3F));
  }
}

}  // namespace

bool JsonStream::Fill() {
  if (over_) return false;
  const absl::StatusOr<absl::string_view> next = source_();
  if (!next.ok() || next->empty()) {
    over_ = true;
    if (!next.ok() && trouble_.empty()) trouble_ = std::string(next.status().message());
    return false;
  }
  at_ = next->data();
  end_ = at_ + next->size();
  bytes_ += static_cast<std::int64_t>(next->size());
  return true;
}

int JsonStream::Peek() {
  while (true) {
    while (at_ != end_ && IsSpace(*at_)) ++at_;
    if (at_ != end_) return static_cast<unsigned char>(*at_);
    if (!Fill()) return -1;
  }
}

JsonStream::Token JsonStream::Broken(absl::string_view why) {
  if (trouble_.empty()) trouble_ = std::string(why);
  over_ = true;
  at_ = end_ = nullptr;
  return Token::kBroken;
}

void JsonStream::Keep(const char* from, std::size_t size) {
  if (!keep_ || text_.size() >= kMostText) return;
  text_.append(from, std::min(size, kMostText - text_.size()));
}

bool JsonStream::ReadHex(std::uint32_t& code) {
  code = 0;
  for (int i = 0; i < 4; ++i) {
    if (at_ == end_ && !Fill()) return false;
    const char c = *at_;
    std::uint32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint32_t>(c - '0');
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      digit = static_cast<std::uint32_t>((c | 0x20) - 'a' + 10);
    } else {
      code = 0xFFFD;  // a name of a Windows path, say: it goes on behind it
      return true;
    }
    code = code * 16 + digit;
    ++at_;
  }
  return true;
}

bool JsonStream::ReadEscape() {
  if (at_ == end_ && !Fill()) return false;
  const char c = *at_++;
  static constexpr absl::string_view kNames = "bfnrt";
  static constexpr absl::string_view kValues = "\b\f\n\r\t";
  if (c == 'u') {
    std::uint32_t code = 0;
    if (!ReadHex(code)) return false;
    std::string utf8;
    AppendUtf8(code, utf8);
    Keep(utf8.data(), utf8.size());
    return true;
  }
  const std::size_t name = kNames.find(c);
  Keep(name == absl::string_view::npos ? &c : &kValues[name], 1);
  return true;
}

// Behind the first quote; takes the last one.
bool JsonStream::ReadText() {
  text_.clear();
  while (true) {
    if (at_ == end_ && !Fill()) return false;
    const char* from = at_;
    while (at_ != end_ && *at_ != '"' && *at_ != '\\') ++at_;
    Keep(from, static_cast<std::size_t>(at_ - from));
    if (at_ == end_) continue;
    if (*at_++ == '"') return true;
    if (!ReadEscape()) return false;
  }
}

JsonStream::Token JsonStream::Value() {
  const char c = *at_;
  if (c == '{' || c == '[') {
    if (open_.size() >= kMostDepth) return Broken("nested deeper than 64 levels");
    ++at_;
    open_.push_back(c);
    want_ = c == '{' ? Want::kKeyOrEnd : Want::kValueOrEnd;
    return c == '{' ? Token::kBeginObject : Token::kBeginArray;
  }
  if (c == '"') {
    ++at_;
    if (!ReadText()) return Broken("cut off within a text");
    AfterValue();
    return Token::kText;
  }
  text_.clear();
  bool number = true;
  while (at_ != end_ || Fill()) {
    const char next = *at_;
    const bool digit = (next >= '0' && next <= '9') || next == '-' || next == '+' || next == '.';
    const char lower = static_cast<char>(next | 0x20);
    if (!digit && (lower < 'a' || lower > 'z')) break;
    if (!digit && lower != 'e') number = false;
    if (text_.size() < 64) text_ += next;
    ++at_;
  }
  if (text_.empty())
    return Broken(absl::StrCat("no value begins with \"", std::string(1, c), "\""));
  if (over_ && !open_.empty()) return Broken("cut off within a value");
  AfterValue();
  return number ? Token::kNumber : Token::kOther;
}

JsonStream::Token JsonStream::Next() {
  const int c = Peek();
  if (c < 0) {
    if (want_ == Want::kNothing && trouble_.empty()) return Token::kEnd;
    return Broken("cut off");
  }
  switch (want_) {
    case Want::kNothing:
      return Token::kEnd;
    case Want::kMore:
      if (c == ',') {
        ++at_;
        want_ = open_.back() == '{' ? Want::kKeyOrEnd : Want::kValueOrEnd;
        return Next();
      }
      break;
    case Want::kValue:
      return Value();
    case Want::kValueOrEnd:
      if (c != ']') return Value();
      break;
    case Want::kKeyOrEnd:
      if (c == '"') {
        ++at_;
        if (!ReadText()) return Broken("cut off within a key");
        if (Peek() != ':') return Broken("a key without a value");
        ++at_;
        want_ = Want::kValue;
        return Token::kKey;
      }
      break;
  }
  if ((c == '}' && open_.back() == '{') || (c == ']' && open_.back() == '[')) {
    ++at_;
    open_.pop_back();
    AfterValue();
    return c == '}' ? Token::kEndObject : Token::kEndArray;
  }
  return Broken("no JSON");
}

bool JsonStream::SkipValue() {
  keep_ = false;
  const std::size_t depth = open_.size();
  Token token = Next();
  while (token != Token::kBroken && token != Token::kEnd && open_.size() > depth) token = Next();
  keep_ = true;
  return token != Token::kBroken && token != Token::kEnd;
}

bool JsonStream::PassOver(Token first) {
  const std::size_t outside = open_.size() - 1;
  if (first == Token::kBroken || first == Token::kEnd) return false;
  if (first != Token::kBeginArray && first != Token::kBeginObject) return true;
  while (open_.size() > outside) {
    if (Next() == Token::kBroken) return false;
  }
  return true;
}

bool JsonStream::ReadScalar(std::string& into) {
  const Token token = Next();
  if (token == Token::kText || token == Token::kNumber) {
    into = text_;
    return true;
  }
  return token == Token::kOther || PassOver(token);
}

}  // namespace galen::profile
