#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/host/live_host.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/node/checks/job/environment.h"
#include "services/node/checks/job/libraries.h"
#include "services/node/checks/job/limits.h"
#include "services/node/checks/job/versions.h"
#include "tests/testing/host/fake_host.h"
#include "tests/testing/scratch.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/fixtures.h"
#include "tests/unit/services/node/checks/real_job.h"
#include "tests/unit/services/node/checks/real_knowledge.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
constexpr host::View kJob = host::View::kJob;

constexpr char kModule[] =
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.10  Wed Jan  1 00:00:00 UTC 2025\n";

FakeHost JobWith(const std::string& cache) {
  FakeHost host;
  host.AddFile("/proc/driver/nvidia/version", kModule);
  host.AddCommand("ldconfig -p", "9 libs found in cache\n" + cache, 0, "", kJob);
  return host;
}

TEST(ContainerLibraries, ADriverOfAnotherReleaseIsASkew) {
  FakeHost host = JobWith(
      "\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1\n"
      "\tlibnvidia-ml.so.535.54.03 (libc6,x86-64) => "
      "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.54.03\n"
      "\tlibibverbs.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libibverbs.so.1\n");
  host.AddFile("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  const auto output = CheckContainerLibraries({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "libcuda_path"), "/usr/lib/x86_64-linux-gnu/libcuda.so.1");
  EXPECT_EQ(ValueOf(*output, "libcuda_version"), "535.54.03");
  EXPECT_EQ(ValueOf(*output, "driver_skew"), "true");
  EXPECT_EQ(ValueOf(*output, "libcuda_is_compat"), "false");
  EXPECT_EQ(ValueOf(*output, "libibverbs_missing"), "false");
}

TEST(ContainerLibraries, WithoutAVersionThereIsNoSkewToTell) {
  FakeHost host = JobWith("\tlibcuda.so.1 (libc6) => /lib/libcuda.so.1\n");
  host.AddFile("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  const auto output = CheckContainerLibraries({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "libcuda_version"), "?");
  EXPECT_EQ(ValueOf(*output, "driver_skew"), "?");
  EXPECT_EQ(ValueOf(*output, "libibverbs_missing"), "true");
}

TEST(ContainerLibraries, ACompatLibraryIsNoSkew) {
  FakeHost host = JobWith("\tlibcuda.so.1 (libc6) => /lib/libcuda.so.1\n");
  host.SetJobEnvironment({{"LD_LIBRARY_PATH", "/usr/local/cuda/compat:/usr/local/cuda/lib64"}});
  const auto output = CheckContainerLibraries({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "libcuda_is_compat"), "true");
  EXPECT_EQ(ValueOf(*output, "driver_skew"), "?");
}

TEST(ContainerLibraries, StubsComeBeforeTheCache) {
  FakeHost host = JobWith("\tlibcuda.so.1 (libc6) => /lib/libcuda.so.1\n");
  host.SetJobEnvironment({{"LD_LIBRARY_PATH", "/opt/cuda/lib64/stubs"}});
  const auto output = CheckContainerLibraries({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "libcuda_is_stub"), "true");
}

TEST(ContainerLibraries, WhatIsMappedIsTheTruth) {
  FakeHost host = JobWith("\tlibcuda.so.1 (libc6) => /usr/local/cuda/compat/libcuda.so.1\n");
  host.AddFile("/proc/411/maps",
               "7f00-7f01 r-xp 00000000 08:01 12 /lib/libcuda.so.570.86.10\n"
               "7f02-7f03 r-xp 00000000 08:01 13 /opt/a/libcudnn.so.9\n"
               "7f04-7f05 r-xp 00000000 08:01 14 /opt/b/libcudnn.so.9.1.0\n"
               "7f06-7f07 rw-p 00000000 00:00 0 [heap]\n",
               kJob);
  const auto output = CheckContainerLibraries({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "libcuda_path"), "/lib/libcuda.so.570.86.10");
  EXPECT_EQ(ValueOf(*output, "driver_skew"), "false");
  EXPECT_EQ(ValueOf(*output, "mixed_cuda_libs"), "libcudnn: /opt/a, /opt/b");
}

TEST(ContainerLibraries, ALibraryIsMissedOnlyWhereTheHostHasTheDriver) {
  EXPECT_EQ(ValueOf(*CheckContainerLibraries({JobWith(""), NoKnowledge()}), "libcuda_missing"),
            "true");
  FakeHost plain;
  plain.AddCommand("ldconfig -p", "0 libs\n", 0, "", kJob);
  EXPECT_EQ(ValueOf(*CheckContainerLibraries({plain, NoKnowledge()}), "libcuda_missing"), "?");
  EXPECT_EQ(CheckContainerLibraries({FakeHost(), NoKnowledge()}).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(ContainerLibraries, BothKernelModulesStateTheirVersion) {
  EXPECT_EQ(KernelModuleVersion(kModule), "570.86.10");
  EXPECT_EQ(KernelModuleVersion("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  "
                                "570.86.10  Release Build  (x)\n"),
            "570.86.10");
  EXPECT_EQ(KernelModuleVersion(std::string(1 << 20, 'N')), "");
}

TEST(JobLimits, LockedMemoryIsReadInKib) {
  FakeHost host;
  host.AddFile("/proc/self/limits",
               "Limit                     Soft Limit           Hard Limit           Units     \n"
               "Max locked memory         8388608              8388608              bytes     \n"
               "Max processes             unlimited            unlimited            processes \n"
               "Max open files            1024                 524288               files     \n",
               kJob);
  const auto output = CheckJobLimits({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "memlock_kib"), "8192");
  EXPECT_EQ(ValueOf(*output, "nproc"), "unlimited");
  EXPECT_EQ(ValueOf(*output, "nofile"), "1024");
}

constexpr char kLimitsOf4096[] =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max processes             4096                 4096                 processes \n";

TEST(JobLimits, ThreadsOfAUserAreAddedUp) {
  FakeHost host;
  for (const char* pid : {"101", "102"}) {
    host.AddFile(absl::StrCat("/proc/", pid, "/limits"), kLimitsOf4096, kJob);
    host.AddFile(absl::StrCat("/proc/", pid, "/status"),
                 "Name:\tpython3\nUid:\t1000\t1000\t1000\t1000\nThreads:\t2100\n", kJob);
  }
  // Another user's, and root's, whom no limit holds.
  host.AddFile("/proc/103/limits", kLimitsOf4096, kJob);
  host.AddFile("/proc/103/status", "Uid:\t1001\t1001\t1001\t1001\nThreads:\t7\n", kJob);
  host.AddFile("/proc/104/limits", kLimitsOf4096, kJob);
  host.AddFile("/proc/104/status", "Uid:\t0\t0\t0\t0\nThreads:\t9000\n", kJob);
  host.AddFile("/proc/105/limits", kLimitsOf4096, kJob);
  const auto output = CheckJobLimits({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "threads", "process:101"), "4200");
  EXPECT_EQ(ValueOf(*output, "threads", "process:102"), "4200");
  EXPECT_EQ(ValueOf(*output, "threads", "process:103"), "7");
  EXPECT_EQ(ValueOf(*output, "threads", "process:104"), "?");
  EXPECT_EQ(ValueOf(*output, "threads", "process:105"), "?");
}

TEST(ContainerRuntime, TheVersionOfTheToolkitIsThatOfItsPackage) {
  FakeHost host;
  host.AddFile("/etc/nvidia-container-runtime/config.toml", "no-cgroups = false\n");
  EXPECT_EQ(ValueOf(*CheckContainerRuntime({host, NoKnowledge()}), "toolkit_version"), "?");
  host.AddCommand("dpkg-query -W", "libc6 2.36\nnvidia-container-toolkit\t1.16.2-1\n");
  EXPECT_EQ(ValueOf(*CheckContainerRuntime({host, NoKnowledge()}), "toolkit_version"), "1.16.2");
}

TEST(ContainerRuntime, OnlyAContainerThatAskedForNoGpuSaysSo) {
  FakeHost host;
  host.AddFile("/etc/nvidia-container-runtime/config.toml", "no-cgroups = false\n");
  const auto requested = [&](const char* devices) {
    host.SetJobEnvironment({{"NVIDIA_VISIBLE_DEVICES", devices}});
    return ValueOf(*CheckContainerRuntime({host, NoKnowledge()}), "gpu_requested");
  };
  EXPECT_EQ(requested("none"), "false");
  EXPECT_EQ(requested("all"), "?");
  EXPECT_EQ(requested("void"), "?");
}

TEST(ContainerLimits, KillsAndThrottlingAreOfTheJobsGroup) {
  FakeHost host;
  const std::string group = "/sys/fs/cgroup/system.slice/job.scope/";
  host.AddFile(group + "memory.max", "4294967296\n");
  host.AddFile(group + "memory.events", "low 0\nhigh 0\nmax 5\noom 1\noom_kill 2\n");
  host.AddFile(group + "cpu.max", "200000 100000\n");
  host.AddFile(group + "cpu.stat", "usage_usec 1\nnr_periods 200\nnr_throttled 50\n");
  const auto output = CheckContainerLimits({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "memory_max_gib"), "4");
  EXPECT_EQ(ValueOf(*output, "oom_kills"), "2");
  EXPECT_EQ(ValueOf(*output, "cpu_quota_cores"), "2");
  EXPECT_EQ(ValueOf(*output, "throttled_pct"), "25");
  EXPECT_EQ(ValueOf(*output, "pids_max"), "?");
}

TEST(ContainerLimits, ALiveGroupThatCountsNoKillClearsNotTheOtherRanks) {
  FakeHost host;
  host.SetLive(true);
  host.AddFile("/proc/self/cgroup", "0::/a/job/task_0\n", kJob);
  host.AddFile("/sys/fs/cgroup/a/job/task_0/memory.max", "4294967296\n");
  host.AddFile("/sys/fs/cgroup/a/job/task_0/memory.events", "oom_kill 0\n");
  const auto output = CheckContainerLimits({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "oom_kills"), "?");
  host.AddFile("/sys/fs/cgroup/a/job/task_0/memory.events", "oom_kill 1\n");
  EXPECT_EQ(ValueOf(*CheckContainerLimits({host, NoKnowledge()}), "oom_kills"), "1");
}

TEST(ContainerShm, HasItsSizeAsTheJobSeesIt) {
  FakeHost host;
  host.AddCommand("df -PT",
                  "Filesystem Type 1024-blocks Used Available Capacity Mounted on\n"
                  "shm tmpfs 65536 64000 1536 98% /dev/shm\n",
                  0, "", kJob);
  const auto output = CheckContainerShm({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "size_mib", "mount:/dev/shm"), "64");
  EXPECT_EQ(ValueOf(*output, "used_pct", "mount:/dev/shm"), "98");
}

TEST(FrameworkVersions, ARuntimeAboveTheDriverIsSeen) {
  FakeHost host;
  host.AddCommand("python3 -m torch.utils.collect_env",
                  "PyTorch version: 2.9.0+cu130\nCUDA used to build PyTorch: 13.0\n", 0, "", kJob);
  host.AddCommand("nvidia-smi -q -x", "<nvidia_smi_log><cuda_version>12.4</cuda_version>");
  const auto output = CheckFrameworkVersions({host, NoKnowledge()});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "torch"), "2.9.0+cu130");
  EXPECT_EQ(ValueOf(*output, "cuda_runtime_gt_driver"), "true");
}

TEST(FrameworkVersions, WhatPyTorchSaysOfAGpuWithoutCodeIsTaken) {
  FakeHost host;
  host.AddLog("train.log",
              "UserWarning: NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible "
              "with the current PyTorch installation.\n");
  const auto output = CheckFrameworkVersions({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "arch_missing"), "sm_120");
  EXPECT_EQ(ValueOf(*output, "cudnn_runtime_lt_build"), "?");
}

TEST(FrameworkVersions, ACudnnOlderThanTheBuildIsTakenFromWhatFrameworksSay) {
  const auto older = [](const char* line) {
    FakeHost host;
    host.AddLog("train.log", absl::StrCat(line, "\n"));
    const auto output = CheckFrameworkVersions({host, RepositoryKnowledge()});
    return output.ok() ? ValueOf(*output, "cudnn_runtime_lt_build") : "error";
  };
  EXPECT_EQ(older("E cuda_dnn.cc:319] Loaded runtime CuDNN library: 8.1.0 but source was compiled "
                  "with: 8.1.1.  CuDNN library needs to have matching major version"),
            "true");
  EXPECT_EQ(older("Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 8.9.6"),
            "false");
  EXPECT_EQ(older("RuntimeError: cuDNN version incompatibility: PyTorch was compiled  against (8, "
                  "9, 2) but found runtime version (8, 5, 0)."),
            "true");
}

TEST(FrameworkVersions, AnExtensionBuiltForAnotherPyTorchIsNamed) {
  const auto mismatch = [](const char* packages) {
    FakeHost host;
    host.AddCommand("python3 -m pip list --format=json", packages, 0, "", kJob);
    return ValueOf(*CheckFrameworkVersions({host, RepositoryKnowledge()}), "abi_mismatch");
  };
  EXPECT_EQ(mismatch(R"([{"name":"torch","version":"2.6.0+cu124"},
                         {"name":"flash-attn","version":"2.7.4+cu12torch2.5cxx11abifalse"}])"),
            "flash-attn 2.7.4+cu12torch2.5cxx11abifalse");
  EXPECT_EQ(mismatch(R"([{"name":"torch","version":"2.4.0+cu121"},
                         {"name":"torch_scatter","version":"2.1.2+pt23cu121"}])"),
            "torch_scatter 2.1.2+pt23cu121");
  EXPECT_EQ(mismatch(R"([{"name":"torch","version":"2.3.1+cu121"},
                         {"name":"torchvision","version":"0.18.1+cu118"}])"),
            "torchvision 0.18.1+cu118");
  // Packages that fit, or that do not say, are unknown: they may have another flaw.
  EXPECT_EQ(mismatch(R"([{"name":"torch","version":"2.5.1+cu124"},
                         {"name":"torchvision","version":"0.20.1+cu121"},
                         {"name":"flash-attn","version":"2.7.4+cu12torch2.5cxx11abifalse"},
                         {"name":"apex","version":"0.1+f3a960f"}])"),
            "?");
}

