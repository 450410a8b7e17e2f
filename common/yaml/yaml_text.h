#ifndef COMMON_YAML_YAML_TEXT_H_
#define COMMON_YAML_YAML_TEXT_H_

#include <array>
#include <streambuf>

#include "absl/strings/string_view.h"

namespace galen {

// A text for yaml-cpp's parser, read in place. yaml-cpp (0.7) treats an unclosed quotation as
// closed if the text ends with its line, so that a truncated file would be accepted. This buffer
// appends a comment after such an end, which prevents that and changes nothing else.
class YamlTextBuffer final : public std::streambuf {
 public:
  // `text` outlives it.
  explicit YamlTextBuffer(absl::string_view text) {
    const absl::string_view filled = text.substr(0, text.find_last_not_of(" \t") + 1);
    ends_a_line_ = filled.empty() || filled.back() == '\n' || filled.back() == '\r';
    needs_line_end_ = filled.size() != text.size();
    char* begin = const_cast<char*>(text.data());  // only read: there is no put area
    setg(begin, begin, begin + text.size());
  }

 private:
  int_type underflow() override {
    if (!ends_a_line_) return traits_type::eof();
    ends_a_line_ = false;
    char* begin = comment_.data() + (needs_line_end_ ? 0 : 1);
    setg(begin, begin, comment_.data() + comment_.size());
    return traits_type::to_int_type(*begin);
  }

  bool ends_a_line_ = false;
  bool needs_line_end_ = false;
  std::array<char, 2> comment_ = {'\n', '#'};
};

}  // namespace galen

#endif  // COMMON_YAML_YAML_TEXT_H_
