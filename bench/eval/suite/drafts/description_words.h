#ifndef BENCH_EVAL_SUITE_DRAFTS_DESCRIPTION_WORDS_H_
#define BENCH_EVAL_SUITE_DRAFTS_DESCRIPTION_WORDS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/phrases/phrases.h"
#include "common/phrases/vocabulary.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace re2 {
class RE2;
}

namespace galen::drafts {

// The vocabulary for descriptions of checks: lists of suite/knowledge/talk, each with its reason
// there, and patterns that combine a number or a quoted text with the phrases of one. They are
// applied to texts in lower case. A value, immutable once made; thread-safe.
struct DescriptionWords {
  // INVALID_ARGUMENT: the vocabulary lacks a list.
  static absl::StatusOr<DescriptionWords> From(const phrases::Vocabulary& vocabulary);

  using Pattern = std::shared_ptr<const re2::RE2>;

  // "at least 8", 'must be "active"'. Groups: the words, the number and its unit, or the text.
  struct Comparison {
    knowledge::v1::Rule::Op op = knowledge::v1::Rule::OP_UNSPECIFIED;
    Pattern number;
    Pattern quoted;
  };
  std::vector<Comparison> comparisons;
  // Like GE and LE of `comparisons`, but without a negation. Groups: the words, as one of two, the
  // number and its unit.
  Pattern plain_bound;
  // "8 or more". Groups: the number and its unit, the words for more, the words for less.
  Pattern or_more;
  // 'contains "x" on one line'. Groups: the words, and the words after the text.
  Pattern presence;
  // The last cue that a text holds on a healthy machine, or on a faulty one. Group: the cue.
  Pattern last_sound;
  Pattern last_faulty;
  // "the third column". Groups: the ordinal.
  Pattern column;
  // "counts in kB". Group: the unit.
  Pattern counted_in;

  phrases::Phrases turned_round;
  phrases::Phrases absent;
  phrases::Phrases run_before;
  phrases::Phrases section_before;
  phrases::Phrases bracketed;
  phrases::Phrases in_job;
  phrases::Phrases common_word;
  // Ordinals from "first" on, and "last".
  std::vector<phrases::Phrases> ordinals;
  phrases::Phrases last;
};

}  // namespace galen::drafts

#endif  // BENCH_EVAL_SUITE_DRAFTS_DESCRIPTION_WORDS_H_
