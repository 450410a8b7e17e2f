#ifndef COMMON_INTAKE_TEXT_H_
#define COMMON_INTAKE_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace galen::intake {

// A text as people paste or attach it, made plain: UTF-16 (with or without a byte order mark) and
// UTF-8 with one become UTF-8, terminal escape sequences and carriage returns before a line feed
// go, a carriage return within a line becomes a space, as do no-break spaces, and HTML entities are
// resolved where the text holds "&lt;", "&gt;", "&amp;" or "&quot;". Lines keep their numbers.
// Pure; takes any bytes.
std::string Plain(absl::string_view text);

// The output of a program as plain text, without the quotation marks of mail where each of its
// lines has them. Data stays as it is. Pure; takes any bytes.
std::string PlainOutput(absl::string_view text);

// True for a text that is data: NUL bytes or control characters in most of its first lines, and not
// UTF-16.
bool IsData(absl::string_view text);

}  // namespace galen::intake

#endif  // COMMON_INTAKE_TEXT_H_
