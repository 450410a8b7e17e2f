// Claims about the checks of a job's logs: the first failure, NCCL, the scheduler, memory, data and
// training steps.
#include <string>

#include "absl/strings/str_cat.h"
#include "common/log_analysis/triage/process_end.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/node/checks/log/job_data.h"
#include "services/node/checks/log/nccl_log.h"
#include "services/node/checks/log/nccl_topology.h"
#include "services/node/checks/log/training_metrics.h"
#include "services/node/checks/log/training_step.h"
#include "services/node/checks/log/triage.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/fixtures.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

CheckContext Context(const FakeHost& host) { return {host, RepositoryKnowledge()}; }

// The finding of any device.
std::string AnyValueOf(const CheckOutput& output, absl::string_view name) {
  for (const v1::Finding& finding : output.findings) {
    if (finding.name() == name) return Shown(finding);
  }
  return "absent";
}

std::string SignatureOf(const std::string& log) {
  FakeHost host;
  host.AddLog("train.log", log);
  const auto output = CheckTriage(Context(host));
  if (!output.ok()) return std::string(output.status().message());
  const std::string shown = AnyValueOf(*output, "signature");
  return shown.substr(0, shown.find('*'));
}

struct SignatureCase {
  const char* line;
  const char* signature;
};

TEST(Triage, EachFailureHasItsSignature) {
  for (const SignatureCase& one : {
           SignatureCase{
               "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.",
               "cuda_oom"},
           SignatureCase{"RuntimeError: CUDA error: an illegal memory access was encountered",
                         "illegal_access"},
           SignatureCase{"../aten/src/ATen/native/cuda/Loss.cu:250: nll: block: [0,0,0] Assertion "
                         "`t >= 0 && t < n_classes` failed.",
                         "index_assert"},
           SignatureCase{"ImportError: /x/flash.so: undefined symbol: _ZN2at4_ops5zeros4callE",
                         "undefined_symbol"},
           SignatureCase{"node-1:1:2 [0] NCCL WARN Connect to 10.0.0.1<1> failed", "nccl"},
           SignatureCase{"[rank3]: ValueError: bad sample", "python_exception"},
           SignatureCase{"socket.gaierror: [Errno -3] Temporary failure in name resolution",
                         "name_resolution"},
           SignatureCase{"huggingface_hub.errors.GatedRepoError: 401 Client Error.", "auth"},
           SignatureCase{"RuntimeError: Expected to have finished reduction in the prior iteration "
                         "before starting a new one.",
                         "unused_parameters"},
           SignatureCase{"PIL.UnidentifiedImageError: cannot identify image file 'x'", "data_read"},
           SignatureCase{"step 10 loss 2.0 errors=0", ""},
           SignatureCase{"  error_file: <N/A>", ""},
       }) {
    EXPECT_EQ(SignatureOf(std::string(one.line) + "\n"), one.signature) << one.line;
  }
}

TEST(Triage, TheEarliestFailureInTimeComesFirstWhateverItsLog) {
  FakeHost host;
  host.AddLog("rank0.log",
              "2024-05-06 07:10:00,000 INFO waiting\n[rank0]: DistBackendError: NCCL timeout\n",
              "node-1");
  host.AddLog("rank3.log", "2024-05-06 07:00:00,000 INFO step 7\n[rank3]: ValueError: bad sample\n",
              "node-2");
  const auto output = CheckTriage(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "first_failing_rank", "rank:3"), "3");
  EXPECT_EQ(ValueOf(*output, "signature", "rank:3"), "python_exception*2");
  // A node speaks for itself only.
  EXPECT_EQ(output->findings[0].subject().node(), "");
}

