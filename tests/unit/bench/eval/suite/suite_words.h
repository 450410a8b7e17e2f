#ifndef TESTS_UNIT_BENCH_EVAL_SUITE_SUITE_WORDS_H_
#define TESTS_UNIT_BENCH_EVAL_SUITE_SUITE_WORDS_H_

#include <gtest/gtest.h>

#include <utility>

#include "bench/eval/suite/run_suite.h"

namespace galen::eval {

// The words of the suite, loaded once.
inline const SuiteWords& TheSuiteWords() {
  static const SuiteWords* const kWords = [] {
    auto words = SuiteWords::Load({GALEN_SOURCE_DIR "/knowledge"});
    EXPECT_TRUE(words.ok()) << words.status();
    return new SuiteWords(*std::move(words));
  }();
  return *kWords;
}

}  // namespace galen::eval

#endif  // TESTS_UNIT_BENCH_EVAL_SUITE_SUITE_WORDS_H_
