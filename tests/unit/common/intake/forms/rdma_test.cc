#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms_testing.h"

namespace galen::intake::rdma_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(InfinibandState, APortBecomesOneOfIbstat) {
  EXPECT_EQ(TextOf("ibstatus",
                   "Infiniband device 'mlx5_2' port 1 status:\n"
                   "\tdefault gid:\t fe80:0000:0000:0000:0c42:a103:0000:0001\n"
                   "\tbase lid:\t 0x1f\n"
                   "\tsm lid:\t\t 0x1\n"
                   "\tstate:\t\t 2: INIT\n"
                   "\tphys state:\t 5: LinkUp\n"
                   "\trate:\t\t 200 Gb/sec (4X HDR)\n"
                   "\tlink_layer:\t InfiniBand\n\n"
                   "Infiniband device 'mlx5_2' port 2 status:\n"
                   "\tstate:\t\t 1: DOWN\n"
                   "\tphys state:\t 3: Disabled\n"),
            "CA 'mlx5_2'\n\tPort 1:\n"
            "\t\tBase lid: 31\n\t\tSM lid: 1\n\t\tState: Initializing\n"
            "\t\tPhysical state: LinkUp\n\t\tRate: 200\n\t\tLink layer: InfiniBand\n"
            "\tPort 2:\n\t\tState: Down\n\t\tPhysical state: Disabled\n");
}

TEST(RdmaLinks, ALinkBecomesAnObject) {
  EXPECT_EQ(TextOf("rdma_link",
                   "link mlx5_7/1 subnet_prefix fe80:0000:0000:0000 lid 3403 sm_lid 1 lmc 0 "
                   "state DOWN physical_state POLLING\n"
                   "link rocep1s0/2 state ACTIVE physical_state LINK_UP netdev ens1np0\n"),
            R"([{"ifname":"mlx5_7","lid":3403,"lmc":0,"physical_state":"POLLING","port":1,)"
            R"("sm_lid":1,"state":"DOWN","subnet_prefix":"fe80:0000:0000:0000"},)"
            R"({"ifname":"rocep1s0","netdev":"ens1np0","physical_state":"LINK_UP","port":2,)"
            R"("state":"ACTIVE"}])"
            "\n");
  EXPECT_TRUE(IsRefused("rdma_link", "netns shared\n"));
}

TEST(InfinibandState, NoDeviceIsAnAnswerToo) {
  constexpr char kNone[] =
      "Fatal error:  device '*': sys files not found (/sys/class/infiniband/*/ports)";
  EXPECT_EQ(TextOf("ibstatus", kNone), absl::StrCat(kNone, "\n"));
  EXPECT_FALSE(IsPartial("ibstatus", kNone));
  EXPECT_TRUE(IsRefused("ibstatus", "\tstate:\t\t 4: ACTIVE\n"));
}

TEST(InfinibandState, AFieldThatIsMissingStaysSo) {
  EXPECT_THAT(TextOf("ibstatus", "Infiniband device 'a' port 1 status:\n\tstate: 4: ACTIVE\n"),
              Not(HasSubstr("Rate")));
}

TEST(GidList, RowsBecomeTheFilesOfThePort) {
  const auto converted =
      Convert("show_gids",
              "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n"
              "---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---\n"
              "mlx5_0\t1\t0\tfe80:0000:0000:0000:0000:00ff:fe00:0001\t\t\tv1\teth2\n"
              "mlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:c000:0207\t192.0.2.7  \tv2\teth2\n"
              "n_gids_found=2\n",
              "");
  ASSERT_TRUE(converted.ok()) << converted.status();
  EXPECT_EQ(converted->text, "");
  EXPECT_FALSE(converted->partial);
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/";
  EXPECT_THAT(converted->files,
              ElementsAre(Pair(port + "gid_attrs/ndevs/0", "eth2\n"),
                          Pair(port + "gid_attrs/ndevs/3", "eth2\n"),
                          Pair(port + "gid_attrs/types/0", "IB/RoCE v1\n"),
                          Pair(port + "gid_attrs/types/3", "RoCE v2\n"),
                          Pair(port + "gids/0", "fe80:0000:0000:0000:0000:00ff:fe00:0001\n"),
                          Pair(port + "gids/3", "0000:0000:0000:0000:0000:ffff:c000:0207\n")));
}

TEST(GidList, ANameCannotLeadOutOfTheFolder) {
  EXPECT_TRUE(IsRefused("show_gids",
                        "../../etc 1 0 fe80:0000:0000:0000:0000:00ff:fe00:0001 v1 eth2\n"
                        ".. 1 0 fe80:0000:0000:0000:0000:00ff:fe00:0001 v1 eth2\n"));
}

TEST(GidList, AListWithoutItsEndIsPartial) {
  EXPECT_TRUE(
      IsPartial("show_gids", "mlx5_0 1 0 fe80:0000:0000:0000:0000:00ff:fe00:0001 v1 eth2\n"));
}

}  // namespace
}  // namespace galen::intake::rdma_test