TEST(NcclVersions, ALibraryMadeBeforeTheGpusHasNoCodeForThem) {
  const struct {
    const char* gpu;
    const char* nccl;
    const char* supports;
  } cases[] = {
      {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "2.26.2+cuda12.2", "false"},
      {"NVIDIA B200", "2.26.2+cuda12.8", "true"},
      {"NVIDIA H100 80GB HBM3", "2.12.12+cuda11.6", "false"},
      {"NVIDIA H100 80GB HBM3", "2.18.1+cuda12.1", "true"},
      {"NVIDIA A100-SXM4-80GB", "2.10.3+cuda11.3", "true"},
  };
  for (const auto& one : cases) {
    FakeHost host;
    host.AddCommand("nvidia-smi -q -x",
                    absl::StrCat("<gpu><product_name>", one.gpu, "</product_name></gpu>\n"));
    host.AddLog("train.log",
                absl::StrCat("n1:12:12 [0] NCCL INFO x\nNCCL version ", one.nccl, "\n"));
    const auto output = CheckNcclVersions({host, RepositoryKnowledge()});
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(ValueOf(*output, "supports_gpu"), one.supports) << one.gpu << " " << one.nccl;
  }
}

TEST(FrameworkVersions, AMinorReleaseAboveTheDriverRunsAndIsSaid) {
  FakeHost host;
  host.AddCommand("python3 -m pip list --format=json",
                  R"([{"name":"torch","version":"2.3.1+cu121"}])", 0, "", kJob);
  host.AddCommand("nvidia-smi -q -x", "<cuda_version>12.0</cuda_version>\n");
  const auto output = CheckFrameworkVersions({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "cuda_runtime"), "12.1");
  EXPECT_EQ(ValueOf(*output, "cuda_runtime_gt_driver"), "false");
  EXPECT_EQ(ValueOf(*output, "cuda_above_driver"), "true");
}

