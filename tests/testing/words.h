#ifndef TESTS_TESTING_WORDS_H_
#define TESTS_TESTING_WORDS_H_

#include <gtest/gtest.h>

#include "common/phrases/outcome.h"

namespace galen::testing {

// The words for outcomes in the knowledge of the source tree, loaded once.
inline const phrases::OutcomeWords& ShippedOutcomeWords() {
  static const phrases::OutcomeWords* const kWords = [] {
    const auto loaded = phrases::OutcomeWords::Load({GALEN_SOURCE_DIR "/knowledge"});
    EXPECT_TRUE(loaded.ok() && *loaded != nullptr) << loaded.status();
    return new phrases::OutcomeWords(**loaded);
  }();
  return *kWords;
}

}  // namespace galen::testing

#endif  // TESTS_TESTING_WORDS_H_