TEST(Triage, WhatTheProgramSurvivedIsNoFailure) {
  const std::string error =
      "[W socket.cpp:558] [c10d] The IPv4 network addresses of (worker-0, 3389) cannot be "
      "retrieved "
      "(gai error: -2 - Name or service not known).\n";
  const std::string done = "2026-05-01T14:07:12Z INFO     training finished\n";
  EXPECT_EQ(SignatureOf(error), "name_resolution");
  EXPECT_EQ(SignatureOf(error + done), "");
  EXPECT_EQ(SignatureOf(error + "INFO: `Trainer.fit` stopped: `max_steps=100` reached.\n"), "");
  EXPECT_EQ(SignatureOf(done + error), "name_resolution");
  EXPECT_EQ(SignatureOf(error + "training finished with errors\n"), "name_resolution");
  // It ended a process, which was started again.
  EXPECT_EQ(SignatureOf(error + "srun: error: n1: task 3: Exited with exit code 1\n" + done),
            "name_resolution");
  EXPECT_EQ(SignatureOf(error + "agent: restarting worker group\n" + done), "name_resolution");
}

TEST(Triage, ProcessesThatAreConnectedSurvivedTheFailuresOfTheStart) {
  const std::string name = "getaddrinfo failed: Name or service not known\n";
  const std::string refused = "RendezvousConnectionError: wait timeout after 60000ms, keys: /0\n";
  const std::string disk = "OSError: No space left on device\n";
  for (const std::string connected :
       {"n1:7:9 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 8 - Init COMPLETE\n",
        "RANK 4 of 8: init_process_group done (nccl)\n", "step 3 | loss 7.25 | lr 1e-4\n",
        "Epoch: [1][ 20/500]  loss 2.1\n"}) {
    EXPECT_EQ(SignatureOf(name + refused + connected), "") << connected;
    EXPECT_EQ(SignatureOf(connected + name), "name_resolution");
    EXPECT_EQ(SignatureOf(disk + connected), "disk_full");
    EXPECT_EQ(SignatureOf(name + disk + connected), "name_resolution");
    EXPECT_EQ(SignatureOf(name + "agent: restarting worker group\n" + connected),
              "name_resolution");
  }
}

