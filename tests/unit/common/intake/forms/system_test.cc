#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms_testing.h"

namespace galen::intake::system_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kFree[] =
    "              total        used        free      shared  buff/cache   available\n"
    "Mem:             64           2          50           1          12          60\n"
    "Swap:             8           0           8\n";

TEST(FreeMemory, TheOptionTellsTheUnit) {
  EXPECT_EQ(TextOf("free", kFree, "free -g"),
            "MemTotal: 67108864 kB\nMemFree: 52428800 kB\nShmem: 1048576 kB\n"
            "MemAvailable: 62914560 kB\nSwapTotal: 8388608 kB\nSwapFree: 8388608 kB\n");
  EXPECT_THAT(TextOf("free", kFree, "free -m"), HasSubstr("MemAvailable: 61440 kB\n"));
  EXPECT_THAT(TextOf("free", kFree, "free -g | head -2"), HasSubstr("MemAvailable: 62914560 kB\n"));
}

TEST(FreeMemory, ALetterTellsTheUnit) {
  EXPECT_THAT(TextOf("free",
                     "        total   used   free  shared  buff/cache   available\n"
                     "Mem:    251Gi  1.5Gi  240Gi    9Mi        9Gi       0B\n"),
              HasSubstr("MemTotal: 263192576 kB\nMemFree: 251658240 kB\nShmem: 9216 kB\n"
                        "MemAvailable: 0 kB\n"));
}

TEST(FreeMemory, AnUnknownUnitIsNotGuessed) {
  EXPECT_TRUE(IsRefused("free", kFree));
  EXPECT_THAT(TextOf("free",
                     "       total     used      free    shared buff/cache available\n"
                     "Mem: 263856360 10000000 200000000   1000  53856360 250000000\n"),
              HasSubstr("MemAvailable: 250000000 kB\n"));
}

TEST(FreeMemory, OldReleasesDoNotTellWhatIsAvailable) {
  const std::string text =
      TextOf("free",
             "             total       used       free     shared    buffers     cached\n"
             "Mem:         64000      60000       4000          0        500      50000\n"
             "-/+ buffers/cache:       9500      54500\n",
             "free -m");
  EXPECT_THAT(text, HasSubstr("MemFree: 4096000 kB\n"));
  EXPECT_THAT(text, HasSubstr("Buffers: 512000 kB\n"));
  EXPECT_THAT(text, Not(HasSubstr("MemAvailable")));
  // A line without its heading does not identify it either.
  EXPECT_THAT(TextOf("free", "Mem: 64 2 50 1 12 60\n", "free -g | grep Mem"),
              Not(HasSubstr("MemAvailable")));
}

TEST(ShellLimits, LinesOfBashBecomeThoseOfTheKernel) {
  const std::string text = TextOf("ulimit",
                                  "real-time non-blocking time  (microseconds, -R) unlimited\n"
                                  "core file size              (blocks, -c) 0\n"
                                  "file size                   (blocks, -f) 2048\n"
                                  "max locked memory           (kbytes, -l) 8192\n"
                                  "open files                          (-n) 1024\n"
                                  "stack size                  (kbytes, -s) unlimited\n"
                                  "max user processes                  (-u) 127235\n");
  EXPECT_THAT(text, HasSubstr("Max locked memory         8388608              "));
  EXPECT_THAT(text, HasSubstr("Max open files            1024                 "));
  EXPECT_THAT(text, HasSubstr("Max stack size            unlimited            "));
  EXPECT_THAT(text, HasSubstr("Max processes             127235               "));
  EXPECT_THAT(text, HasSubstr("Max core file size        0                    "));
  // The size of a block depends on the shell.
  EXPECT_THAT(text, Not(HasSubstr("Max file size")));
}

TEST(ShellLimits, LinesOfZshAndDashDoToo) {
  EXPECT_THAT(
      TextOf("ulimit", "-l: locked-in-memory size (kbytes)  64\n-n: file descriptors 256\n"),
      HasSubstr("Max locked memory         65536                "));
  EXPECT_THAT(TextOf("ulimit", "locked memory(kbytes) 64\nnofiles              256\n"),
              HasSubstr("Max open files            256                  "));
}

TEST(ShellLimits, TheCommandNamesAValueThatStandsAlone) {
  EXPECT_THAT(TextOf("ulimit", "unlimited\n", "ulimit -l"),
              HasSubstr("Max locked memory         unlimited            "));
  EXPECT_TRUE(IsRefused("ulimit", "unlimited\n"));
  EXPECT_TRUE(IsRefused("ulimit", "unlimited\n", "ulimit -Hl"));
}

TEST(ModuleList, ALineBecomesOneOfTheKernelsTable) {
  constexpr char kModules[] =
      "Module                  Size  Used by\n"
      "nvidia_uvm           1527808  2\n"
      "nvidia              56758272  90 nvidia_uvm,nvidia_modeset\n"
      "xfs                  1282048  1\n";
  EXPECT_EQ(TextOf("lsmod", kModules),
            "nvidia_uvm 1527808 2 -\n"
            "nvidia 56758272 90 nvidia_uvm,nvidia_modeset,\n"
            "xfs 1282048 1 -\n"
            "nvidia_modeset - - -\n");
  EXPECT_FALSE(IsPartial("lsmod", kModules));
}

TEST(ModuleList, AModuleThatUsesAnotherIsLoaded) {
  const std::string text = TextOf("lsmod",
                                  "nvidia_peermem 16384 0\n"
                                  "nvidia 56758272 90 nvidia_uvm,nvidia_peermem\n",
                                  "lsmod | grep peermem");
  EXPECT_THAT(text, HasSubstr("nvidia_uvm - - -\n"));
  EXPECT_TRUE(IsPartial("lsmod", "nvidia 56758272 0\n", "lsmod | grep nvidia"));
}

TEST(ModuleList, ASelectionWithoutAGpuDriverIsRefused) {
  EXPECT_TRUE(IsRefused("lsmod", "ib_core 88311 1 mlx4_ib\n", "lsmod | grep mlx4"));
  // The selection asked for nvidia, so its absence is a fact.
  EXPECT_EQ(TextOf("lsmod", "video 65536 1 i915\n", "lsmod | grep -E 'nouveau|nvidia|video'"),
            "video 65536 1 i915,\ni915 - - -\n");
}

}  // namespace
}  // namespace galen::intake::system_test
