#ifndef TESTS_UNIT_COMMON_INTAKE_KINDS_FOR_TEST_H_
#define TESTS_UNIT_COMMON_INTAKE_KINDS_FOR_TEST_H_

#include <memory>

#include "common/intake/kinds.h"
#include "common/knowledge/load.h"

namespace galen::intake {

// The kinds that ship. Compiled once for all tests.
inline const Kinds& ShippedKinds() {
  static const auto* const kinds = [] {
    const auto knowledge =
        knowledge::Load({GALEN_SOURCE_DIR "/knowledge"}, knowledge::LoadOptions());
    return new std::shared_ptr<const Kinds>(Kinds::Compile((*knowledge)->base()).value());
  }();
  return **kinds;
}

}  // namespace galen::intake

#endif  // TESTS_UNIT_COMMON_INTAKE_KINDS_FOR_TEST_H_
