#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/unit/services/node/checks/cuda/fake_driver.h"

// The checks from their declaration to their result, through the real program, dlopen and the
// scripted driver.
namespace galen::node {
namespace {

using galen::v1::CheckResult;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kLoading[] = {"gpu.compute_test",   "gpu.gemm_rate",   "gpu.hbm_bandwidth",
                                    "gpu.host_bandwidth", "gpu.memory_test", "gpu.peer_bandwidth",
                                    "gpu.stress_power"};

TEST(ActiveGpuChecks, GoodGpusPassAndNothingIsLeftBehind) {
  for (const NamedCheck& check : CudaChecks()) {
    FakeGpuMachine machine("");
    const CheckResult result = machine.Run(std::string(check.name));
    EXPECT_EQ(result.status(), CheckResult::PASS) << check.name << ": " << result.message();
    EXPECT_GT(result.findings_size(), 0) << check.name;
    const std::string left = machine.LeftBehind();
    EXPECT_THAT(left, Not(IsEmpty())) << check.name;
    for (const absl::string_view line : absl::StrSplit(left, '\n', absl::SkipEmpty())) {
      EXPECT_EQ(line, "left 0 allocations 0 pinned 0 contexts") << check.name;
    }
  }
}

TEST(ActiveGpuChecks, AllButTheFirstContextLoadTheDevice) {
  for (const NamedCheck& check : CudaChecks()) {
    const knowledge::v1::Check* const spec = FakeGpuMachine::Knowledge().FindCheck(check.name);
    ASSERT_NE(spec, nullptr) << check.name;
    const bool loads = check.name != "gpu.cuda_init";
    EXPECT_EQ(spec->intrusive(), loads) << check.name;
    EXPECT_EQ(spec->occupies(), loads ? "gpu" : "") << check.name;
    EXPECT_GT(spec->time_limit().seconds(), spec->cost().seconds()) << check.name;
  }
}

TEST(ActiveGpuChecks, ABundleHasNoGpuToTest) {
  FakeGpuMachine machine("");
  machine.host().SetLive(false);
  for (const NamedCheck& check : CudaChecks()) {
    const CheckResult result = machine.Run(std::string(check.name));
    EXPECT_EQ(result.status(), CheckResult::SKIPPED) << check.name;
    EXPECT_THAT(result.message(), HasSubstr("needs the machine itself"));
  }
  EXPECT_THAT(machine.LeftBehind(), IsEmpty());
}

TEST(ActiveGpuChecks, AMachineWithoutADriverIsSkipped) {
  if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr) {
    GTEST_SKIP() << "this machine has a driver";
  }
  FakeGpuMachine machine("");
  setenv("LD_LIBRARY_PATH", "/nonexistent", 1);
  for (const NamedCheck& check : CudaChecks()) {
    const CheckResult result = machine.Run(std::string(check.name));
    EXPECT_EQ(result.status(), CheckResult::SKIPPED) << check.name;
    EXPECT_THAT(result.message(), HasSubstr("libcuda.so.1")) << check.name;
  }
}

TEST(ActiveGpuChecks, AGpuThatAnotherProcessUsesIsRefused) {
  for (const std::string check : kLoading) {
    FakeGpuMachine machine("");
    machine.Occupy(0);
    machine.Occupy(1);
    const CheckResult result = machine.Run(check);
    EXPECT_EQ(result.status(), CheckResult::SKIPPED) << check;
    EXPECT_THAT(result.message(), HasSubstr("gpu:0: used by python (4711)")) << check;
  }
}

TEST(ActiveGpuChecks, TheIdleOnesAreTestedAndTheOthersNamed) {
  FakeGpuMachine machine("");
  machine.Occupy(1);
  const CheckResult result = machine.Run("gpu.compute_test");
  EXPECT_EQ(result.status(), CheckResult::PASS);
  EXPECT_EQ(ValueOf(result, "bit_mismatches", "gpu:0"), "0");
  EXPECT_EQ(ValueOf(result, "bit_mismatches", "gpu:1"), "(none)");
  EXPECT_THAT(result.message(), HasSubstr("not tested: gpu:1: used by python"));
}

TEST(ActiveGpuChecks, ABusyGpuIsTestedWhenTheCallerAllowsIt) {
  FakeGpuMachine machine("");
  machine.Occupy(0);
  machine.Occupy(1);
  machine.allow_busy = true;
  EXPECT_EQ(machine.Run("gpu.compute_test").status(), CheckResult::PASS);
}

TEST(ActiveGpuChecks, AGraphicsProcessDoesNotCompute) {
  FakeGpuMachine machine("");
  machine.Occupy(0, "G");
  EXPECT_EQ(ValueOf(machine.Run("gpu.compute_test"), "bit_mismatches", "gpu:0"), "0");
}

TEST(ActiveGpuChecks, MemoryThatNoListedProcessExplainsIsSomebodys) {
  FakeGpuMachine machine("");
  machine.UseMemory(1, 40000);
  const CheckResult result = machine.Run("gpu.compute_test");
  EXPECT_EQ(ValueOf(result, "bit_mismatches", "gpu:0"), "0");
  EXPECT_EQ(ValueOf(result, "bit_mismatches", "gpu:1"), "(none)");
  EXPECT_THAT(result.message(), HasSubstr("gpu:1: 40000 MiB of its memory are used by nobody"));
}

TEST(ActiveGpuChecks, AGpuThatDoesNotTellItsMemoryMayBeSomebodys) {
  FakeGpuMachine machine("");
  machine.HideMemory(1);
  const CheckResult result = machine.Run("gpu.compute_test");
  EXPECT_EQ(ValueOf(result, "bit_mismatches", "gpu:0"), "0");
  EXPECT_EQ(ValueOf(result, "bit_mismatches", "gpu:1"), "(none)");
  EXPECT_THAT(result.message(), HasSubstr("gpu:1: nobody can tell whether another process uses"));
  machine.HideMemory(0);
  EXPECT_EQ(machine.Run("gpu.compute_test").status(), CheckResult::SKIPPED);
}

TEST(ActiveGpuChecks, WhoeverCannotTellWhetherAGpuIsUsedLeavesItAlone) {
  FakeGpuMachine machine("");
  machine.host().AddAbsentCommand("nvidia-smi -q -x");
  const CheckResult result = machine.Run("gpu.compute_test");
  EXPECT_EQ(result.status(), CheckResult::SKIPPED);
  EXPECT_THAT(result.message(), HasSubstr("cannot tell whether another process uses"));
}

TEST(ActiveGpuChecks, AGpuOlderThanTheKernelsIsNotAccused) {
  // The error of its driver for Volta's kernels.
  const std::string pascal =
      "name Tesla P100-PCIE-16GB\ncapability 60\n"
      "error cuModuleLoadData 209 -1 0\n";
  for (const std::string check : kLoading) {
    FakeGpuMachine machine(pascal);
    const CheckResult result = machine.Run(check);
    EXPECT_EQ(result.status(), CheckResult::SKIPPED) << check;
    EXPECT_THAT(result.message(), HasSubstr("older than Volta")) << check;
  }
  FakeGpuMachine machine(pascal);
  const CheckResult init = machine.Run("gpu.cuda_init");
  EXPECT_EQ(init.status(), CheckResult::PASS) << init.message();
  EXPECT_EQ(ValueOf(init, "cuinit_code", ""), "0");
  EXPECT_THAT(init.message(), HasSubstr("not tested: gpu:0: older than Volta"));
}

TEST(ActiveGpuChecks, OneGpuCanBeNamed) {
  FakeGpuMachine machine("sm 0 1 flip\n");
  const CheckResult result = machine.Run("gpu.compute_test", {{"gpu", "1"}});
  EXPECT_EQ(result.status(), CheckResult::PASS);
  EXPECT_EQ(ValueOf(result, "bit_mismatches", "gpu:0"), "(none)");
  EXPECT_EQ(ValueOf(result, "bit_mismatches", "gpu:1"), "0");
  EXPECT_EQ(machine.Run("gpu.compute_test", {{"gpu", "9"}}).status(), CheckResult::SKIPPED);
}

TEST(ActiveGpuChecks, ProgressIsToldAndRises) {
  FakeGpuMachine machine("");
  std::vector<double> told;
  std::vector<std::string> what;
  machine.progress = [&](double done, absl::string_view text) {
    told.push_back(done);
    what.emplace_back(text);
  };
  EXPECT_EQ(machine.Run("gpu.compute_test", {{"seconds", "1"}}).status(), CheckResult::PASS);
  ASSERT_GT(told.size(), 2U);
  EXPECT_THAT(told, Each(AllOf(::testing::Ge(0.0), ::testing::Le(1.0))));
  EXPECT_DOUBLE_EQ(told.back(), 1);
  EXPECT_THAT(what, ::testing::Contains(HasSubstr("gpu:1: known results")));
}

TEST(ActiveGpuChecks, ACancelEndsTheTest) {
  FakeGpuMachine machine("");
  // Cancelled once it is well under way; without the cancel it would go on for ten minutes.
  machine.time = absl::Minutes(20);
  machine.progress = [&](double, absl::string_view) { machine.cancellation().Cancel(); };
  const CheckResult result = machine.Run("gpu.compute_test", {{"seconds", "600"}});
  EXPECT_EQ(result.status(), CheckResult::ERROR);
  EXPECT_THAT(result.message(), HasSubstr("cancelled"));
}

TEST(ActiveGpuChecks, ATestIsNotLongerThanItsDeadline) {
  FakeGpuMachine machine("");
  machine.time = absl::Seconds(4);  // of which two are for telling
  const CheckResult result = machine.Run("gpu.compute_test", {{"seconds", "600"}});
  EXPECT_EQ(result.status(), CheckResult::ERROR);
  EXPECT_THAT(result.message(), HasSubstr("not done in time"));
}

TEST(CudaInit, TellsTheDriverLibraryThatProgramsGet) {
  FakeGpuMachine machine("");
  const CheckResult result = machine.Run("gpu.cuda_init");
  EXPECT_EQ(ValueOf(result, "cuinit_code", ""), "0");
  EXPECT_EQ(ValueOf(result, "library_path", ""), GALEN_FAKE_DRIVER "/libcuda.so.1");
  EXPECT_EQ(ValueOf(result, "context_code", "gpu:1"), "0");
  EXPECT_EQ(ValueOf(result, "kernel_wrong", "gpu:1"), "false");
}

TEST(CudaInit, ACodeOfCuInitIsTheFinding) {
  for (const std::string code : {"802", "999", "100"}) {
    FakeGpuMachine machine("error cuInit " + code + " -1 0\n");
    const CheckResult result = machine.Run("gpu.cuda_init");
    EXPECT_EQ(result.status(), CheckResult::FAIL);
    EXPECT_EQ(ValueOf(result, "cuinit_code", ""), code);
    EXPECT_THAT(result.message(), HasSubstr(code));
    // The other tests do not even begin.
    const CheckResult other = machine.Run("gpu.memory_test");
    EXPECT_EQ(other.status(), CheckResult::SKIPPED);
    EXPECT_THAT(other.message(), HasSubstr(code));
  }
}

TEST(CudaInit, OneGpuWithoutAContextIsThatGpusFault) {
  FakeGpuMachine machine("error cuCtxCreate 719 1 0\n");
  const CheckResult result = machine.Run("gpu.cuda_init");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "context_code", "gpu:0"), "0");
  EXPECT_EQ(ValueOf(result, "context_code", "gpu:1"), "719");
  EXPECT_TRUE(IsAbnormal(result, "context_code", "gpu:1"));
}

