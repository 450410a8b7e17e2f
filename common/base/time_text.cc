#include "common/base/time_text.h"

#include "absl/strings/str_cat.h"

namespace galen {

std::string TimeText(absl::Time time, int digits) {
  return absl::FormatTime(absl::StrCat("%Y-%m-%d%ET%H:%M:%E", digits, "SZ"), time,
                          absl::UTCTimeZone());
}

}  // namespace galen
