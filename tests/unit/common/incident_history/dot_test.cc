#include "common/incident_history/dot.h"

#include <gmock/gmock.h>

#include <vector>

#include "common/incident_history/checksum.h"
#include "common/incident_history/tokens.h"

namespace galen::incident_history {
namespace {

TEST(Dot, EveryKindGivesTheSameNumbers) {
  for (const size_t stride : {64, 256, 448, 4096}) {
    std::vector<std::int8_t> query(stride);
    std::vector<std::int8_t> rows(9 * stride);
    const auto number = [](size_t i) {
      return static_cast<std::int8_t>(static_cast<int>(Mix(i) % 255) - 127);
    };
    for (size_t i = 0; i < query.size(); ++i) query[i] = number(i);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = number(i + 7777);
    // The largest sums there are.
    for (size_t i = 0; i < stride; ++i) rows[i] = query[i] < 0 ? -127 : 127;
    std::vector<std::int32_t> expected;
    for (size_t row = 0; row < 9; ++row) {
      std::int32_t sum = 0;
      for (size_t i = 0; i < stride; ++i) sum += query[i] * rows[row * stride + i];
      expected.push_back(sum);
    }
    for (const DotKind kind : {DotKind::kPortable, DotKind::kAvx2, DotKind::kAvx512Vnni}) {
      if (!DotSupported(kind)) continue;
      std::vector<std::int32_t> out(9);
      DotRows(query.data(), rows.data(), 9, stride, out.data(), kind);
      EXPECT_EQ(out, expected) << "kind " << static_cast<int>(kind) << ", stride " << stride;
    }
  }
}

TEST(Checksum, IsCrc32c) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283U);  // the check value of the published polynomial
  EXPECT_EQ(Crc32c("6789", Crc32c("12345")), 0xe3069283U);
  EXPECT_EQ(Crc32c(""), 0U);
}

}  // namespace
}  // namespace galen::incident_history
