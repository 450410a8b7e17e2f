#ifndef TESTS_TESTING_WORDS_H_
#define TESTS_TESTING_WORDS_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/words/vocabulary.h"

namespace galen::testing {

// `Words` (TalkWords, DescriptionWords) of the knowledge of the source tree, loaded once.
template <typename Words>
const Words& ShippedWords() {
  static const Words* const kWords = [] {
    const auto vocabulary = words::Vocabulary::Load({GALEN_SOURCE_DIR "/knowledge"});
    EXPECT_TRUE(vocabulary.ok()) << vocabulary.status();
    auto words = Words::From(*vocabulary);
    EXPECT_TRUE(words.ok()) << words.status();
    return new Words(*std::move(words));
  }();
  return *kWords;
}

}  // namespace galen::testing

#endif  // TESTS_TESTING_WORDS_H_