TEST(Triage, ALogThatEndsWellSaysNothingOfAnotherOne) {
  FakeHost host;
  host.AddLog("rank0.log", "ValueError: bad sample\n", "node-1");
  host.AddLog("rank1.log", "OSError: No space left on device\ntraining finished\n", "node-1");
  const auto output = CheckTriage(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(AnyValueOf(*output, "signature"), "python_exception*1");
}

TEST(Triage, MemoryThatEndsWithinALoadIsToldApart) {
  EXPECT_EQ(
      SignatureOf("Traceback (most recent call last):\n"
                  "  File \"train.py\", line 3, in main\n"
                  "    model.load_state_dict(torch.load(path))\n"
                  "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n"),
      "cuda_oom_in_load");
}

TEST(Triage, ALoadIsKnownByTheFramesOfATracebackToo) {
  EXPECT_EQ(SignatureOf("Traceback (most recent call last):\n"
                        "  File \"/opt/torch/serialization.py\", line 9, in restore_location\n"
                        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n"),
            "cuda_oom_in_load");
}

TEST(Triage, ARanksOwnErrorComesBeforeWhatSurvivorsSayOfIt) {
  constexpr char kLost[] = "n:1:2 [0] socket.cc:49 NCCL WARN Connection closed by remote peer\n";
  constexpr char kMemory[] = "n:1:9 [3] alloc.h:178 NCCL WARN Cuda failure 'out of memory'\n";
  EXPECT_EQ(SignatureOf(absl::StrCat(kLost, kLost, kMemory)), "cuda_oom");
  EXPECT_EQ(SignatureOf(absl::StrCat(kMemory, kLost)), "cuda_oom");
  EXPECT_EQ(SignatureOf(kLost), "nccl");
  // Clocks of machines differ, and logs come in any order.
  EXPECT_EQ(
      SignatureOf(absl::StrCat("2026-05-06 07:00:02 ", kMemory, "2026-05-06 07:00:01 ", kLost)),
      "cuda_oom");
  // An hour later it is a separate event.
  EXPECT_EQ(
      SignatureOf(absl::StrCat("2026-05-06 07:00:00 ", kLost, "2026-05-06 08:00:00 ", kMemory)),
      "nccl");
}

constexpr char kWatchdog[] =
    "[rank1]:[E506 07:08:09.1 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=7, OpType=%s, NumelIn=%s, NumelOut=%s, "
    "Timeout(ms)=600000) ran for 600077 milliseconds before timing out.\n";

std::string Watchdog(const std::string& op, const std::string& numel) {
  std::string text = kWatchdog;
  text.replace(text.find("%s"), 2, op);
  text.replace(text.find("%s"), 2, numel);
  text.replace(text.find("%s"), 2, numel);
  return text;
}

TEST(Triage, OnlyABarrierThatWaitedJustItsTimeoutIsEqual) {
  FakeHost barrier;
  barrier.AddLog("a.log", Watchdog("ALLREDUCE", "1"));
  EXPECT_EQ(ValueOf(*CheckTriage(Context(barrier)), "timeout_equals_configured"), "true");
  FakeHost other;
  other.AddLog("a.log", Watchdog("ALLREDUCE", "1048576"));
  EXPECT_EQ(ValueOf(*CheckTriage(Context(other)), "timeout_equals_configured"), "false");
}

TEST(Triage, ALogWithoutEndIsTruncatedIntoLinesOfBoundedLength) {
  EXPECT_EQ(SignatureOf(std::string(std::size_t{3} << 20, 'x') + "\nValueError: late\n"),
            "python_exception");
}

struct LogCase {
  const char* file;
  const char* signature;  // "" for none
};

TEST(Triage, FailuresOfRealLogsAreNamed) {
  GALEN_NEED_FIXTURES();
  for (const LogCase& one : {
           LogCase{"training-log/tr1-13b-v100-uncorrectable-ecc-crash.log", "ecc"},
           LogCase{"training-log/tr1-13b-dataloader-bus-error-shm.log", "bus_error"},
           LogCase{"training-log/tr1-13b-restart-cuda-oom-in-barrier.log", "cuda_oom"},
           LogCase{"training-log/megatron-lm-gpt3-slurm.log", ""},
           LogCase{"training-log/torchtitan-p5-step1990-compile.log", ""},
           LogCase{"training-log/tr11-176b-a100-loss-iterations-1.log", ""},
           LogCase{"training-log/p5-fsdp-torchrun-2.log", ""},
           LogCase{"nccl-log/jz-connect-refused-oneline.log", "nccl"},
       }) {
    EXPECT_EQ(SignatureOf(ReadFixture(one.file)), one.signature) << one.file;
  }
}

constexpr char kNccl[] =
    "NCCL version 2.20.5+cuda12.4\n"
    "node-1:10:10 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
    "node-1:10:11 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0\n"
    "node-1:10:11 [0] NCCL INFO Using network IB\n"
    "node-1:10:11 [0] NCCL INFO comm 0xa rank 4 nranks 16 cudaDev 0 - Init COMPLETE\n"
    "node-1:10:11 [0] NCCL INFO Channel 00/0 : 4[0] -> 8[1] [send] via NET/IB/0\n"
    "node-1:10:11 [0] NCCL WARN NET/IB : Got async event : port error\n"
    "node-2:20:21 [0] NCCL INFO Using network Socket\n";

TEST(NcclLog, ANodesOwnLinesCount) {
  FakeHost host;
  host.AddLog("train.log", kNccl);
  const auto output = CheckNcclLog(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "transport"), "IB");
  EXPECT_EQ(ValueOf(*output, "version"), "2.20.5+cuda12.4");
  EXPECT_EQ(ValueOf(*output, "gdr"), "false");
  EXPECT_EQ(ValueOf(*output, "warn", "rank:4"), "nccl_warn*1");
  EXPECT_EQ(ValueOf(*output, "async_event"), "async_event*1");
  EXPECT_EQ(ValueOf(*output, "first_error_rank"), "4");
  EXPECT_THAT(ValueOf(*output, "devices"), HasSubstr("mlx5_0:1/IB mlx5_1:1/IB"));
}

TEST(NcclLog, AJobWhoseRanksAreAllOnOneMachineUsesNoNetwork) {
  const auto log_of = [](std::initializer_list<absl::string_view> lines) {
    NcclLog log;
    for (const absl::string_view line : lines) log.Add(line);
    return log;
  };
  constexpr absl::string_view kFirst =
      "n1:1:1 [0] NCCL INFO comm 0x7f rank 0 nranks 2 cudaDev 0 busId 17000 - Init COMPLETE";
  constexpr absl::string_view kSecond =
      "n1:2:2 [1] NCCL INFO comm 0x7e rank 1 nranks 2 cudaDev 1 busId 65000 - Init COMPLETE";
  EXPECT_TRUE(log_of({kFirst, kSecond}).IsOnOneMachine());
  EXPECT_FALSE(log_of({kFirst}).IsOnOneMachine()) << "the other rank may be elsewhere";
  EXPECT_FALSE(log_of({}).IsOnOneMachine());
  EXPECT_FALSE(log_of({kFirst, kSecond,
                       "n1:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0"})
                   .IsOnOneMachine());
  EXPECT_FALSE(
      log_of(
          {kFirst,
           "n2:2:2 [1] NCCL INFO comm 0x7e rank 1 nranks 2 cudaDev 1 busId 65000 - Init COMPLETE"})
          .IsOnOneMachine());
}

TEST(NcclLog, OneAddressOfTwoHostsIsSeen) {
  NcclLog log;
  log.Add("n1:1:1 [0] NCCL INFO Bootstrap : Using [0]eth1:172.18.0.3<0> [1]eth0:10.0.1.5<0>");
  EXPECT_EQ(log.AddressShared(), std::nullopt);
  NcclLog other = log;
  log.Add("n2:2:2 [0] NCCL INFO Bootstrap : Using [0]eth1:172.18.0.3<0> [1]eth0:10.0.1.6<0>");
  EXPECT_EQ(log.AddressShared(), true);
  other.Add("n2:2:2 [0] NCCL INFO Bootstrap : Using eth0:10.0.1.6<0>");
  EXPECT_EQ(other.AddressShared(), false);
}

TEST(NcclLog, DifferentPlugInsAreListed) {
  FakeHost host;
  host.AddLog("train.log",
              "node-1:1:2 [0] NCCL INFO P2P plugin IBext_v8\n"
              "node-2:1:2 [0] NCCL INFO NET/Plugin: No plugin found (libnccl-net.so)\n");
  const auto output = CheckNcclLog(Context(host));
  ASSERT_TRUE(output.ok());
  EXPECT_THAT(ValueOf(*output, "plugin"), HasSubstr("IBext_v8 on 1 hosts (node-1)"));
}

std::string PluginsOf(const FakeHost& host) {
  const auto output = CheckNcclLog(Context(host));
  if (!output.ok()) return output.status().ToString();
  return ValueOf(*output, "plugin");
}

TEST(NcclLog, AHostWithoutThePlugInOfTheOthersIsNamed) {
  FakeHost host;
  host.AddLog(
      "train.log",
      "node-1:1:2 [0] NCCL INFO Plugin Path : /opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so\n"
      "node-1:1:2 [0] NCCL INFO P2P plugin IBext_v8\n"
      "node-2:1:2 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network "
      "plugin.\n");
  EXPECT_EQ(PluginsOf(host), "IBext_v8 on 1 hosts (node-1); internal on 1 hosts (node-2)");
}

TEST(NcclLog, PlugInsOfTwoRunsAreNotHeldAgainstOneAnother) {
  constexpr char kInternal[] =
      "node-1:1:2 [0] NCCL INFO NET/Plugin: No plugin found (libnccl-net.so)\n"
      "node-2:1:2 [0] NCCL INFO Initialized NET plugin IB\n";
  FakeHost host;
  host.AddLog("before.log", kInternal);
  host.AddLog("after.log",
              "node-1:1:2 [0] NCCL INFO NET/Plugin: Loaded net plugin AWS Libfabric (v8)\n"
              "node-2:1:2 [0] NCCL INFO NET/Plugin: Loaded net plugin AWS Libfabric (v8)\n");
  EXPECT_EQ(PluginsOf(host), "same");
  // A log of each rank: together they are one run.
  FakeHost by_rank;
  by_rank.AddLog("0.log", "node-1:1:2 [0] NCCL INFO NET/Plugin: Using internal network plugin.\n");
  by_rank.AddLog("1.log", "node-2:1:2 [0] NCCL INFO NET/Plugin: Loaded net plugin X Y (v9)\n");
  EXPECT_EQ(PluginsOf(by_rank), "X Y on 1 hosts (node-2); internal on 1 hosts (node-1)");
}

TEST(NcclLog, GpuDirectIsToldByChannelsAndElseByTheAdapters) {
  struct Case {
    const char* line;
    const char* gdr;
  };
  for (const Case& one : {
           Case{"Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0(7)/GDRDMA/Shared", "true"},
           Case{"Channel 00/0 : 1[0] -> 0[0] [receive] via NET/NCCL RDMA Plugin v10/0", "false"},
           Case{"Ring 00 : 7 -> 8 [send] via NET/IB/0/GDRDMA", "true"},
           Case{"Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0", "?"},
           Case{"Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read", "?"},
           Case{"NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'", "false"},
           Case{"NET/IB : GPU Direct RDMA (DMABUF) enabled for HCA 0 'mlx5_0'", "true"},
           Case{"NET/IB : GPU Direct RDMA Disabled for GPU 7 / HCA 0 (distance 6 >= 4)", "?"},
       }) {
    FakeHost host;
    host.AddLog("train.log", absl::StrCat("node-1:1:2 [0] NCCL INFO ", one.line, "\n"));
    const auto output = CheckNcclLog(Context(host));
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(ValueOf(*output, "gdr"), one.gdr) << one.line;
  }
}

TEST(NcclLog, RealLogsAreRead) {
  GALEN_NEED_FIXTURES();
  NcclLog log;
  FakeHost host("jean-zay-iam52");
  host.AddLog("a.txt", ReadFixture("nccl-log/torch-allreduce-a100-n4.txt"));
  const auto output = CheckNcclLog(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "transport"), "IB");
  EXPECT_THAT(ValueOf(*output, "devices"), HasSubstr("hfi1_1:1/IB"));
  EXPECT_EQ(ValueOf(*output, "plugin"), "same");
  for (const char* file :
       {"nccl-log/torch-allreduce-v100-16gb-n1.txt", "nccl-log/torch-allreduce-v100-32gb-n1.txt",
        "nccl-log/torch-allreduce-v100-32gb-n16-ncclinfo.txt",
        "nccl-log/torch-allreduce-v100-32gb-n4.txt"}) {
    FakeHost other;
    other.AddLog("a.txt", ReadFixture(file));
    const auto found = CheckNcclLog(Context(other));
    ASSERT_TRUE(found.ok()) << file << ": " << found.status();
    EXPECT_NE(ValueOf(*found, "transport"), "?") << file;
  }
}

