#ifndef SERVICES_CLI_TERMINAL_H_
#define SERVICES_CLI_TERMINAL_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace galen::cli {

// Capabilities of an output stream.
struct Terminal {
  bool interactive = false;  // colour and lines that are rewritten
  int width = 100;           // columns

  // Looks at file descriptor `fd`. NO_COLOR and TERM=dumb make a terminal plain; in a pipe the
  // width is 100.
  static Terminal Of(int fd);
};

enum class Colour { kNone, kBold, kDim, kRed, kGreen, kYellow, kBlue };

// `text` in a colour on a terminal, as it is elsewhere.
std::string Paint(const Terminal& terminal, Colour colour, absl::string_view text);

// Columns that `text` (UTF-8, without escapes) takes; each character counts as one.
std::size_t Columns(absl::string_view text);

// `text` padded with spaces to `columns`, or as it is when longer.
std::string Pad(absl::string_view text, std::size_t columns);

// Breaks `text` at spaces into lines of at most `columns` (a longer word stays whole). Never empty.
std::vector<std::string> Wrap(absl::string_view text, std::size_t columns);

// At most `columns` of `text`, ending in "…" when cut.
std::string Shorten(absl::string_view text, std::size_t columns);

}  // namespace galen::cli

#endif  // SERVICES_CLI_TERMINAL_H_
