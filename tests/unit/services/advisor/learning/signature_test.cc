#include "services/advisor/learning/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "services/advisor/learning/context.h"
#include "tests/testing/status_matchers.h"

namespace galen::advisor {
namespace signature_test {

using ::galen::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kKey[] = "a key of the fleet, 16+ bytes";

// RFC 4231, cases 1, 2 and 6 (a key longer than a block).
TEST(Signature, HmacIsThatOfTheStandard) {
  EXPECT_EQ(HmacSha256Hex(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(HmacSha256Hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(HmacSha256Hex(std::string(131, '\xaa'),
                          "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Signature, IsMadeOfBucketsAloneAndSoIsTheSameForWhatIsAlike) {
  const OperatorMix mix = {
      {"gemm", 0.61}, {"attention", 0.21}, {"all_reduce", 0.1}, {"memory", 0.08}};
  const OperatorMix near = {
      {"gemm", 0.5}, {"attention", 0.3}, {"all_reduce", 0.07}, {"memory", 0.09}, {"softmax", 0.04}};
  EXPECT_EQ(CanonicalMix(mix, 64, Grain::kFine),
            "fine all_reduce=1 attention=2 gemm=2 memory=1 scale=2");
  EXPECT_EQ(CanonicalMix(mix, 64, Grain::kCoarse),
            "coarse all_reduce attention gemm memory scale=2");
  const auto one = Sign(kKey, mix, 64, {{"nccl", "2.19.3"}});
  const auto other = Sign(kKey, near, 40, {{"nccl", "2.19.4"}});
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(*one, *other);
  EXPECT_TRUE(IsToken(one->archetype) && IsToken(one->stack));
}

TEST(Signature, TokensOfOtherKeysHaveNothingInCommon) {
  const OperatorMix mix = {{"gemm", 1.0}};
  std::set<std::string> tokens;
  for (const char* key : {"key number one, long", "key number two, long"}) {
    const auto signature = Sign(key, mix, 8, {});
    ASSERT_TRUE(signature.ok());
    tokens.insert(signature->archetype);
    tokens.insert(signature->stack);
  }
  EXPECT_EQ(tokens.size(), 4u);
}

TEST(Signature, ShareBucketsAreFactorsOfFour) {
  const auto bucket = [](double share) { return CanonicalMix({{"gemm", share}}, 1, Grain::kFine); };
  EXPECT_THAT(bucket(0.0499), Not(HasSubstr("gemm")));
  EXPECT_THAT(bucket(0.05), HasSubstr("gemm=1"));
  EXPECT_THAT(bucket(0.199), HasSubstr("gemm=1"));
  EXPECT_THAT(bucket(0.2), HasSubstr("gemm=2"));
  EXPECT_THAT(bucket(0.799), HasSubstr("gemm=2"));
  EXPECT_THAT(bucket(0.8), HasSubstr("gemm=3"));
  EXPECT_THAT(bucket(1), HasSubstr("gemm=3"));
}

TEST(Signature, RefusesWhatWouldTellMoreOrMeansNothing) {
  EXPECT_THAT(Sign("short", {{"gemm", 1}}, 1, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("16 bytes")));
  EXPECT_THAT(Sign(kKey, {{"acme_secret_kernel", 1}}, 1, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("closed list")));
  EXPECT_THAT(Sign(kKey, {{"gemm", 0.4}}, 1, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not to 1")));
  EXPECT_THAT(Sign(kKey, {}, 1, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not to 1")));
}

TEST(Signature, ComponentsThatMayBeTheTenantsOwnAreLeftOut) {
  EXPECT_EQ(CanonicalVersions({{"nccl", "2.19.3+cuda12"}, {"acme-trainer", "7"}, {"torch", "2.3"}}),
            "nccl=2.19 torch=2.3");
}

TEST(Mix, OfAProfileTellsCollectivesApartAndKnowsNoFamilyOfASite) {
  const auto families = profile::Families::Parse(
      "families:\n"
      "  - {name: gemm, title: t, kind: compute, patterns: [gemm], source: s}\n"
      "  - {name: acme_fused, title: t, kind: compute, patterns: [acme], source: s}\n"
      "  - {name: collectives, title: t, kind: communication, patterns: [nccl], source: s}\n",
      "test.yaml");
  ASSERT_TRUE(families.ok()) << families.status();
  profile::TraceReport trace;
  profile::DeviceReport device;
  device.families = {{0, 1, 500}, {1, 1, 200}, {2, 3, 300}};
  device.kernels = {{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 2, 1, 150, 150},
                    {"ncclDevKernel_ReduceScatter_Sum_f32", 2, 1, 100, 100}};
  trace.devices = {device};
  const auto mix = MixOf(trace, *families);
  ASSERT_TRUE(mix.ok()) << mix.status();
  EXPECT_NEAR(mix->at("gemm"), 0.5, 1e-9);
  EXPECT_NEAR(mix->at("other"), 0.2, 1e-9);
  EXPECT_NEAR(mix->at("all_reduce"), 0.15, 1e-9);
  EXPECT_NEAR(mix->at("reduce_scatter"), 0.1, 1e-9);
  EXPECT_NEAR(mix->at("collective"), 0.05, 1e-9);
  EXPECT_THAT(MixOf(profile::TraceReport(), *families),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does nothing")));
}

TEST(Mix, OfADeclarationHasTheOperatorsOfItsParallelism) {
  Declared dense{.layers = 32, .hidden = 4096, .sequence = 4096};
  dense.tensor = 8;
  dense.data = 8;
  dense.accumulation = 16;
  const auto of_dense = MixOf(dense);
  ASSERT_TRUE(of_dense.ok());
  EXPECT_GT(of_dense->at("gemm"), 0.3);
  EXPECT_GT(of_dense->at("all_reduce"), 0.02);
  EXPECT_EQ(of_dense->count("all_to_all"), 0u);
  Declared sparse = dense;
  sparse.experts = 64;
  sparse.active = 6;
  sparse.expert = 64;
  sparse.sharded = true;
  const auto of_sparse = MixOf(sparse);
  ASSERT_TRUE(of_sparse.ok());
  EXPECT_GT(of_sparse->at("all_to_all"), 0.02);
  EXPECT_GT(of_sparse->count("reduce_scatter"), 0u);
  Declared wrong = dense;
  wrong.hidden = 0;
  EXPECT_THAT(MixOf(wrong), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hidden 0")));
}

TEST(Context, IsOneLineThatTellsUnknownFromFull) {
  Hardware hardware{.gpu = "NVIDIA H100 80GB HBM3", .driver = "535.129.03", .gpus_per_node = 8};
  hardware.power_limit = 0.8;
  hardware.settings = {{"ecc", "on"}};
  const auto context = ContextOf(hardware);
  ASSERT_TRUE(context.ok());
  EXPECT_EQ(*context,
            "gpu=NVIDIA_H100_80GB_HBM3 nic=none driver=535.129 gpus=8 clocks=unknown power=reduced "
            "ecc=on");
  hardware.driver = "535.129.99";
  EXPECT_EQ(ContextOf(hardware).value(), *context);
  hardware.settings["a\nb"] = "";
  EXPECT_THAT(ContextOf(hardware),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("control characters")));
}

}  // namespace signature_test
}  // namespace galen::advisor
