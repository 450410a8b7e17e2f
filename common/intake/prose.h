#ifndef COMMON_INTAKE_PROSE_H_
#define COMMON_INTAKE_PROSE_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace galen::intake {

// How people write, in contrast to programs. All functions are pure and take any bytes.

// Whether a line is some words of letters with single blanks between them.
bool LooksLikeProse(absl::string_view line);

// The begin of an error that a person repeats in a sentence or title as a program prints it, or
// npos.
std::size_t ErrorIn(absl::string_view line);

// Whether a quotation is a message of a program, not a name or a few words.
bool IsMessage(absl::string_view quoted);

}  // namespace galen::intake

#endif  // COMMON_INTAKE_PROSE_H_
