#ifndef BENCH_EVAL_SUITE_DRAFTS_CONDITION_H_
#define BENCH_EVAL_SUITE_DRAFTS_CONDITION_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "bench/eval/suite/drafts/description_words.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::drafts {

// The condition that a description states about a value: when the machine is at fault.
struct Condition {
  knowledge::v1::Rule::Op fault = knowledge::v1::Rule::OP_UNSPECIFIED;  // the faulty values
  std::string value;      // a number in plain digits, or a word; "" for presence
  bool number = false;    // `value` is one
  std::string unit;       // written after the number: "kb", "gib", "%"; "" none
  bool presence = false;  // about the presence of a text; EQ: a fault if it is present
  std::size_t at = 0;     // where the words of the condition begin in the description
  std::size_t end = 0;
};

// Reads "must be at least 8", "a fault when above 90", "should not contain", "has to read
// \"active\"". With `negations`, "not" and "never" before a comparison invert it. Nothing if there
// is no condition. Pure.
std::optional<Condition> ReadCondition(absl::string_view description, const DescriptionWords& words,
                                       bool negations);

// The inverse: LT for GE, NE for EQ. Pure.
knowledge::v1::Rule::Op Opposite(knowledge::v1::Rule::Op op);

}  // namespace galen::drafts

#endif  // BENCH_EVAL_SUITE_DRAFTS_CONDITION_H_
