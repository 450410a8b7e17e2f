#include "common/base/time_text.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

TEST(TimeText, IsRfc3339InUtcWithTheDigitsThatAreAskedFor) {
  const absl::Time time = absl::FromUnixMicros(1'769'860'800'250'400);
  EXPECT_EQ(TimeText(time), "2026-01-31T12:00:00Z");
  EXPECT_EQ(TimeText(time, 3), "2026-01-31T12:00:00.250Z");
  EXPECT_EQ(TimeText(time, 6), "2026-01-31T12:00:00.250400Z");
}

}  // namespace
}  // namespace galen
