#include "services/node/checks/gpu/topology_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace {

using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TopologyMatrix, ReadsTheMatrixUnderItsUnderlinedHeading) {
  const auto matrix = ParseTopologyMatrix(
      "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
      "GPU0\t X \tNV12\tPIX\t0-23\t0\n"
      "GPU1\tNV12\t X \tSYS\t24-47\t1\n"
      "NIC0\tPIX\tSYS\t X \t\t\n\nLegend:\n\n  X    = Self\n");
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  EXPECT_THAT(matrix->gpus, ElementsAre("GPU0", "GPU1"));
  EXPECT_THAT(matrix->nics, ElementsAre("NIC0"));
  EXPECT_EQ(matrix->Relation("GPU0", "GPU1"), "NV12");
  EXPECT_EQ(matrix->Relation("GPU1", "NIC0"), "SYS");
  EXPECT_EQ(matrix->Relation("GPU0", "GPU0"), "");
}

TEST(TopologyMatrix, RefusesTextWithoutOne) {
  EXPECT_THAT(ParseTopologyMatrix("No devices were found\n"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no matrix")));
  EXPECT_FALSE(ParseTopologyMatrix("").ok());
}

TEST(TopologyMatrix, CountsTheLinksOfARelation) {
  EXPECT_EQ(NvlinksOf("NV18"), 18);
  EXPECT_EQ(NvlinksOf("NODE"), 0);
  EXPECT_EQ(NvlinksOf("NV"), 0);
}

}  // namespace
}  // namespace galen::node
