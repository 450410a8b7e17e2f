#ifndef TESTS_TESTING_WORDS_H_
#define TESTS_TESTING_WORDS_H_

#include <gtest/gtest.h>

#include "common/words/outcome.h"

namespace galen::testing {

// The words for outcomes in the knowledge of the source tree, loaded once.
inline const words::OutcomeWords& ShippedOutcomeWords() {
  static const words::OutcomeWords* const kWords = [] {
    const auto loaded = words::OutcomeWords::Load({GALEN_SOURCE_DIR "/knowledge"});
    EXPECT_TRUE(loaded.ok() && *loaded != nullptr) << loaded.status();
    return new words::OutcomeWords(**loaded);
  }();
  return *kWords;
}

}  // namespace galen::testing

#endif  // TESTS_TESTING_WORDS_H_
