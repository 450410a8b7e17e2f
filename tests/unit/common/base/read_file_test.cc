#include "common/base/read_file.h"

#include <gtest/gtest.h>

#include "tests/testing/scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen {
namespace {

using galen::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ReadSmallFile, GivesTheWholeOfAFileThatIsNotTooLarge) {
  const galen::testing::Scratch scratch;
  const std::string bytes("a\0b\n", 4);
  EXPECT_EQ(ReadSmallFile(scratch.Write("file", bytes), 4).value(), bytes);
  EXPECT_THAT(ReadSmallFile(scratch.Write("file", bytes), 3),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(scratch / "file")));
  const std::string large(100'000, 'x');
  EXPECT_EQ(ReadSmallFile(scratch.Write("large", large)).value(), large);
  EXPECT_EQ(ReadSmallFile(scratch.Write("empty", "")).value(), "");
}

TEST(ReadSmallFile, TellsAFileThatIsNotThereFromOneThatCannotBeRead) {
  const galen::testing::Scratch scratch;
  EXPECT_THAT(ReadSmallFile(scratch / "none"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(scratch / "none")));
  const absl::StatusOr<std::string> directory = ReadSmallFile(scratch.path());
  EXPECT_FALSE(directory.ok());
  EXPECT_FALSE(absl::IsNotFound(directory.status()));
}

}  // namespace
}  // namespace galen