TEST(NcclTopology, RealFilesAreRead) {
  GALEN_NEED_FIXTURES();
  struct TopologyCase {
    const char* file;
    std::size_t gpus;
  };
  for (const TopologyCase& one :
       {TopologyCase{"azure-ndv4-topo.xml", 8}, TopologyCase{"aws-p4d-24xl-topo.xml", 8},
        TopologyCase{"rccl-topo_8p_940.xml", 8}, TopologyCase{"rccl-topo_4p_940.xml", 4}}) {
    const auto topology = ParseNcclTopology(ReadFixture(std::string("nccl-topo-xml/") + one.file));
    ASSERT_TRUE(topology.ok()) << one.file << ": " << topology.status();
    EXPECT_EQ(topology->gpus.size(), one.gpus) << one.file;
  }
  const auto azure = ParseNcclTopology(ReadFixture("nccl-topo-xml/azure-ndv4-topo.xml"));
  EXPECT_EQ(azure->nics.size(), 8u);
  EXPECT_EQ(azure->gpus[0].nearest_nics.size(), 2u);
  EXPECT_FALSE(ParseNcclTopology("<html/>").ok());
}

TEST(GpuMemory, BothFormsOfTheMessageAreRead) {
  const auto now = FindCudaOom(
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a "
      "total capacity of 79.15 GiB of which 512.00 MiB is free. Process 1 has 78.65 GiB memory in "
      "use. Of the allocated memory 75.00 GiB is allocated by PyTorch, and 1.50 GiB is reserved by "
      "PyTorch but unallocated.");
  ASSERT_TRUE(now.has_value());
  EXPECT_EQ(now->gpu, 3);
  EXPECT_EQ(now->capacity, 79.15);
  EXPECT_EQ(now->free, 0.5);
  EXPECT_EQ(now->reserved, 1.5);
  // In a container the process does not know its own number: this is it.
  EXPECT_EQ(now->others, std::nullopt);
  const auto before = FindCudaOom(
      "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 31.75 GiB total "
      "capacity; 29.50 GiB already allocated; 1.00 GiB free; 30.00 GiB reserved in total)");
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->capacity, 31.75);
  EXPECT_EQ(before->allocated, 29.5);
  EXPECT_EQ(before->free, 1);
  EXPECT_EQ(before->others, std::nullopt);
  // It holds hardly any of the memory in use.
  const auto robbed = FindCudaOom(
      "RuntimeError: CUDA out of memory. Tried to allocate 216.00 MiB (GPU 0; 24.00 GiB total "
      "capacity; 69.17 MiB already allocated; 512.00 MiB free; 512.00 MiB reserved in total by "
      "PyTorch)");
  ASSERT_TRUE(robbed.has_value());
  EXPECT_EQ(robbed->others, 22);
  EXPECT_FALSE(FindCudaOom("out of memory").has_value());
}

