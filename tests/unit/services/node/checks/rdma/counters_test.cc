#include "services/node/checks/rdma/counters.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/real_knowledge.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;

void AddPort(FakeHost& host, const std::string& layer) {
  const std::string root = "/sys/class/infiniband/mlx5_0";
  host.AddFile(root + "/ports/1/state", "4: ACTIVE\n");
  host.AddFile(root + "/ports/1/link_layer", layer + "\n");
}

std::vector<Growth> Growths() {
  const auto growths = GrowthsOf(RealKnowledge());
  EXPECT_TRUE(growths.ok()) << growths.status();
  return growths.ok() ? *growths : std::vector<Growth>();
}

TEST(RdmaCounters, ACaptureKnowsNoGrowth) {
  FakeHost host;
  AddPort(host, "InfiniBand");
  host.AddFile("/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed", "9\n");
  const auto output = CheckRdmaCounters({host, RealKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "link_downed_delta", "nic:mlx5_0/port:1"), "?");
  EXPECT_THAT(output->excerpt, ::testing::HasSubstr("link_downed 9 since boot"));
}

// The value of finding `name` after `seconds` in which one counter grew by `grown`.
std::string After(double seconds, const std::string& counter, std::int64_t grown,
                  const std::string& name) {
  CheckOutput output;
  AddDeltas("n", "d", Growths(), {{counter, 5}}, {{counter, 5 + grown}}, absl::Seconds(seconds),
            &output);
  return ValueOf(output, name, "d");
}

bool HasLimit(const std::string& finding) {
  const auto* const spec = RealKnowledge().FindFinding("rdma.counters", finding);
  return spec != nullptr && spec->abnormal().op() != knowledge::v1::Rule::OP_UNSPECIFIED;
}

TEST(RdmaCounters, PacketsSentAgainAreCountedByRdmaInSoftwareToo) {
  CheckOutput output;
  AddDeltas("n", "d", Growths(), {{"out_of_seq_request", 1}, {"rcvd_seq_err", 2}},
            {{"out_of_seq_request", 4}, {"rcvd_seq_err", 7}}, absl::Seconds(2), &output);
  EXPECT_EQ(ValueOf(output, "resent_per_s", "d"), "4");
  EXPECT_TRUE(HasLimit("resent_per_s"));
}

TEST(RdmaCounters, PacketsThatAdaptiveRoutingReordersAreNotSentAgain) {
  CheckOutput output;
  AddDeltas("n", "d", Growths(), {{"out_of_sequence", 0}, {"packet_seq_err", 3}},
            {{"out_of_sequence", 90000}, {"packet_seq_err", 3}}, absl::Seconds(1), &output);
  EXPECT_EQ(ValueOf(output, "out_of_sequence_delta", "d"), "90000");
  EXPECT_EQ(ValueOf(output, "resent_per_s", "d"), "0");
  EXPECT_FALSE(HasLimit("out_of_sequence_delta"));
}

TEST(RdmaCounters, AFewSymbolErrorsInAShortLookAreNoRateByTheHour) {
  EXPECT_EQ(After(1, "symbol_error", 0, "symbol_errors_per_h"), "0");
  EXPECT_EQ(After(1, "symbol_error", 1, "symbol_errors_per_h"), "?");
  EXPECT_EQ(After(1, "symbol_error", 2, "symbol_errors_per_h"), "?");
  EXPECT_EQ(After(1, "symbol_error", 3, "symbol_errors_per_h"), "10800");
  EXPECT_EQ(After(60, "symbol_error", 3, "symbol_errors_per_h"), "?");
  EXPECT_EQ(After(60, "symbol_error", 11, "symbol_errors_per_h"), "660");
}

TEST(RdmaCounters, ALimitByTheSecondIsNoLimitOfALongerLook) {
  EXPECT_EQ(After(60, "port_rcv_errors", 30, "receive_errors_per_s"), "0.5");
  EXPECT_EQ(After(1, "port_rcv_errors", 30, "receive_errors_per_s"), "30");
}

TEST(RdmaCounters, OnlyATotalTellsThatNothingHappenedBefore) {
  CheckOutput output;
  AddDeltas("n", "d", Growths(), {{"link_downed", 0}, {"symbol_error", 4}}, {},
            absl::ZeroDuration(), &output);
  EXPECT_EQ(ValueOf(output, "link_downed_delta", "d"), "?");
  EXPECT_EQ(ValueOf(output, "link_downed_total", "d"), "0");
  EXPECT_EQ(ValueOf(output, "symbol_errors_total", "d"), "4");
  EXPECT_EQ(ValueOf(output, "resent_total", "d"), "?");
}

