#include "common/log_analysis/templates/mask.h"

#include <cstring>

#include "common/log_analysis/templates/characters.h"

namespace galen::log_templates {
namespace {

// Writes one token.
class Masker {
 public:
  Masker(const char* at, const char* end, char* out) : at_(at), end_(end), out_(out) {}

  std::size_t Run() {
    const char* const begin = at_;
    while (at_ < end_) {
      const std::uint8_t character = CharacterOf(*at_);
      if ((character & kWord) != 0) {
        TakeWord();
        continue;
      }
      if ((character & kSlash) != 0 && (at_ == begin || !IsWord(at_[-1])) && TakePath()) continue;
      Put(*at_++, (character & kJoint) != 0);
    }
    return size_;
  }

 private:
  static bool IsWord(char c) { return (CharacterOf(c) & kWord) != 0; }

  void Put(char c, bool joint) {
    out_[size_++] = c;
    joined_ = joined_ && joint;
  }

  void PutMask() {
    if (joined_) {
      size_ = mask_end_;  // one with the mask before
      return;
    }
    // A sign is a part of the number.
    if (size_ > 0 && (out_[size_ - 1] == '-' || out_[size_ - 1] == '+') &&
        (size_ == 1 || out_[size_ - 2] == '=' || out_[size_ - 2] == '(' || out_[size_ - 2] == '[' ||
         out_[size_ - 2] == ',')) {
      --size_;
    }
    std::memcpy(out_ + size_, kMask.data(), kMask.size());
    size_ += kMask.size();
    mask_end_ = size_;
    joined_ = true;
  }

  // Numbers, addresses, UUIDs, dates, times: hexadecimal digits and joints up to the end of a word,
  // including a decimal digit.
  bool TakeHexadecimal() {
    if (at_ < none_until_) return false;
    const char* at = at_;
    const char* last = nullptr;  // behind the last digit
    std::uint8_t seen = 0;
    if (*at == '0' && at + 2 < end_ && (at[1] | 0x20) == 'x' &&
        (CharacterOf(at[2]) & (kDigit | kHexLetter)) != 0) {
      at += 2;
      seen = kDigit;
    }
    for (; at < end_; ++at) {
      const std::uint8_t character = CharacterOf(*at);
      if ((character & (kDigit | kHexLetter)) != 0) {
        seen |= character;
        last = at + 1;
      } else if ((character & kHexJoint) == 0) {
        break;
      }
    }
    if ((seen & kDigit) == 0 || (last < end_ && IsWord(*last))) {
      none_until_ = at;  // nor does it from a place further on, which is not tried again
      return false;
    }
    at_ = last;
    PutMask();
    return true;
  }

  // A word and the number after it, if any; otherwise its digits are masked.
  void TakeWord() {
    const char* end = at_;
    std::uint8_t seen = 0;
    for (; end < end_ && IsWord(*end); ++end) seen |= CharacterOf(*end);
    const bool prefixed = *at_ == '0' && end - at_ > 2 && (at_[1] | 0x20) == 'x';
    if ((prefixed || (seen & kOtherLetter) == 0) && TakeHexadecimal()) return;
    while (at_ < end) {
      if ((CharacterOf(*at_) & kDigit) == 0) {
        out_[size_++] = *at_++;
        joined_ = false;
        continue;
      }
      while (at_ < end && (CharacterOf(*at_) & kDigit) != 0) ++at_;
      PutMask();
    }
  }

  // "/a/b.c": at least two names. After "//", as in a URL, also the rest.
  bool TakePath() {
    const char* at = at_;
    const bool url = end_ - at > 1 && at[1] == '/';
    int slashes = 0;
    for (; at < end_; ++at) {
      const char c = *at;
      if (c == '/') {
        ++slashes;
      } else if (!IsWord(c) && c != '.' && c != '_' && c != '-' && c != '~' && c != '+' &&
                 c != '@' && c != '%' &&
                 !(url && (c == ':' || c == '#' || c == '?' || c == '=' || c == '&'))) {
        break;
      }
    }
    if (slashes < 2) return false;
    while (at[-1] == '.' || at[-1] == ':') --at;  // the end of a sentence
    at_ = at;
    PutMask();
    return true;
  }

  const char* at_;
  const char* const end_;
  char* const out_;
  const char* none_until_ = at_;
  std::size_t size_ = 0;
  std::size_t mask_end_ = 0;
  bool joined_ = false;  // only joints follow the last mask
};

}  // namespace

std::size_t MaskToken(absl::string_view token, char* out) {
  token = token.substr(0, kMostOfToken);
  return Masker(token.data(), token.data() + token.size(), out).Run();
}

}  // namespace galen::log_templates
