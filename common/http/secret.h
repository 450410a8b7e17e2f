#ifndef COMMON_HTTP_SECRET_H_
#define COMMON_HTTP_SECRET_H_

#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace galen::http {

// A key. It has no way into a stream, a format or a string but Reveal(), which only those call who
// send it.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}

  bool empty() const { return text_.empty(); }
  const std::string& Reveal() const { return text_; }
  bool operator==(const Secret& other) const { return text_ == other.text_; }

  // `text` with "[key]" wherever it holds the secret: for texts of others.
  std::string TakenOutOf(absl::string_view text) const {
    if (text_.empty()) return std::string(text);
    return absl::StrReplaceAll(text, {{text_, "[key]"}});
  }

 private:
  std::string text_;
};

}  // namespace galen::http

#endif  // COMMON_HTTP_SECRET_H_