constexpr char kPs[] =
    "    PID    PPID USER     STAT WCHAN ELAPSED   RSS %CPU COMMAND         COMMAND\n"
    "    100       1 u        Rl   -          400 41000 88.1 python3         python3 train.py --x "
    "1\n"
    "    101       1 u        Rl   -          400 41000 88.1 python3         python3 train.py --x "
    "1\n"
    "    102       1 u        Rl   -          400 41000 88.1 python3         python3 other.py\n"
    "    103       1 u        Rl   -          400 41000 88.1 Xorg            Xorg :0\n";

std::string Gpu(const std::string& id, const std::string& processes) {
  return "<gpu id=\"" + id + "\">\n<processes>\n" + processes + "</processes>\n</gpu>\n";
}

std::string Process(int pid, const char* type) {
  return "<process_info>\n<pid>" + std::to_string(pid) + "</pid>\n<type>" + type +
         "</type>\n</process_info>\n";
}

FakeHost RanksAt(const std::string& gpus, std::map<std::string, std::string> environment) {
  FakeHost host;
  host.AddCommand("nvidia-smi -q -x", gpus);
  host.AddCommand("ps -eo pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args", kPs);
  host.SetJobEnvironment(std::move(environment));
  return host;
}

TEST(JobPlacement, RanksThatAllTakeTheFirstVisibleGpuAreSeen) {
  const FakeHost host = RanksAt(Gpu("00000000:01:00.0", Process(102, "C") + Process(103, "G")) +
                                    Gpu("00000000:02:00.0", Process(100, "C") + Process(101, "C")) +
                                    Gpu("00000000:03:00.0", ""),
                                {{"CUDA_VISIBLE_DEVICES", "1,2"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  const auto output = CheckJobPlacement({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "ranks_on_same_gpu", "gpu:1"), "2");
  EXPECT_EQ(ValueOf(*output, "ranks_on_same_gpu", "gpu:0"), "absent");
  EXPECT_EQ(ValueOf(*output, "visible_devices_same"), "true");
}

TEST(JobPlacement, TheLaunchLineOfTheLogCountsWhereTheEnvironmentSaysNothing) {
  FakeHost host = RanksAt(Gpu("00000000:01:00.0", Process(100, "C") + Process(101, "C")), {});
  host.AddLog("train.log", "+ torchrun --nproc_per_node=8 train.py\n[rank1]: Traceback\n", "n");
  host.AddCommand("nvidia-smi -L", "GPU 0: Tesla T4 (UUID: GPU-1)\n", 0, "", host::View::kJob);
  const auto output = CheckJobPlacement({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "ranks_gt_gpus"), "true");
  EXPECT_EQ(ValueOf(*output, "ranks_on_same_gpu", "gpu:0"), "2");
}

TEST(JobPlacement, ARankToAGpuIsRight) {
  const std::string gpus =
      Gpu("00000000:01:00.0", Process(100, "C")) + Gpu("00000000:02:00.0", Process(101, "C"));
  const FakeHost host = RanksAt(gpus, {{"CUDA_VISIBLE_DEVICES", "0,1"}, {"LOCAL_WORLD_SIZE", "2"}});
  const auto output = CheckJobPlacement({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "ranks_on_same_gpu", "gpu:0"), "1");
  EXPECT_EQ(ValueOf(*output, "ranks_on_same_gpu", "gpu:1"), "1");
  EXPECT_EQ(ValueOf(*output, "visible_devices_same"), "false");
}

TEST(JobPlacement, TwoJobsOfOneProcessAreNoRanks) {
  const FakeHost host = RanksAt(Gpu("00000000:01:00.0", Process(100, "C") + Process(101, "C")),
                                {{"CUDA_VISIBLE_DEVICES", "0"}});
  const auto output = CheckJobPlacement({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "ranks_on_same_gpu"), "?");
  EXPECT_EQ(ValueOf(*output, "visible_devices_same"), "?");
}

std::string MigProcess(int pid, int instance) {
  return absl::StrCat("<process_info>\n<gpu_instance_id>", instance,
                      "</gpu_instance_id>\n<compute_instance_id>0</compute_instance_id>\n<pid>",
                      pid, "</pid>\n<type>C</type>\n</process_info>\n");
}

TEST(JobPlacement, RanksOnInstancesOfTheirOwnDoNotShareAGpu) {
  const auto on_gpu = [](int first, int second) {
    const std::string instances =
        "<mig_device>\n<gpu_instance_id>9</gpu_instance_id>\n</mig_device>\n";
    const FakeHost host =
        RanksAt("<gpu id=\"00000000:01:00.0\">\n" + instances + "<processes>\n" +
                    MigProcess(100, first) + MigProcess(101, second) + "</processes>\n</gpu>\n",
                {{"LOCAL_WORLD_SIZE", "2"}});
    return ValueOf(*CheckJobPlacement({host, NoKnowledge()}), "ranks_on_same_gpu", "gpu:0");
  };
  EXPECT_EQ(on_gpu(1, 2), "1");
  EXPECT_EQ(on_gpu(2, 2), "2");
}

// Whether `ranks` exceeds the GPUs that `nvidia-smi -L` lists.
std::string MoreThan(const std::string& listing, int exit_code, int ranks) {
  FakeHost host;
  host.SetJobEnvironment({{"LOCAL_WORLD_SIZE", std::to_string(ranks)}});
  host.AddCommand("nvidia-smi -L", listing, exit_code, "", kJob);
  return ValueOf(*CheckJobPlacement({host, NoKnowledge()}), "ranks_gt_gpus");
}

TEST(JobPlacement, ADriverThatDoesNotAnswerHasNotTooFewGpus) {
  EXPECT_EQ(MoreThan("Failed to initialize NVML: Driver/library version mismatch\n", 18, 8), "?");
  EXPECT_EQ(MoreThan("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA "
                     "driver.\n",
                     9, 8),
            "?");
  EXPECT_EQ(MoreThan("No devices found.\n", 0, 8), "?");
  EXPECT_EQ(MoreThan("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n", 15, 8), "?");
  EXPECT_EQ(MoreThan("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n", 0, 8), "true");
}

TEST(JobPlacement, ADividedGpuIsAsManyAsItsInstances) {
  std::string listing = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n";
  for (int i = 0; i < 7; ++i) {
    absl::StrAppend(&listing, "  MIG 1g.10gb     Device  ", i, ": (UUID: MIG-", i, ")\n");
  }
  EXPECT_EQ(MoreThan(listing, 0, 7), "false");
  EXPECT_EQ(MoreThan(listing, 0, 8), "true");
  EXPECT_EQ(MoreThan(listing + "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-2)\n", 0, 8), "false");
}

TEST(ContainerLibraries, OfThisMachineOnlyTheJobsOwnProcessesCount) {
  const galen::testing::Scratch folder;
  const std::string own = folder.Write("own/lib/libcudart.so.12", "x");
  const RealJob job(own);
  const RealJob stranger(folder.Write("others/lib/libcudart.so.12", "x"));
  ASSERT_NE(job.child(), 0);
  ASSERT_NE(stranger.child(), 0);
  host::LiveHost::Options options;
  options.job_pid = job.pid();
  const host::LiveHost host(options);
  const auto output = CheckContainerLibraries({host, NoKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "mixed_cuda_libs"), "none");
}

TEST(FrameworkVersions, ReleasesCompareByMajorThenMinor) {
  EXPECT_TRUE(IsNewer("10.1", "9.2"));
  EXPECT_TRUE(IsNewer("12.4", "12.2"));
  EXPECT_FALSE(IsNewer("12.2", "12.2"));
  EXPECT_TRUE(ParsePipList("[{\"name\":1}]").empty());
  EXPECT_TRUE(ParsePipList("[[[[").empty());
}

}  // namespace
}  // namespace galen::node