// The value of finding `name` for a counter with these values before and after.
std::string Between(const std::string& counter, std::int64_t before, std::int64_t after,
                    const std::string& name) {
  CheckOutput output;
  AddDeltas("n", "d", Growths(), {{counter, before}}, {{counter, after}}, absl::Hours(1), &output);
  return ValueOf(output, name, "d");
}

TEST(RdmaCounters, OneThatStandsAtItsMaximumTellsNoGrowth) {
  EXPECT_EQ(Between("symbol_error", 65535, 65535, "symbol_errors_per_h"), "?");
  EXPECT_EQ(Between("symbol_error", 65535, 65535, "symbol_errors_total"), "65535");
  EXPECT_EQ(Between("symbol_error", 65000, 65535, "symbol_errors_per_h"), "535");
  EXPECT_EQ(Between("symbol_error", 65000, 65000, "symbol_errors_per_h"), "0");
  EXPECT_EQ(Between("port_rcv_errors", 65535, 65535, "receive_errors_per_s"), "?");
  EXPECT_EQ(Between("port_xmit_discards", 65535, 65535, "discards_delta"), "?");
  EXPECT_EQ(Between("link_downed", 255, 255, "link_downed_delta"), "?");
  EXPECT_EQ(Between("link_error_recovery", 255, 255, "link_errors_delta"), "?");
  EXPECT_EQ(Between("local_link_integrity_errors", 15, 15, "link_errors_delta"), "?");
  EXPECT_EQ(Between("excessive_buffer_overrun_errors", 15, 15, "link_errors_delta"), "?");
  EXPECT_EQ(Between("packet_seq_err", 65535, 65535, "resent_per_s"), "0");  // has more bits
}

TEST(RdmaCounters, WhatGrewBesideOneAtItsMaximumIsTold) {
  CheckOutput output;
  AddDeltas("n", "d", Growths(), {{"link_error_recovery", 255}, {"local_link_integrity_errors", 1}},
            {{"link_error_recovery", 255}, {"local_link_integrity_errors", 4}}, absl::Seconds(1),
            &output);
  EXPECT_EQ(ValueOf(output, "link_errors_delta", "d"), "3");
}

TEST(RdmaCounters, NumbersThatNoCounterReachesAreNotAddedUp) {
  FakeHost host;
  AddPort(host, "InfiniBand");
  const std::string folder = "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/";
  host.AddFile(folder + "packet_seq_err", "9223372036854775807\n");
  host.AddFile(folder + "out_of_seq_request", "9223372036854775807\n");
  host.AddFile(folder + "local_ack_timeout_err", "-9223372036854775808\n");
  const auto output = CheckRdmaCounters({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "resent_total", "nic:mlx5_0/port:1"), "?");
}

TEST(RdmaCounters, PauseFramesAreThoseThatTheDriverTellsOfTheInterface) {
  FakeHost host;
  AddPort(host, "Ethernet");
  host.AddFile("/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "eth4\n");
  host.AddCommand("ethtool -S eth4",
                  "NIC statistics:\n     rx_prio3_pause: 7\n     rx_prio3_pause_duration: 99\n"
                  "     rx_global_pause: 2\n");
  const auto output = CheckRdmaCounters({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "rx_pause_total", "nic:mlx5_0/port:1"), "9");
  EXPECT_EQ(After(2, "rx_prio3_pause", 300000, "rx_pause_per_s"), "150000");
}

TEST(RdmaCounters, GrowthIsTheDifferenceOfTwoReads) {
  CheckOutput output;
  AddDeltas("n", "d", Growths(), {{"link_downed", 4}, {"symbol_error", 10}, {"out_of_sequence", 7}},
            {{"link_downed", 5}, {"symbol_error", 11}, {"out_of_sequence", 2}}, absl::Minutes(30),
            &output);
  EXPECT_EQ(ValueOf(output, "link_downed_delta", "d"), "1");
  EXPECT_EQ(ValueOf(output, "symbol_errors_per_h", "d"), "2");
  EXPECT_EQ(ValueOf(output, "out_of_sequence_delta", "d"), "?");  // was reset in between
  EXPECT_EQ(ValueOf(output, "rnr_delta", "d"), "?");
}

}  // namespace
}  // namespace galen::node