TEST(CudaInit, AGpuThatAnotherProcessHasToItselfIsUnknownAndNoFault) {
  FakeGpuMachine machine("error cuCtxCreate 46 1 0\n");
  const CheckResult result = machine.Run("gpu.cuda_init");
  EXPECT_EQ(result.status(), CheckResult::PASS);
  EXPECT_EQ(ValueOf(result, "context_code", "gpu:1"), "unknown");
  EXPECT_THAT(result.message(), HasSubstr("CUDA_ERROR_DEVICE_UNAVAILABLE"));
}

TEST(CudaInit, ADriverThatDoesNotComeBackHangsNobodyElse) {
  FakeGpuMachine machine("hang cuInit -1 0\n");
  const CheckResult result = machine.Run("gpu.cuda_init", {{"patience", "0.01"}});
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "hung", ""), "true");
  EXPECT_EQ(ValueOf(result, "cuinit_code", ""), "unknown");
  EXPECT_THAT(result.message(), HasSubstr("hung in cuInit"));
}

TEST(CudaInit, OneGpuWhoseContextHangsLeavesTheOthersTold) {
  FakeGpuMachine machine("hang cuCtxCreate 0 0\n");
  const CheckResult result = machine.Run("gpu.cuda_init", {{"patience", "0.01"}});
  EXPECT_EQ(ValueOf(result, "hung", "gpu:0"), "true");
  EXPECT_EQ(ValueOf(result, "context_code", "gpu:0"), "unknown");
  EXPECT_EQ(ValueOf(result, "hung", "gpu:1"), "false");
  EXPECT_EQ(ValueOf(result, "context_code", "gpu:1"), "0");
}

