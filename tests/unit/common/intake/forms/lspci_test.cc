#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms_testing.h"

namespace galen::intake::lspci_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PciList, NamesGetTheirNumbers) {
  EXPECT_EQ(TextOf("lspci",
                   "3b:00.0 3D controller: NVIDIA Corporation AD102GL [L40] (rev a1)\n"
                   "8c:00.0 Bridge: NVIDIA Corporation Device 1af1 (rev a1)\n"
                   "0001:17:00.1 Ethernet controller: Mellanox Technologies MT2892 Family "
                   "[ConnectX-6 Dx]\n"),
            "3b:00.0 3D controller [0302]: NVIDIA Corporation AD102GL [L40] [10de:26b5] (rev a1)\n"
            "8c:00.0 Bridge [0680]: NVIDIA Corporation Device [10de:1af1] (rev a1)\n"
            "0001:17:00.1 Ethernet controller [0200]: Mellanox Technologies MT2892 Family "
            "[ConnectX-6 Dx] [15b3:101d]\n");
}

TEST(PciList, ANameThatIsNotKnownGetsNone) {
  EXPECT_EQ(TextOf("lspci", "3b:00.0 3D controller: NVIDIA Corporation XY999 [Z1] (rev a1)\n"),
            "3b:00.0 3D controller [0302]: NVIDIA Corporation XY999 [Z1] (rev a1)\n");
  EXPECT_EQ(TextOf("lspci", "3b:00.0 Flux capacitor: Nobody Z1\n"),
            "3b:00.0 Flux capacitor: Nobody Z1\n");
}

TEST(PciList, NumbersGetTheirNames) {
  EXPECT_EQ(TextOf("lspci", "3b:00.0 0302: 10de:26b5 (rev a1)\n", "lspci -n"),
            "3b:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:26b5] (rev a1)\n");
}

TEST(PciList, AHeadingWithNumbersStaysUnchanged) {
  constexpr char kBoth[] =
      "3b:00.0 3D controller [0302]: NVIDIA Corporation AD102GL [L40] [10de:26b5] (rev ff) "
      "(prog-if ff)\n"
      "\t!!! Unknown header type 7f\n"
      "\tKernel driver in use: nvidia\n";
  EXPECT_EQ(TextOf("lspci", kBoth), kBoth);
}

TEST(PciList, DetailsMayHaveLostTheirIndentation) {
  EXPECT_EQ(TextOf("lspci",
                   "    3b:00.0 Bridge: Nobody\n"
                   "    \tLnkSta:\tSpeed 8GT/s, Width x8\n"
                   "    \t\tABWMgmt-\n"),
            "3b:00.0 Bridge [0680]: Nobody\n\tLnkSta:\tSpeed 8GT/s, Width x8\n\tABWMgmt-\n");
  EXPECT_THAT(TextOf("lspci", "3b:00.0 Bridge: Nobody\nKernel driver in use: x\n$ exit\nBus: no\n"),
              HasSubstr("Bridge [0680]: Nobody\n\tKernel driver in use: x\n"));
}

TEST(PciList, ALineAtTheMarginEndsTheDevice) {
  EXPECT_EQ(TextOf("lspci",
                   "    3b:00.0 Bridge: Nobody\n"
                   "    [ 11.9] mlx4_core: irq 71\n"
                   "        more of it\n"),
            "3b:00.0 Bridge [0680]: Nobody\n");
}

TEST(PciList, TheCommandNamesTheDeviceIfTheHeadingIsMissing) {
  constexpr char kLink[] = "\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16\n";
  EXPECT_EQ(TextOf("lspci", kLink, "sudo lspci -s 41:00.0 -vv | grep LnkSta:"),
            "41:00.0\n\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16\n");
  EXPECT_TRUE(IsRefused("lspci", kLink, "lspci -vv | grep LnkSta"));
}

TEST(PciList, ASecondLinkBelongsToAnotherDevice) {
  const std::string text = TextOf("lspci",
                                  "3b:00.0 3D controller: NVIDIA Corporation AD102GL [L40]\n"
                                  "\t\tLnkSta:\tSpeed 16GT/s, Width x16\n"
                                  "\t\tLnkSta:\tSpeed 2.5GT/s, Width x1\n",
                                  "lspci -vv | grep -E 'NVIDIA|LnkSta'");
  EXPECT_THAT(text, HasSubstr("Width x16"));
  EXPECT_THAT(text, Not(HasSubstr("Width x1\n")));
}

TEST(PciList, OnlyAListWithAHostBridgeIsComplete) {
  EXPECT_FALSE(IsPartial("lspci", "00:00.0 Host bridge: Intel Corporation Device 09a2\n"));
  EXPECT_TRUE(IsPartial("lspci", "3b:00.0 Bridge: Nobody\n"));
  EXPECT_TRUE(IsPartial("lspci", "00:00.0 Host bridge: Nobody\n", "lspci | head"));
  EXPECT_TRUE(IsRefused("lspci", "-[0000:00]-+-00.0  Intel Corporation Device 09a2\n"));
}

}  // namespace
}  // namespace galen::intake::lspci_test
