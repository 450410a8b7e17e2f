#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms_testing.h"

namespace galen::intake::devices_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(DeviceNodes, NamesLoseTheirFolder) {
  EXPECT_EQ(TextOf("ls_dev",
                   "crw-rw-rw- 1 root root 195,   0 Mar  1 08:00 /dev/nvidia0\n"
                   "crw-rw-rw- 1 root root 195, 255 Mar  1 08:00 /dev/nvidiactl\n"),
            "total 0\n"
            "crw-rw-rw- 1 root root 195, 0 Mar  1 08:00 nvidia0\n"
            "crw-rw-rw- 1 root root 195, 255 Mar  1 08:00 nvidiactl\n");
}

TEST(DeviceNodes, AFolderBelowIsThereAndItsFilesAreNotInDev) {
  const std::string text = TextOf("ls_dev",
                                  "crw------- 1 root root 241, 0 Feb  4 08:52 /dev/kfd\n\n"
                                  "/dev/dri:\ntotal 0\n"
                                  "crw-rw---- 1 root render 226, 128 Feb  4 08:52 renderD128\n");
  EXPECT_THAT(text, HasSubstr("crw------- 1 root root 241, 0 Feb  4 08:52 kfd\n"));
  EXPECT_THAT(text, HasSubstr("d????????? ? ? ? ? ? ? ? dri\n"));
  EXPECT_THAT(text, Not(HasSubstr("renderD128")));
}

TEST(DeviceNodes, TheCommandNamesTheFolderOfAListing) {
  EXPECT_EQ(TextOf("ls_dev", "total 0\ncrw-rw-rw- 1 root root 231, 192 Feb  4 08:52 uverbs0\n",
                   "ls -l /dev/infiniband"),
            "total 0\nd????????? ? ? ? ? ? ? ? infiniband\n");
}

TEST(DeviceNodes, AGlobThatMatchesNothingTellsThatNodesAreMissing) {
  constexpr char kNone[] = "ls: cannot access '/dev/nvidia*': No such file or directory\n";
  EXPECT_EQ(TextOf("ls_dev", kNone, "ls -l /dev/nvidia*"), "total 0\n");
  EXPECT_FALSE(IsPartial("ls_dev", kNone, "ls -l /dev/nvidia*"));
  EXPECT_TRUE(IsRefused("ls_dev", "ls: cannot access '/dev/nvidia0': No such file or directory\n"));
}

TEST(DeviceNodes, EveryStyleOfTimeIsThreeWords) {
  EXPECT_THAT(TextOf("ls_dev", "crw-rw-rw- 1 root root 195, 0 2025-03-01 08:00 /dev/nvidia0\n"),
              HasSubstr("195, 0 2025-03-01 08:00 - nvidia0\n"));
  EXPECT_THAT(
      TextOf("ls_dev",
             "crw-rw-rw-. 1 root root 195, 0 2025-03-01 08:00:00.123456789 +0000 nvidia0\n"),
      HasSubstr("crw-rw-rw-. 1 root root 195, 0 2025-03-01 08:00:00.123456789 +0000 nvidia0"));
}

TEST(DeviceNodes, OnlyACompleteListingTellsWhatIsMissing) {
  constexpr char kNode[] = "crw-rw-rw- 1 root root 195, 0 Mar  1 08:00 /dev/nvidia0\n";
  EXPECT_TRUE(IsPartial("ls_dev", kNode));
  EXPECT_TRUE(IsPartial("ls_dev", kNode, "ls -l /dev/nvidia0"));
  EXPECT_FALSE(IsPartial("ls_dev", kNode, "ls -l /dev/nvidia*"));
  EXPECT_FALSE(
      IsPartial("ls_dev", "crw-rw-rw- 1 root root 1, 3 Mar  1 08:00 null\n", "ls -l /dev"));
}

}  // namespace
}  // namespace galen::intake::devices_test