TEST(GpuMemoryTest, AStuckBitIsFoundWithItsAddressAndBit) {
  // Byte 4096 + 8 of GPU 1's memory; the first 512 hold the kernel's report.
  FakeGpuMachine machine("stuck 1 4104 5 1\n");
  const CheckResult result = machine.Run("gpu.memory_test");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "mismatches", "gpu:0"), "0");
  EXPECT_TRUE(IsAbnormal(result, "mismatches", "gpu:1"));
  EXPECT_THAT(ValueOf(result, "first_address", "gpu:1"), HasSubstr("0x"));
  EXPECT_EQ(ValueOf(result, "wrong_bits", "gpu:1"), "0x20");
  EXPECT_THAT(result.excerpt(), HasSubstr("0x20 instead of 0x0, pattern 0x00000000"));
  EXPECT_THAT(result.message(), HasSubstr("gpu:1: "));
}

TEST(GpuMemoryTest, AllFreeMemoryButTheSpareIsTestedWithEightPatterns) {
  FakeGpuMachine machine("");
  const CheckResult result = machine.Run("gpu.memory_test", {{"share", "1"}});
  // 66 MiB less 64 to spare, less a page for the report.
  EXPECT_THAT(std::stod(ValueOf(result, "tested_gib", "gpu:0")) * 1024,
              AllOf(::testing::Gt(1.9), ::testing::Le(2.0)));
  EXPECT_GE(std::stoi(ValueOf(result, "patterns", "gpu:0")), 8);
}