TEST(GpuMemory, MemoryThatWasFreeIsNoPeakAtCapacity) {
  FakeHost host;
  host.AddLog("a.log",
              "[rank2]: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity "
              "of 80.00 GiB of which 10.00 GiB is free.\n");
  const auto output = CheckJobGpuMemory(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "peak_gib", "rank:2"), "72");
  EXPECT_EQ(ValueOf(*output, "capacity_gib", "rank:2"), "80");
}

TEST(GpuMemory, WhatOtherProcessesHeldIsNotTheJobsNeed) {
  FakeHost host;
  host.AddLog(
      "a.log",
      "[rank0]: CUDA out of memory. Tried to allocate 40.00 GiB. GPU 0 has a total capacity "
      "of 140.00 GiB of which 12.00 GiB is free. Process 3941 has 126.00 GiB memory in use. "
      "Process 77 has 1536.00 MiB memory in use. Including non-PyTorch memory, this process "
      "has 512.00 MiB memory in use.\n");
  const auto output = CheckJobGpuMemory(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "peak_gib", "rank:0"), "40.5");
  EXPECT_EQ(ValueOf(*output, "fits_without_others", "rank:0"), "true");
  EXPECT_THAT(output->message,
              HasSubstr("rank:0 would have fit but for 127.5 GiB that other processes held"));
  // Two ranks that name one GPU may be each other's other process.
  FakeHost shared;
  for (const char* rank : {"[rank0]", "[rank1]"}) {
    shared.AddLog(absl::StrCat(rank, ".log"),
                  absl::StrCat(rank,
                               ": CUDA out of memory. Tried to allocate 40.00 GiB. GPU 0 has a "
                               "total capacity of 140.00 GiB of which 12.00 GiB is free. Process "
                               "3941 has 64.00 GiB memory in use. Including non-PyTorch memory, "
                               "this process has 64.00 GiB memory in use.\n"));
  }
  const auto both = CheckJobGpuMemory(Context(shared));
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(ValueOf(*both, "fits_without_others", "rank:0"), "?");
  EXPECT_EQ(ValueOf(*both, "fits_without_others", "rank:1"), "?");
  // With others or without: too much is asked for.
  FakeHost too_much;
  too_much.AddLog(
      "a.log",
      "[rank0]: CUDA out of memory. Tried to allocate 200.00 GiB. GPU 0 has a total "
      "capacity of 140.00 GiB of which 12.00 GiB is free. Process 3941 has 126.00 GiB "
      "memory in use. Including non-PyTorch memory, this process has 2.00 GiB memory in "
      "use.\n");
  const auto more = CheckJobGpuMemory(Context(too_much));
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_EQ(ValueOf(*more, "peak_gib", "rank:0"), "202");
  EXPECT_EQ(ValueOf(*more, "fits_without_others", "rank:0"), "false");
}

