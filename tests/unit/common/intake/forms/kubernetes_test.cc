#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms_testing.h"

namespace galen::intake::kubernetes_test {
namespace {

TEST(KubeNode, ReadsTheDescriptionOfANode) {
  EXPECT_EQ(TextOf("kube_node",
                   "Name:               gpu-07\n"
                   "Conditions:\n"
                   "  Type             Status  LastHeartbeatTime\n"
                   "  Ready            False   Mon, 06 May 2024 07:08:09 +0000\n"
                   "Capacity:\n"
                   "  cpu:                104\n"
                   "  memory:             791635548Ki\n"
                   "  nvidia.com/gpu:     8\n"
                   "Allocatable:\n"
                   "  nvidia.com/gpu:     6\n"
                   "System Info:\n"
                   "  Machine ID:         7\n"),
            R"({"kind":"Node","metadata":{"name":"gpu-07"},"status":{"allocatable":)"
            R"({"nvidia.com/gpu":"6"},"capacity":{"cpu":"104","memory":"791635548Ki",)"
            R"("nvidia.com/gpu":"8"},"conditions":[{"status":"False","type":"Ready"}]}})");
}

TEST(KubeNode, ReadsAPieceOfItsYaml) {
  EXPECT_EQ(TextOf("kube_node",
                   "status:\n  allocatable:\n    amd.com/gpu: \"7\"\n"
                   "  capacity:\n    amd.com/gpu: \"8\"\n"),
            R"({"kind":"Node","status":{"allocatable":{"amd.com/gpu":"7"},"capacity":)"
            R"({"amd.com/gpu":"8"}}})");
}

TEST(KubeNode, OfTwoDescriptionsTheFirstOneCounts) {
  EXPECT_EQ(TextOf("kube_node",
                   "Allocatable:\n  nvidia.com/gpu: 6\n\nAllocatable:\n  nvidia.com/gpu: 8\n"),
            R"({"kind":"Node","status":{"allocatable":{"nvidia.com/gpu":"6"}}})");
}

TEST(KubeNode, RefusesWhatTellsNothingOfANode) {
  EXPECT_TRUE(IsRefused("kube_node", "Allocated resources:\n  cpu  1 (3%)\n"));
}

}  // namespace
}  // namespace galen::intake::kubernetes_test
