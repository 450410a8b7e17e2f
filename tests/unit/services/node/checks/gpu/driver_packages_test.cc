#include "services/node/checks/gpu/driver_packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace galen::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(DriverPackages, TakesTheDriverProperOfDebian) {
  EXPECT_THAT(DriverPackagesOfDpkg("libnvidia-compute-550-server:amd64\t550.54.14-0ubuntu1\n"
                                   "nvidia-dkms-550\t550.54.14-0ubuntu1\n"
                                   "nvidia-container-toolkit\t1.16.2-1\n"
                                   "nvidia-fabricmanager-535\t535.161.08-1\n"
                                   "nvidia-kernel-common-525\t525.60.13-0ubuntu1\n"),
              ElementsAre(Pair("libnvidia-compute-550-server", "550.54.14"),
                          Pair("nvidia-dkms-550", "550.54.14")));
}

TEST(DriverPackages, TakesTheDriverProperOfRedHat) {
  EXPECT_THAT(DriverPackagesOfRpm("nvidia-driver-cuda-libs-535.104.05-1.el8.x86_64\n"
                                  "kmod-nvidia-latest-dkms-535.104.05-1.el8.x86_64\n"
                                  "nvidia-fabric-manager-535.104.05-1.x86_64\n"
                                  "nvidia-container-toolkit-1.14.6-1.x86_64\n"),
              ElementsAre(Pair("kmod-nvidia-latest-dkms", "535.104.05"),
                          Pair("nvidia-driver-cuda-libs", "535.104.05")));
}

TEST(DriverPackages, OfModulesForSeveralKernelsTheNewestCounts) {
  constexpr char kOld[] = "kmod-nvidia-550.54.14-5.14.0-362.18.1-550.54.14-3.el9_3.x86_64\n";
  constexpr char kNew[] = "kmod-nvidia-550.127.05-5.14.0-503.11.1-550.127.05-3.el9_5.x86_64\n";
  for (const std::string& list : {std::string(kOld) + kNew, std::string(kNew) + kOld}) {
    EXPECT_THAT(DriverPackagesOfRpm(list), ElementsAre(Pair("kmod-nvidia", "550.127.05"))) << list;
  }
}

TEST(DriverPackages, TheLibraryIsTheOneOfTheNewestBranch) {
  EXPECT_EQ(LibraryVersion({{"libnvidia-compute-535", "535.1.1"},
                            {"libnvidia-compute-550", "550.1.1"},
                            {"nvidia-utils-550", "550.2.2"}}),
            "550.1.1");
  EXPECT_EQ(LibraryVersion({}), "");
}

TEST(DriverPackages, ABranchIsTheFirstNumberOfAVersion) {
  const DriverPackages packages = {{"libnvidia-compute-535", "535.1.1"},
                                   {"libnvidia-compute-550", "550.1.1"}};
  EXPECT_THAT(OfBranch(packages, "550.54.14"),
              ElementsAre(Pair("libnvidia-compute-550", "550.1.1")));
  EXPECT_THAT(OfBranch(packages, "55.1"), IsEmpty());
}

TEST(DriverPackages, ReadsTheVersionOfOpenAndClosedModules) {
  EXPECT_EQ(
      LoadedModuleVersion("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb"),
      "550.54.14");
  EXPECT_EQ(LoadedModuleVersion("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  "
                                "580.65.06  Release Build  (x)"),
            "580.65.06");
  EXPECT_EQ(LoadedModuleVersion("garbage"), "");
}

TEST(DriverPackages, FindsNothingInGarbage) {
  EXPECT_THAT(DriverPackagesOfDpkg("\xff\xfe\t\n\n"), IsEmpty());
  EXPECT_THAT(DriverPackagesOfRpm("kmod-nvidia-"), IsEmpty());
}

}  // namespace
}  // namespace galen::node
