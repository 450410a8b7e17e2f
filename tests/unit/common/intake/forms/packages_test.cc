#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms_testing.h"
#include "nlohmann/json.hpp"

namespace galen::intake::packages_test {
namespace {

using nlohmann::json;

// Names to versions.
json Versions(absl::string_view text, absl::string_view command = "") {
  json versions = json::object();
  for (const json& entry : json::parse(TextOf("pip", text, command), nullptr, false)) {
    versions[entry["name"].get<std::string>()] = entry["version"];
  }
  return versions;
}

TEST(PythonPackages, TheTableOfPipListIsRead) {
  constexpr char kText[] =
      "Package                  Version      Editable project location\n"
      "------------------------ ------------ -------------------------\n"
      "mytrain                  0.1          /home/ada/mytrain\n"
      "nvidia-nccl-cu12         2.21.5\n"
      "torch                    2.5.1+cu124\n"
      "WARNING: There was an error checking the latest version of pip.\n";
  EXPECT_EQ(Versions(kText),
            json({{"mytrain", "0.1"}, {"nvidia-nccl-cu12", "2.21.5"}, {"torch", "2.5.1+cu124"}}));
  EXPECT_FALSE(IsPartial("pip", kText, "pip list"));
}

TEST(PythonPackages, PinnedRequirementsAreRead) {
  EXPECT_EQ(Versions("torch==2.5.1\n"
                     "ray[default]==2.9.3 ; python_version < \"3.12\"\n"
                     "-e git+https://example.org/x.git#egg=x\n"
                     "numpy>=1.20\n"
                     "local @ file:///tmp/local\n"),
            json({{"torch", "2.5.1"}, {"ray", "2.9.3"}}));
}

TEST(PythonPackages, AWheelTellsTheVersionInItsName) {
  EXPECT_EQ(Versions("flash-attn @ https://example.org/d/v1/flash_attn-2.5.8%2Bcu118torch2.2-"
                     "cp311-cp311-linux_x86_64.whl#sha256=0\n"),
            json({{"flash-attn", "2.5.8+cu118torch2.2"}}));
}

TEST(PythonPackages, CondasTorchIsCalledPytorch) {
  EXPECT_EQ(
      Versions("# packages in environment at /opt/conda:\n#\n"
               "# Name                    Version                   Build  Channel\n"
               "_libgcc_mutex             0.1                        main\n"
               "numpy                     1.26.4          py311h24aa872_0\n"
               "pytorch                   2.3.0           py3.11_cuda12.1_cudnn8.9.2_0  pytorch\n"),
      json({{"_libgcc_mutex", "0.1"},
            {"numpy", "1.26.4"},
            {"pytorch", "2.3.0"},
            {"torch", "2.3.0"}}));
}

TEST(PythonPackages, SelectedLinesArePartial) {
  EXPECT_EQ(Versions("torch                2.5.1\n"), json({{"torch", "2.5.1"}}));
  EXPECT_TRUE(IsPartial("pip", "torch 2.5.1\n", "pip list | grep torch"));
  EXPECT_FALSE(IsPartial("pip", "torch==2.5.1\n", "pip freeze"));
  EXPECT_TRUE(IsRefused("pip", "pip: command not found\n"));
}

TEST(DebianPackages, InstalledPackagesAreKept) {
  constexpr char kText[] =
      "Desired=Unknown/Install/Remove/Purge/Hold\n"
      "||/ Name                   Version              Architecture Description\n"
      "+++-======================-====================-============-===========\n"
      "ii  libc6:amd64            2.35-0ubuntu3        amd64        GNU C Library\n"
      "hi  nvidia-utils-550       550.90.07-0ubuntu1   amd64        NVIDIA support binaries\n"
      "rc  nvidia-utils-535       535.54.03-0ubuntu1   amd64        NVIDIA support binaries\n"
      "un  nvidia-utils           <none>               <none>       (no description available)\n";
  EXPECT_EQ(TextOf("dpkg_l", kText),
            "libc6:amd64\t2.35-0ubuntu3\nnvidia-utils-550\t550.90.07-0ubuntu1\n");
  EXPECT_FALSE(IsPartial("dpkg_l", kText));
  EXPECT_TRUE(IsPartial("dpkg_l", "ii  bash  5.1-6  amd64  shell\n", "dpkg -l | grep bash"));
  EXPECT_TRUE(IsRefused("dpkg_l", "dpkg-query: no packages found matching nvidia\n"));
}

TEST(AptPackages, TheVersionThatIsInstalledIsKept) {
  constexpr char kText[] =
      "Listing... Done\n"
      "bash/jammy,now 5.1-6 amd64 [installed,automatic]\n"
      "mine/now 1.0 amd64 [installed,local]\n"
      "zsh/jammy 5.8.1-1 amd64\n"
      "curl/jammy-updates 7.81.0-2 amd64 [upgradable from: 7.81.0-1]\n"
      "old/now 0.9 amd64 [residual-config]\n"
      "vim/jammy,now 9.0-1 amd64  [installiert]\n";
  EXPECT_EQ(TextOf("apt_list", kText), "bash\t5.1-6\nmine\t1.0\ncurl\t7.81.0-1\nvim\t9.0-1\n");
  EXPECT_FALSE(IsPartial("apt_list", kText));
  EXPECT_TRUE(IsRefused("apt_list", "zsh/jammy 5.8.1-1 amd64\n"));
}

}  // namespace
}  // namespace galen::intake::packages_test
