#ifndef COMMON_BASE_CAUSE_IN_WORDS_H_
#define COMMON_BASE_CAUSE_IN_WORDS_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen {

// In place of a label in a confirmation: the cause that the report states in words, because the
// taxonomy does not have it. No label has this form.
inline constexpr absl::string_view kCauseInWords = "IN_WORDS";

// The verdict in which a language model states such a cause, with citations that stand. Null: the
// report has none. Pure.
inline const v1::ModelVerdict* CauseInWords(const v1::Report& report) {
  for (const v1::ModelVerdict& verdict : report.model_verdicts()) {
    const bool states = verdict.outcome() == v1::ModelVerdict::CONFIRMED ||
                        verdict.outcome() == v1::ModelVerdict::OPEN;
    if (states && verdict.label().empty() && verdict.objection().empty() &&
        !verdict.text().empty()) {
      return &verdict;
    }
  }
  return nullptr;
}

// The cause that a person established: its label, or the words in quotation marks. Pure.
inline std::string ConfirmedCause(const v1::Diagnosis& diagnosis) {
  const std::string& label = diagnosis.confirmation().label();
  if (label != kCauseInWords) return label;
  const v1::ModelVerdict* const stated = CauseInWords(diagnosis.report());
  return stated == nullptr ? label : absl::StrCat("\"", stated->text(), "\"");
}

}  // namespace galen

#endif  // COMMON_BASE_CAUSE_IN_WORDS_H_