TEST(GpuMemoryTest, PatternsCanBeChosen) {
  FakeGpuMachine machine("");
  const CheckResult result =
      machine.Run("gpu.memory_test", {{"patterns", "solid,checker"}, {"gpu", "0"}});
  EXPECT_EQ(result.status(), CheckResult::PASS);
  EXPECT_GE(std::stoi(ValueOf(result, "patterns", "gpu:0")), 4);
  EXPECT_EQ(machine.Run("gpu.memory_test", {{"patterns", "plaid"}}).status(), CheckResult::ERROR);
}

TEST(GpuMemoryTest, AnUncorrectableErrorOfTheDriverIsTheFinding) {
  FakeGpuMachine machine("error cuMemcpyDtoHAsync 214 1 1\n");
  const CheckResult result = machine.Run("gpu.memory_test");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "cuda_error", "gpu:1"), "214");
  EXPECT_EQ(ValueOf(result, "mismatches", "gpu:1"), "unknown");
  EXPECT_EQ(ValueOf(result, "cuda_error", "gpu:0"), "0");
  EXPECT_THAT(result.message(), HasSubstr("uncorrectable ECC error encountered (214)"));
}

TEST(GpuMemoryTest, NoRoomIsNoFault) {
  FakeGpuMachine machine("error cuMemAlloc 2 -1 0\n");
  const CheckResult result = machine.Run("gpu.memory_test");
  EXPECT_EQ(result.status(), CheckResult::SKIPPED);
  EXPECT_THAT(result.message(), HasSubstr("no room"));
}

TEST(GpuMemoryTest, AKernelThatNeverEndsIsHungAndTheOtherGpuTested) {
  FakeGpuMachine machine("error cuEventQuery 600 1 0\n");
  const CheckResult result = machine.Run("gpu.memory_test", {{"patience", "0.05"}});
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "hung", "gpu:1"), "true");
  EXPECT_EQ(ValueOf(result, "mismatches", "gpu:1"), "unknown");
  EXPECT_EQ(ValueOf(result, "mismatches", "gpu:0"), "0");
}

TEST(GpuComputeTest, AWrongSmIsNamed) {
  FakeGpuMachine machine("sms 6\nsm 1 3 flip\n");
  const CheckResult result = machine.Run("gpu.compute_test");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "bit_mismatches", "gpu:0"), "0");
  EXPECT_TRUE(IsAbnormal(result, "bit_mismatches", "gpu:1"));
  EXPECT_EQ(ValueOf(result, "wrong_sms", "gpu:1"), "3");
  EXPECT_EQ(ValueOf(result, "nan_results", "gpu:1"), "0");
  EXPECT_EQ(ValueOf(result, "sms_tested", "gpu:1"), "6");
  EXPECT_THAT(result.message(), HasSubstr("on SM 3"));
}

TEST(GpuComputeTest, ValuesThatAreNotFiniteAreCounted) {
  FakeGpuMachine machine("sm 0 2 nan\n");
  const CheckResult result = machine.Run("gpu.compute_test");
  EXPECT_TRUE(IsAbnormal(result, "nan_results", "gpu:0"));
  EXPECT_EQ(ValueOf(result, "wrong_sms", "gpu:0"), "2");
}

TEST(GpuComputeTest, ADriverThatRefusesTheTensorKernelLeavesTheRest) {
  FakeGpuMachine machine("no_tensor\n");
  const CheckResult result = machine.Run("gpu.compute_test");
  EXPECT_EQ(result.status(), CheckResult::PASS);
  EXPECT_EQ(ValueOf(result, "tensor_cores_tested", "gpu:0"), "false");
  EXPECT_THAT(result.message(), HasSubstr("tensor cores not tested"));
}

