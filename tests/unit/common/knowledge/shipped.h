#ifndef TESTS_UNIT_COMMON_KNOWLEDGE_SHIPPED_H_
#define TESTS_UNIT_COMMON_KNOWLEDGE_SHIPPED_H_

#include <memory>
#include <utility>

#include "common/knowledge/load.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace galen::knowledge {

// The knowledge that comes with Galen, read once in a process.
inline const Knowledge& Shipped() {
  static const std::shared_ptr<const Knowledge>* const kKnowledge = [] {
    auto loaded = Load({GALEN_SOURCE_DIR "/knowledge"}, {});
    EXPECT_THAT(loaded, testing::IsOk());
    return new std::shared_ptr<const Knowledge>(*std::move(loaded));
  }();
  return **kKnowledge;
}

}  // namespace galen::knowledge

#endif  // TESTS_UNIT_COMMON_KNOWLEDGE_SHIPPED_H_
