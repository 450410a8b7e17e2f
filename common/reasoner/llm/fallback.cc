#include "common/reasoner/llm/fallback.h"

#include "common/base/text.h"

namespace galen::reasoner::llm {

using galen::v1::Reasoned;

void FallBack(Reasoned& reasoned, Reasoned::Fallback fallback, absl::string_view why) {
  reasoned.set_fallback(fallback);
  reasoned.set_detail(CleanText(why, kMostDetail));
}

Reasoned::Fallback FallbackOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kDeadlineExceeded:
      return Reasoned::OUT_OF_TIME;
    case absl::StatusCode::kDataLoss:
      return Reasoned::BAD_ANSWER;
    default:
      return Reasoned::UNAVAILABLE;
  }
}

}  // namespace galen::reasoner::llm
