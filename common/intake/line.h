#ifndef COMMON_INTAKE_LINE_H_
#define COMMON_INTAKE_LINE_H_

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "re2/re2.h"

namespace galen::intake {

inline bool IsBlank(absl::string_view line) { return absl::StripAsciiWhitespace(line).empty(); }

// Without the signs by which mail and Markdown quote, at most eight of them: "> text", ">text",
// ">> text". Three of them before a blank are the prompt of Python.
inline absl::string_view Unquoted(absl::string_view line) {
  for (int depth = 0; depth < 8 && !line.empty() && line[0] == '>'; ++depth) {
    if (line == ">>>" || absl::StartsWith(line, ">>> ")) break;
    line.remove_prefix(1);
    absl::ConsumePrefix(&line, " ");
  }
  return line;
}

// Pasted text is bytes; what an expression's author got wrong is said in a message, not on standard
// error.
inline RE2::Options ByteOptions() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  return options;
}

}  // namespace galen::intake

#endif  // COMMON_INTAKE_LINE_H_