TEST(JobData, SilenceOfTheLogsProvesNothing) {
  FakeHost host;
  host.AddLog("a.log", "step 1 loss 2\n");
  EXPECT_EQ(CheckJobData(Context(host)).status().code(), absl::StatusCode::kFailedPrecondition);
  FakeHost bad;
  bad.AddLog("a.log", "Loss.cu:1: Assertion `t >= 0 && t < n_classes` failed.\n");
  const auto output = CheckJobData(Context(bad));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "labels_out_of_range"), "1");
  EXPECT_EQ(ValueOf(*output, "unreadable"), "?");
}

struct StepCase {
  const char* file;
  std::int64_t least;
};

TEST(TrainingMetrics, StepsOfRealLogsAreRead) {
  GALEN_NEED_FIXTURES();
  for (const StepCase& one : {
           StepCase{"tr8b-104b-iterations-loss-spike.log", 9},
           StepCase{"tr11-176b-a100-loss-iterations-1.log", 5},
           StepCase{"torchtitan-p5-step1990-compile.log", 3},
           StepCase{"megatron-deepspeed-2node-16gpu.log", 5},
           StepCase{"nemo-k8s-pretrain.log", 1},
       }) {
    FakeHost host;
    host.AddLog("a.log", ReadFixture(std::string("training-log/") + one.file));
    const auto output = CheckTrainingMetrics(Context(host));
    ASSERT_TRUE(output.ok()) << one.file << ": " << output.status();
    std::int64_t steps = 0;
    ASSERT_TRUE(absl::SimpleAtoi(output->message.substr(0, output->message.find(' ')), &steps));
    EXPECT_GE(steps, one.least) << one.file;
  }
}

