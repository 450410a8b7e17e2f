#include "common/base/transient.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

TEST(Transient, IsWhatTheOtherSideMayGetOver) {
  EXPECT_TRUE(IsTransient(absl::UnavailableError("")));
  EXPECT_TRUE(IsTransient(absl::AbortedError("")));
  EXPECT_TRUE(IsTransient(absl::ResourceExhaustedError("")));
  EXPECT_TRUE(IsTransient(absl::DeadlineExceededError("")));
  EXPECT_TRUE(IsTransient(absl::CancelledError("")));
  EXPECT_FALSE(IsTransient(absl::OkStatus()));
  EXPECT_FALSE(IsTransient(absl::InvalidArgumentError("")));
  EXPECT_FALSE(IsTransient(absl::NotFoundError("")));
  EXPECT_FALSE(IsTransient(absl::PermissionDeniedError("")));
}

}  // namespace
}  // namespace galen
