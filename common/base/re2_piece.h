#ifndef COMMON_BASE_RE2_PIECE_H_
#define COMMON_BASE_RE2_PIECE_H_

#include <re2/stringpiece.h>

#include "absl/strings/string_view.h"

namespace galen {

// `text` as RE2 takes it: Abseil's string_view is not always std::string_view, which RE2 would take
// as it is. Header only, so that common/base does not link RE2.
inline re2::StringPiece Piece(absl::string_view text) { return {text.data(), text.size()}; }

}  // namespace galen

#endif  // COMMON_BASE_RE2_PIECE_H_
