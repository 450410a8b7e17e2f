#ifndef COMMON_REASONER_LLM_FALLBACK_H_
#define COMMON_REASONER_LLM_FALLBACK_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "galen/v1/reasoning.pb.h"

namespace galen::reasoner::llm {

// Bytes of an error that people are shown.
inline constexpr std::size_t kMostDetail = 300;

// Records in `reasoned` why the rules answer instead of a model; `why` is cut to kMostDetail.
void FallBack(galen::v1::Reasoned& reasoned, galen::v1::Reasoned::Fallback fallback,
              absl::string_view why);

// The reason for a fallback after a failed call to a model.
galen::v1::Reasoned::Fallback FallbackOf(const absl::Status& status);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_FALLBACK_H_
