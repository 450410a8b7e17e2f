#ifndef COMMON_KNOWLEDGE_NOTHING_WRONG_H_
#define COMMON_KNOWLEDGE_NOTHING_WRONG_H_

#include "absl/strings/string_view.h"

namespace galen::knowledge {

// In place of a leaf, in a list of complaints: reports of people when nothing is broken.
inline constexpr absl::string_view kNothingWrong = "NOTHING_WRONG";

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_NOTHING_WRONG_H_
