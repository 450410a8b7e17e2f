// Claims about the operations that a model needs.
#include "common/perfmodel/model_shape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::perfmodel {
namespace {

using ::testing::HasSubstr;

// Narayanan et al. (arXiv:2104.04473), equation 3 without recomputation: 72 B s l h^2 (1 + s/6h +
// V/12lh), of which V/16lh is with recomputation of all layers.
TEST(ModelShape, AgreesWithTheFormulaOfMegatron) {
  const auto shape = ParseShape(
      "layers=96,hidden=12288,heads=96,vocabulary=51200,sequence=2048,batch=1536,precision=bf16");
  ASSERT_TRUE(shape.ok()) << shape.status();
  const double l = 96, h = 12288, s = 2048, v = 51200, b = 1536;
  const double expected = 72 * b * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
  EXPECT_NEAR(FlopsPerStep(*shape) / expected, 1.0, 1e-9);
}

// Six operations a weight and token, and 12 LHQT (arXiv:2204.02311, appendix B): a Llama-3-8B by
// hand.
TEST(ModelShape, GroupedHeadsAndGatesCountByTheirWeights) {
  const auto shape = ParseShape(
      "layers=32, hidden=4096, heads=32, kv_heads=8, ffn=14336, gated=true, vocabulary=128256, "
      "sequence=8192, batch=1, precision=bf16");
  ASSERT_TRUE(shape.ok()) << shape.status();
  // q and out 2 * 4096^2, k and v 2 * 4096 * 1024, network 3 * 4096 * 14336, head 4096 * 128256.
  const double weights = 32.0 * (2 * 16777216.0 + 2 * 4194304.0 + 3 * 58720256.0) + 525336576.0;
  EXPECT_DOUBLE_EQ(weights, 7504658432.0);
  EXPECT_NEAR(FlopsPerStep(*shape), 8192 * (6 * weights + 12.0 * 32 * 4096 * 8192), 1e3);
}

TEST(ModelShape, OfExpertsThoseOfATokenCount) {
  const auto dense = ParseShape(
      "layers=1,hidden=64,heads=4,ffn=256,vocabulary=10,sequence=1,batch=1,precision=bf16");
  const auto experts = ParseShape(
      "layers=1,hidden=64,heads=4,ffn=256,vocabulary=10,sequence=1,batch=1,precision=bf16,"
      "experts=8,active=2");
  ASSERT_TRUE(dense.ok() && experts.ok());
  // One more network of two matrices, and the router.
  EXPECT_DOUBLE_EQ(ForwardFlopsPerToken(*experts) - ForwardFlopsPerToken(*dense),
                   2.0 * (2 * 64 * 256 + 64 * 8));
}

TEST(ModelShape, NothingIsGuessed) {
  const auto error = [](absl::string_view text) {
    return std::string(ParseShape(text).status().message());
  };
  EXPECT_THAT(error("layers=2"), HasSubstr("hidden: is missing"));
  EXPECT_THAT(error("layers=x"), HasSubstr("layers=x"));
  EXPECT_THAT(error("layers=0"), HasSubstr("whole number from 1"));
  EXPECT_THAT(error("width=1"), HasSubstr("width: unknown"));
  EXPECT_THAT(error("layers=2, layers=3"), HasSubstr("layers: is set twice"));
  EXPECT_THAT(error("precision=bf16,precision=fp8"), HasSubstr("precision: is set twice"));
  EXPECT_THAT(error("layers=2,hidden=64,heads=4,vocabulary=10,sequence=8,batch=1"),
              HasSubstr("precision: is missing"));
  EXPECT_THAT(
      error(
          "layers=2,hidden=64,heads=4,vocabulary=10,sequence=8,batch=1,precision=bf16,gated=true"),
      HasSubstr("ffn: is missing"));
  EXPECT_THAT(error("layers=2,hidden=65,heads=4,vocabulary=10,sequence=8,batch=1,precision=bf16"),
              HasSubstr("head_size"));
  EXPECT_THAT(
      error("layers=2,hidden=64,heads=4,vocabulary=10,sequence=8,batch=1,precision=bf16,active=2"),
      HasSubstr("more than there are experts"));
}

}  // namespace
}  // namespace galen::perfmodel
