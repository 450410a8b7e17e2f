#ifndef BENCH_EVAL_SUITE_DRAFTS_FIND_CHECK_H_
#define BENCH_EVAL_SUITE_DRAFTS_FIND_CHECK_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "bench/eval/suite/drafts/description_words.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::drafts {

// The check of the catalogue that `asked` describes: by the words of its name, title and findings,
// where rare words count more and common ones not. Null if no check has enough of them. Pure.
const knowledge::v1::Check* FindCheckByWords(const knowledge::v1::KnowledgeBase& base,
                                             absl::string_view asked,
                                             const DescriptionWords& words);

// The parameters of `check` that `words` give, by their names and units: "for 30 seconds", "GPU 3",
// "device mlx5_0". Pure.
std::map<std::string, std::string> ParametersFrom(const knowledge::v1::Check& check,
                                                  absl::string_view words);

}  // namespace galen::drafts

#endif  // BENCH_EVAL_SUITE_DRAFTS_FIND_CHECK_H_
