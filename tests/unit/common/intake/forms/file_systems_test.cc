#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms_testing.h"

namespace galen::intake::file_systems_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHeading[] = "Filesystem Type 1024-blocks Used Available Capacity Mounted on\n";

TEST(DiskFree, HumanSizesBecomeBlocks) {
  EXPECT_EQ(TextOf("df",
                   "Filesystem      Size  Used Avail Use% Mounted on\n"
                   "/dev/sda2       1.5T  512G  1.0T  34% /\n"
                   "tmpfs            64M     0   64M   0% /dev\n"),
            absl::StrCat(kHeading,
                         "/dev/sda2 - 1610612736 536870912 1073741824 34% /\n"
                         "tmpfs tmpfs 65536 0 65536 0% /dev\n"));
}

TEST(DiskFree, TheHeadingTellsTheUnitAndTheTypes) {
  EXPECT_EQ(TextOf("df",
                   "Filesystem     Type 1M-blocks  Used Available Use% Mounted on\n"
                   "/dev/md0       xfs       2048  1024      1024  50% /scratch dir\n"),
            absl::StrCat(kHeading, "/dev/md0 xfs 2097152 1048576 1048576 50% /scratch dir\n"));
  EXPECT_THAT(TextOf("df",
                     "Filesystem 512-blocks Used Available Capacity Mounted on\n"
                     "/dev/sda1 2048 1024 1024 50% /\n"),
              HasSubstr("/dev/sda1 - 1024 512 512 50% /\n"));
}

TEST(DiskFree, PowersOfAThousandAreTakenAsSuch) {
  EXPECT_THAT(TextOf("df", "/dev/sda1 2.0G 1.0G 1.0G 50% /", "df -H"),
              HasSubstr("/dev/sda1 - 1953125 976563 976563 50% /\n"));
}

TEST(DiskFree, TheSourceTellsTheTypeIfItIsNotADevice) {
  const std::string text = TextOf("df",
                                  "Filesystem Size Used Avail Use% Mounted on\n"
                                  "overlay    100G  99G  1.0G  99% /\n"
                                  "shm         64M  64M     0 100% /dev/shm\n"
                                  "fs1:/data  100T  50T   50T  50% /data\n");
  EXPECT_THAT(text, HasSubstr("overlay overlay 104857600 "));
  EXPECT_THAT(text, HasSubstr("shm tmpfs 65536 65536 0 100% /dev/shm\n"));
  EXPECT_THAT(text, HasSubstr("fs1:/data - 107374182400 "));
}

TEST(DiskFree, ALongSourceMayStandOnALineOfItsOwn) {
  EXPECT_THAT(
      TextOf("df",
             "Filesystem            Size  Used Avail Use% Mounted on\n"
             "filer.example.org:/vol/projects\n"
             "                       10G  9.0G  1.0G  90% /projects\n"),
      HasSubstr("filer.example.org:/vol/projects - 10485760 9437184 1048576 90% /projects"));
}

TEST(DiskFree, TheHeadingMayBeMissing) {
  EXPECT_THAT(TextOf("df", "  shm    64M  1.0M   63M   2% /dev/shm", "df -h | grep shm"),
              HasSubstr("shm tmpfs 65536 1024 64512 2% /dev/shm\n"));
  EXPECT_THAT(TextOf("df", "/dev/sdb ext4 1000 10 990 1% /b", "df -T | grep sdb"),
              HasSubstr("/dev/sdb ext4 1000 10 990 1% /b\n"));
  EXPECT_TRUE(IsPartial("df", "shm 64M 1.0M 63M 2% /dev/shm"));
  EXPECT_TRUE(IsPartial("df", "Filesystem Size Used Avail Use% Mounted on\n/dev/a 1G 0 1G 0% /\n",
                        "df -h /home"));
  EXPECT_FALSE(IsPartial("df", "Filesystem Size Used Avail Use% Mounted on\n/dev/a 1G 0 1G 0% /\n",
                         "df -h"));
}

TEST(DiskFree, TablesOfInodesAndBlocksAreToldApart) {
  constexpr char kInodes[] =
      "Filesystem     Inodes IUsed IFree IUse% Mounted on\n"
      "/dev/sda2        1.2M  600K  600K   50% /\n"
      "/dev/sda1           0     0     0     - /boot/efi\n";
  EXPECT_TRUE(IsRefused("df", kInodes));
  EXPECT_TRUE(IsRefused("df", "/dev/sda2 1000 10 990 1% /", "df -i /"));
  EXPECT_EQ(TextOf("df_inodes", kInodes),
            "Filesystem Inodes IUsed IFree IUse% Mounted on\n"
            "/dev/sda2 1258291 614400 614400 50% /\n"
            "/dev/sda1 0 0 0 - /boot/efi\n");
  EXPECT_TRUE(IsRefused("df_inodes",
                        "Filesystem Size Used Avail Use% Mounted on\n"
                        "/dev/sda2 1G 0 1G 0% /\n"));
}

TEST(DiskFree, TheTableOfAnotherSystemIsRefused) {
  EXPECT_TRUE(
      IsRefused("df",
                "Filesystem 512-blocks Used Available Capacity iused ifree %iused  Mounted on\n"
                "/dev/disk3s1 1942700360 22340 905700 3% 356k 4.5G 0% /\n"));
  EXPECT_TRUE(IsRefused("df", "df: /mnt/x: Stale file handle\n"));
}

TEST(MountList, ALineBecomesOneOfTheKernelsTable) {
  EXPECT_EQ(TextOf("mount",
                   "/dev/sda2 on / type ext4 (rw,relatime)\n"
                   "10.0.0.9:/vol/a b on /mnt/a b type nfs4 (ro,vers=4.2) [label]\n"),
            "/dev/sda2 / ext4 rw,relatime\n"
            "10.0.0.9:/vol/a\\040b /mnt/a\\040b nfs4 ro,vers=4.2\n");
}

TEST(MountList, AListWithoutARootIsPartial) {
  EXPECT_TRUE(IsPartial("mount", "s:/v on /v type nfs (rw)", "mount | grep nfs"));
  EXPECT_FALSE(IsPartial("mount", "/dev/a on / type xfs (rw)"));
  EXPECT_TRUE(IsRefused("mount", "mount: /v: wrong fs type"));
  EXPECT_THAT(TextOf("mount", "x on y\n/dev/a on / type xfs (rw)\n"), Not(HasSubstr("x on y")));
}

}  // namespace
}  // namespace galen::intake::file_systems_test
