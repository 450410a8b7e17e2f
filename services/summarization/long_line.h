#ifndef SERVICES_SUMMARIZATION_LONG_LINE_H_
#define SERVICES_SUMMARIZATION_LONG_LINE_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

// Lines that are too long to be shown whole. A line that is cut should be free of secrets before:
// half of one is not recognised. All are pure.
namespace galen::summarization {

// `line`, cleaned, in about `most` bytes. A longer one is shortened to its beginning, the
// surroundings of a match that ends at byte `match_end` (0: there is none), and its end. A note
// stands for the rest: "[bytes 201-4000 of 5120 are left out]", counted from 1.
std::string Shortened(absl::string_view line, std::size_t match_end, std::size_t most);

// A part of a line.
struct LinePart {
  std::string text;
  std::size_t first = 0;  // its bytes in the line, from 1
  std::size_t last = 0;
};
// At most `most` bytes from byte `first` (from 1) on, at the bounds of characters. An empty text:
// the line has no such byte.
LinePart PartOfLine(absl::string_view line, std::size_t first, std::size_t most);

}  // namespace galen::summarization

#endif  // SERVICES_SUMMARIZATION_LONG_LINE_H_