std::string Steps(int count, double norm, double growth, bool lost) {
  std::string log;
  for (int i = 1; i <= count; ++i) {
    if (i > count - 5) norm *= growth;
    absl::StrAppend(&log, "iteration ", i, " | lm loss: 2.5 | grad norm: ", norm, "\n");
  }
  if (lost) absl::StrAppend(&log, "iteration ", count + 1, " | lm loss: nan | grad norm: nan\n");
  return log;
}

TEST(TrainingMetrics, ANormThatGrewBeforeTheLossWasLostIsToldFromASuddenLoss) {
  FakeHost grew;
  grew.AddLog("a.log", Steps(40, 1, 3, true));
  const auto output = CheckTrainingMetrics(Context(grew));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "loss_nonfinite_step"), "41");
  EXPECT_EQ(ValueOf(*output, "grad_norm_rises_first"), "true");
  FakeHost sudden;
  sudden.AddLog("a.log", Steps(40, 1, 1, true));
  EXPECT_EQ(ValueOf(*CheckTrainingMetrics(Context(sudden)), "grad_norm_rises_first"), "false");
  FakeHost fine;
  fine.AddLog("a.log", Steps(40, 1, 1, false));
  EXPECT_EQ(ValueOf(*CheckTrainingMetrics(Context(fine)), "loss_nonfinite_step"), "0");
  EXPECT_EQ(ValueOf(*CheckTrainingMetrics(Context(fine)), "grad_norm_rises_first"), "?");
}

TEST(LogLines, LogsOfOtherNodesAreOnlyReadForTheWholeJob) {
  FakeHost host;
  host.AddLog("a.log", "a\n", "node-1.example");
  host.AddLog("b.log", "b\n", "node-2");
  host.AddLog("c.log", "c1\nc2");
  std::vector<std::string> own;
  const auto lines = ForEachLogLine(host, LogsOf::kThisNode,
                                    [&](const LogLine& line) { own.emplace_back(line.text); });
  ASSERT_TRUE(lines.ok());
  EXPECT_THAT(own, ElementsAre("a", "c1", "c2"));
  EXPECT_EQ(*ForEachLogLine(host, LogsOf::kAllNodes, [](const LogLine&) {}), 4);
  EXPECT_EQ(ForEachLogLine(FakeHost(), LogsOf::kAllNodes, [](const LogLine&) {}).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace galen::node
