#include "common/base/names.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace galen {

bool IsSegment(absl::string_view text) {
  return !text.empty() && text.size() <= 63 && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) ||
           absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '-';
  });
}

}  // namespace galen
