#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms_testing.h"

namespace galen::intake::environment_test {
namespace {

TEST(EnvironmentList, ValuesStayAsTheyAre) {
  EXPECT_EQ(
      TextOf("env", "PATH=/usr/bin:/bin\nPS1=\\u@\\h a=b\nEMPTY=\nhttp_proxy=http://p:1/?a=1\n"),
      "PATH=/usr/bin:/bin\nPS1=\\u@\\h a=b\nEMPTY=\nhttp_proxy=http://p:1/?a=1\n");
}

TEST(EnvironmentList, SyntaxOfShellsAndComposeFilesIsRead) {
  EXPECT_EQ(TextOf("env",
                   "declare -x NCCL_DEBUG=\"INFO\"\n"
                   "export NCCL_IB_HCA='mlx5_0,mlx5_1'; export B=1\n"
                   "export NCCL_IB_TC=106  # as the switch wants it\n"
                   "    - \"NCCL_SOCKET_IFNAME=eth0\"\n"
                   "setenv UCX_TLS rc\n"
                   "  -e MASTER_PORT=29500 \\\n"),
            "NCCL_DEBUG=INFO\n"
            "NCCL_IB_HCA=mlx5_0,mlx5_1\n"
            "NCCL_IB_TC=106\n"
            "NCCL_SOCKET_IFNAME=eth0\n"
            "UCX_TLS=rc\n"
            "MASTER_PORT=29500\n");
}

TEST(EnvironmentList, FunctionsAreLeftOut) {
  EXPECT_EQ(TextOf("env", "A=1\nBASH_FUNC_module%%=() {  local x;\n x=2\n y=3\n}\nB=4\n"),
            "A=1\nB=4\n");
}

TEST(EnvironmentList, TheFileOfAProcessIsRead) {
  EXPECT_EQ(TextOf("env", absl::string_view("PATH=/bin\0NCCL_DEBUG=INFO\0", 26)),
            "PATH=/bin\nNCCL_DEBUG=INFO\n");
}

TEST(EnvironmentList, AListWithoutPathIsPartial) {
  EXPECT_TRUE(IsPartial("env", "NCCL_DEBUG=INFO\n", "env | grep NCCL"));
  EXPECT_FALSE(IsPartial("env", "PATH=/bin\nNCCL_DEBUG=INFO\n"));
  EXPECT_TRUE(IsRefused("env", "env: command not found\n"));
}

}  // namespace
}  // namespace galen::intake::environment_test