TEST(GemmRate, TheSlowOneIsBelowTheMedianOfItsPeers) {
  FakeGpuMachine machine("gpus 4\nslow 2 gemm 0.5\n", 4);
  const CheckResult result = machine.Run("gpu.gemm_rate", {{"size", "256"}});
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_TRUE(IsAbnormal(result, "below_peer_median_pct", "gpu:2"));
  for (const char* const good : {"gpu:0", "gpu:1", "gpu:3"}) {
    EXPECT_FALSE(IsAbnormal(result, "below_peer_median_pct", good));
    EXPECT_EQ(ValueOf(result, "wrong_elements", good), "0");
  }
}

TEST(GemmRate, AWrongProductIsTold) {
  FakeGpuMachine machine("sm 1 0 flip\n");
  const CheckResult result = machine.Run("gpu.gemm_rate");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "wrong_elements", "gpu:0"), "0");
  EXPECT_TRUE(IsAbnormal(result, "wrong_elements", "gpu:1"));
}

TEST(GemmRate, AloneItHasNothingToCompareWith) {
  FakeGpuMachine machine("gpus 1\n", 1);
  const CheckResult result = machine.Run("gpu.gemm_rate");
  EXPECT_EQ(result.status(), CheckResult::PASS);
  EXPECT_EQ(ValueOf(result, "below_peer_median_pct", "gpu:0"), "unknown");
}

TEST(HbmBandwidth, IsReadPlusWrittenAgainstTheFloorOfTheModel) {
  FakeGpuMachine machine("slow 1 memory 0.5\n");
  const CheckResult result = machine.Run("gpu.hbm_bandwidth");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_NEAR(std::stod(ValueOf(result, "gb_s", "gpu:0")), 1600, 1);
  EXPECT_FALSE(IsAbnormal(result, "gb_s", "gpu:0"));
  EXPECT_NEAR(std::stod(ValueOf(result, "gb_s", "gpu:1")), 800, 1);
  EXPECT_TRUE(IsAbnormal(result, "gb_s", "gpu:1"));
  EXPECT_EQ(ValueOf(result, "floor_gb_s", "gpu:1"), "1173");
  EXPECT_EQ(ValueOf(result, "peak_gb_s", "gpu:1"), "2039");
}

TEST(HbmBandwidth, AModelThatTheTableDoesNotKnowHasNoFloor) {
  FakeGpuMachine machine("name NVIDIA Imaginary 9000\nslow 1 memory 0.99\n");
  const CheckResult result = machine.Run("gpu.hbm_bandwidth");
  EXPECT_EQ(result.status(), CheckResult::PASS);
  EXPECT_EQ(ValueOf(result, "floor_gb_s", "gpu:0"), "unknown");
}

TEST(HostBandwidth, EachWayIsHeldAgainstTheFloor) {
  FakeGpuMachine machine("slow 1 d2h 0.4\n");
  const CheckResult result = machine.Run("gpu.host_bandwidth");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "floor_gb_s", "gpu:1"), "21");
  EXPECT_NEAR(std::stod(ValueOf(result, "h2d_gb_s", "gpu:1")), 25, 0.1);
  EXPECT_NEAR(std::stod(ValueOf(result, "d2h_gb_s", "gpu:1")), 10, 0.1);
  EXPECT_FALSE(IsAbnormal(result, "h2d_gb_s", "gpu:1"));
  EXPECT_TRUE(IsAbnormal(result, "d2h_gb_s", "gpu:1"));
  EXPECT_FALSE(IsAbnormal(result, "d2h_gb_s", "gpu:0"));
  EXPECT_EQ(ValueOf(result, "wrong_bytes", "gpu:0"), "0");
}

TEST(HostBandwidth, DataThatComeBackChangedAreTold) {
  // A bit of four words within the first MiB of the device's memory, the target of the copy: for
  // any random data, one of them needs the other value.
  FakeGpuMachine machine(
      "stuck 0 65536 3 0\nstuck 0 65540 3 0\nstuck 0 65544 3 1\nstuck 0 65548 3 1\n");
  const CheckResult result = machine.Run("gpu.host_bandwidth");
  EXPECT_TRUE(IsAbnormal(result, "wrong_bytes", "gpu:0"));
  EXPECT_EQ(ValueOf(result, "wrong_bytes", "gpu:1"), "0");
}

}  // namespace
}  // namespace galen::node
