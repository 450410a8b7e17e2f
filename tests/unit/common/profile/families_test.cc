// Claims about families of kernels.
#include <string>

#include "common/profile/families.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/common/profile/profile_testing.h"

namespace galen::profile {
namespace {

using ::testing::HasSubstr;

TEST(Families, NamesOfTracesAreToldApart) {
  struct NameCase {
    const char* kernel;
    const char* family;
  };
  // Those of ../shared/fixtures and of public traces, NVIDIA, AMD and XLA.
  const NameCase cases[] = {
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
       "collectives"},
      {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "collectives"},
      {"void rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)", "collectives"},
      {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)",
       "collectives_custom"},
      {"all-reduce.12", "xla_collectives"},
      {"all-gather-start.3", "xla_collectives"},
      {"Memcpy HtoD (Pinned -> Device)", "memory_copy"},
      {"MemcpyD2D", "memory_copy"},
      {"Memset (Device)", "memory_set"},
      {"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>(Flash_fwd_params)",
       "attention"},
      {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention)", "attention"},
      {"ampere_sgemm_128x64_nn", "gemm"},
      {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTN", "gemm"},
      {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align1>(Params)", "gemm"},
      {"Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32_MI16x16x1_SN", "gemm"},
      {"void gemmk1_kernel<float, 256, 5, false, false, false, false>(int)", "gemm"},
      {"dot.4", "gemm"},
      {"gemm_fusion_dot_12", "gemm"},
      {"cudnn_ampere_scudnn_128x64_relu_xregs_large_nn_v1", "convolution"},
      {"sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw", "convolution"},
      {"void "
       "split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<c10::Half>"
       "()",
       "embedding"},
      {"triton_poi_fused_add_cos_sin_0", "inductor"},
      {"triton_red_fused_native_layer_norm_3", "inductor"},
      {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<2>>()",
       "optimizer"},
      {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)",
       "normalization"},
      {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, true>()",
       "softmax"},
      {"void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, int, int>>()",
       "sort_scan"},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(at::native::ReduceOp)",
       "reduction"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)",
       "elementwise"},
      {"loop_add_fusion_3", "elementwise"},
      {"fusion.123", "xla_fusion"},
      {"something_else_of_a_site", "other"},
      {"", "other"},
  };
  for (const NameCase& one : cases) {
    EXPECT_EQ(Shipped().all()[Shipped().IndexOf(one.kernel)].name, one.family) << one.kernel;
  }
}

TEST(Families, EveryFamilyNamesItsSource) {
  for (const Family& family : Shipped().all()) {
    EXPECT_EQ(family.source.empty(), family.name == "other") << family.name;
  }
}

TEST(Families, MistakesAreNamedWithTheirLine) {
  const auto error = [](const std::string& text) {
    return std::string(Families::Parse(text, "site.yaml").status().message());
  };
  EXPECT_THAT(error("families:\n  - {name: a}\n"), HasSubstr("site.yaml:2: needs title"));
  EXPECT_THAT(error("families:\n  - {name: a, title: a, kind: work, patterns: [x], source: s}\n"),
              HasSubstr("compute, communication or memory"));
  EXPECT_THAT(
      error("families:\n  - {name: a, title: a, kind: compute, patterns: ['('], source: s}\n"),
      HasSubstr("pattern ("));
  EXPECT_THAT(error("familys: []\n"), HasSubstr("familys: unknown"));
  EXPECT_TRUE(Families::Parse("", "site.yaml").ok());
}

TEST(Families, WithoutKnowledgeThereIsNone) {
  EXPECT_EQ(Families::Load({"/nowhere"}).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace galen::profile
