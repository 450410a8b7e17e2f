// Claims about stacks, traces of collectives, checkpoints, known defects and changes.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/host/live_host.h"
#include "common/profile/hangs/flight_record.h"
#include "common/profile/hangs/pickle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/node/checks/log/checkpoint.h"
#include "services/node/checks/log/collective_trace.h"
#include "services/node/checks/log/known_issues.h"
#include "services/node/checks/log/safetensors.h"
#include "services/node/checks/log/stacks.h"
#include "tests/testing/host/fake_host.h"
#include "tests/testing/scratch.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/fixtures.h"
#include "tests/unit/services/node/checks/real_job.h"

namespace galen::node {
namespace trace_test {

using ::galen::testing::FakeHost;
using hangs::JudgeTraces;
using hangs::ParseFlightRecord;
using hangs::Pickle;
using hangs::TraceVerdict;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

CheckContext Context(const FakeHost& host) { return {host, RepositoryKnowledge()}; }

FakeHost& AddStack(FakeHost& host, int pid, const std::string& frames) {
  return host.AddCommand(absl::StrCat("py-spy dump --pid ", pid),
                         absl::StrCat("Process ", pid, ": python\n\nThread ", pid,
                                      " (active): \"MainThread\"\n", frames),
                         0, "", host::View::kJob);
}

constexpr char kReduce[] =
    "    all_reduce (torch/distributed/distributed_c10d.py:2219)\n    step (train.py:72)\n";

TEST(Stacks, TheRankThatIsElsewhereIsNamed) {
  FakeHost host;
  AddStack(host, 10, kReduce);
  AddStack(host, 11, kReduce);
  AddStack(host, 12, "    save (train.py:90)\n    main (train.py:99)\n");
  const auto output = CheckStacks(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "ranks_outside_collective"), "process:12 in save (train.py:90)");
  EXPECT_EQ(ValueOf(*output, "collective_differs"), "false");
  EXPECT_EQ(ValueOf(*output, "blocked_in"), "none");
}

TEST(Stacks, OneCollectiveFromDifferentModulesDiffers) {
  FakeHost host;
  AddStack(
      host, 10,
      "    all_gather_into_tensor (deepspeed/comm/torch.py:219)\n    forward (student.py:1)\n");
  AddStack(
      host, 11,
      "    all_gather_into_tensor (deepspeed/comm/torch.py:219)\n    forward (teacher.py:1)\n");
  const auto output = CheckStacks(Context(host));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "collective_differs"), "true");
  EXPECT_EQ(ValueOf(*output, "split_between"), "none");
  EXPECT_EQ(ValueOf(*output, "ranks_outside_collective"), "none");
}

TEST(Stacks, OneProcessCannotBeCompared) {
  FakeHost host;
  AddStack(host, 10, kReduce);
  const auto output = CheckStacks(Context(host));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "ranks_outside_collective"), "?");
}

constexpr char kBroadcast[] =
    "    broadcast (torch/distributed/distributed_c10d.py:2100)\n    sync (train.py:60)\n";

TEST(Stacks, OfTwoCollectivesWithAsManyRanksNoneIsTheOne) {
  FakeHost host;
  for (const int pid : {10, 11}) AddStack(host, pid, kReduce);
  for (const int pid : {12, 13}) AddStack(host, pid, kBroadcast);
  const auto output = CheckStacks(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "ranks_outside_collective"), "?");
  EXPECT_EQ(ValueOf(*output, "outside_in"), "absent");
  EXPECT_EQ(ValueOf(*output, "collective_differs"), "true");
  EXPECT_EQ(ValueOf(*output, "split_between"), "all_reduce,broadcast");
  EXPECT_EQ(output->message, "4 processes, as many of them in each of all_reduce and broadcast");
}

TEST(Stacks, OnThisMachineOnlyTheJobsOwnProcessesAreStopped) {
  const galen::testing::Scratch tools;
  tools.WriteProgram("py-spy", absl::StrCat("#!/bin/sh\necho $3 >> ", tools / "dumped",
                                            "\necho \"Thread $3 (active): \\\"MainThread\\\"\"\n"
                                            "echo '    step (train.py:72)'\n"));
  const RealJob job;
  const RealJob stranger;
  ASSERT_NE(job.child(), 0);
  host::LiveHost::Options options;
  options.job_pid = job.pid();
  options.search_path = tools.path();
  const host::LiveHost host(options);
  const auto output = CheckStacks({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_THAT(output->message, HasSubstr("2 processes"));
  std::ifstream dumped(tools / "dumped");
  const std::vector<int> pids{std::istream_iterator<int>(dumped), {}};
  EXPECT_THAT(pids, UnorderedElementsAre(job.pid(), job.child()));
}

TEST(Stacks, RealDumpsAreRead) {
  GALEN_NEED_FIXTURES();
  const auto hang = ParsePySpy(ReadFixture("py-spy/tr11-hang-stack-686181.txt"));
  ASSERT_TRUE(hang.ok());
  EXPECT_EQ(hang->size(), 4u);
  EXPECT_THAT((*hang)[3].frames.front(), HasSubstr("all_reduce"));
  EXPECT_TRUE(ParsePySpy(ReadFixture("py-spy/tr11-hang-stack-pipe.txt")).ok());
  // A list of function names by host is not a dump.
  EXPECT_FALSE(ParsePySpy(ReadFixture("py-spy/tr11-trace-jean-zay.txt")).ok());
}

TEST(Stacks, ABacktraceOfADebuggerIsOneThreadUntilItsNumbersFall) {
  BacktraceReader reader;
  for (const char* line :
       {"(gdb) bt", "#0  __lll_lock_wait_private (futex=0x7fab466f6000) at ./lowlevellock.c:35",
        "    func=0x7fab32724da0) at ./stdlib/cxa_atexit.c:41",
        "#1  0x00007f1b1d3aa112 in cuMemHostAlloc () from libcuda.so.1",
        "Thread 2 (LWP 12):", "#0  0x00007f1b1d3aa112 in ioctl () from libc.so.6",
        "issue #12 is not a frame", "Thread 1 (LWP 11):", "#0  futex_wait () at futex.h:1"}) {
    reader.Add(line);
  }
  const std::vector<ThreadStack> threads = std::move(reader).Threads();
  ASSERT_EQ(threads.size(), 3u);
  EXPECT_THAT(threads[0].frames,
              ElementsAre("__lll_lock_wait_private (futex=0x7fab466f6000) at ./lowlevellock.c:35",
                          "cuMemHostAlloc () from libcuda.so.1"));
  EXPECT_THAT(threads[1].frames, ElementsAre("ioctl () from libc.so.6"));
  EXPECT_THAT(threads[2].frames, ElementsAre("futex_wait () at futex.h:1"));
}

TEST(FlightRecorder, MissingRanksOfInjectedFaultsAreFound) {
  GALEN_NEED_FIXTURES();
  struct TraceCase {
    const char* folder;
    const char* missing;
  };
  for (const TraceCase& one :
       {TraceCase{"gpu_error_2nd", "9,14"}, TraceCase{"lock_gil_1st", "9,14"},
        TraceCase{"lock_gil_2nd", "10,15"}}) {
    FakeHost host;
    for (int rank = 0; rank < 16; ++rank) {
      host::JobLog log;
      log.name = absl::StrCat("_dump_", rank);
      log.path = FixturePath(absl::StrCat("pytorch-flight-recorder/", one.folder, "/_dump_", rank));
      host.AddLogFile(log);
    }
    const auto output = CheckCollectiveTrace(Context(host));
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(ValueOf(*output, "missing_ranks"), one.missing) << one.folder;
    EXPECT_EQ(ValueOf(*output, "sequence_mismatch"), "false") << one.folder;
    EXPECT_EQ(ValueOf(*output, "shape_mismatch"), "false") << one.folder;
  }
}

std::string Dump(int sequence, const std::string& op, const std::string& sizes) {
  return absl::StrCat(R"({"version":"2.9","pg_config":{"0":{"ranks":"[0, 1]"}},"entries":[)",
                      R"({"process_group":["0","default_pg"],"collective_seq_id":)", sequence,
                      R"(,"profiling_name":")", op, R"(","input_sizes":)", sizes,
                      R"(,"state":"scheduled","is_p2p":false}]})");
}

TEST(FlightRecorder, DifferentOperationsAndSizesAreToldApart) {
  const auto judge = [](const std::string& a, const std::string& b) {
    return JudgeTraces({{0, *ParseFlightRecord(a)}, {1, *ParseFlightRecord(b)}},
                       {"nccl:all_reduce"});
  };
  const TraceVerdict shape =
      judge(Dump(5, "nccl:all_reduce", "[[8]]"), Dump(5, "nccl:all_reduce", "[[9]]"));
  EXPECT_TRUE(shape.shape_mismatch);
  EXPECT_FALSE(shape.sequence_mismatch);
  const TraceVerdict sequence =
      judge(Dump(5, "nccl:all_reduce", "[[8]]"), Dump(5, "nccl:broadcast", "[[8]]"));
  EXPECT_TRUE(sequence.sequence_mismatch);
  const TraceVerdict behind =
      judge(Dump(5, "nccl:all_reduce", "[[8]]"), Dump(4, "nccl:all_reduce", "[[8]]"));
  EXPECT_THAT(behind.missing, ElementsAre(1));
}

// One line of a rank that PyTorch's detailed checks stopped.
std::string Stopped(int rank, const std::string& op, const std::string& shape) {
  return absl::StrCat("[rank", rank, "]: RuntimeError: Detected mismatch between collectives on ",
                      "ranks. Rank ", rank,
                      " is running inconsistent collective: ", "CollectiveFingerPrint(OpType=", op,
                      ", TensorShape=[", shape, "], TensorDtypes=Float)\n");
}

TEST(CollectiveTrace, FingerprintsTellDifferentShapesFromDifferentOperations) {
  const auto told = [](const std::string& log) {
    FakeHost host;
    host.AddLog("train.log", log, host.name());
    const auto output = CheckCollectiveTrace(Context(host));
    EXPECT_TRUE(output.ok()) << output.status();
    return absl::StrCat(ValueOf(*output, "shape_mismatch"), " ",
                        ValueOf(*output, "sequence_mismatch"));
  };
  EXPECT_EQ(told(Stopped(0, "ALLGATHER", "41, 256") + Stopped(1, "ALLGATHER", "40, 256")),
            "true ?");
  EXPECT_EQ(told(Stopped(0, "ALLGATHER", "41, 256") + Stopped(1, "ALLREDUCE", "41, 256")),
            "? true");
}

TEST(CollectiveTrace, WhomRasDoesNotReachIsNamed) {
  const auto unreachable = [](const char* name, const char* answer) {
    FakeHost host;
    host.AddLog(name, answer, host.name());
    const auto output = CheckCollectiveTrace(Context(host));
    return output.ok() ? ValueOf(*output, "ras_unreachable") : "no trace";
  };
  constexpr char kDead[] =
      "Errors\n======\n\nDEAD\n"
      "  1 job process is considered dead (unreachable via the RAS network)\n"
      "  Process 3487984 on node 172.16.64.213 managing GPU 5\n\n"
      "#0-0 (cf264af53edbe986) INCOMPLETE\n"
      "  Missing communicator data from 1 rank\n  The missing rank: 21\n";
  EXPECT_EQ(unreachable("ncclras.txt", kDead),
            "process 3487984 on 172.16.64.213 (GPU 5); ranks 21 of communicator #0-0");
  EXPECT_EQ(
      unreachable("nccl-ras.log",
                  "Communicators... (0.00s)\n=============\n\n"
                  "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
                  "    #  in group  per comm  per node  per comm  in group\n"
                  "    0         8         4         1         4        32   RUNNING      OK\n"),
      "none");
  EXPECT_EQ(unreachable("grasp.log", "step 1 loss: 2.0\n"), "no trace");
}

TEST(Pickle, PlainDataIsReadAndAnythingElseRefused) {
  // pickle.dumps({"a": [1, -2, 2.5, None, True]}, 2)
  static constexpr char kPlain[] =
      "\x80\x02}q\0X\x01\0\0\0"
      "aq\x01]q\x02(K\x01J\xfe\xff\xff\xffG@\x04\0\0\0\0\0\0N\x88"
      "es.";
  const std::string plain(kPlain, sizeof(kPlain) - 1);
  const auto pickle = Pickle::Parse(plain);
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  const Pickle::Value* list = pickle->root().Find("a");
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->items.size(), 5u);
  EXPECT_EQ(list->items[1]->Int(0), -2);
  EXPECT_EQ(list->items[2]->number, 2.5);
  // pickle of os.system
  EXPECT_FALSE(Pickle::Parse("\x80\x02"
                             "cposix\nsystem\nX\x02\x00\x00\x00ls\x85R.")
                   .ok());
  EXPECT_FALSE(Pickle::Parse("").ok());
  for (std::size_t size = 0; size < plain.size(); ++size) {
    EXPECT_FALSE(Pickle::Parse(plain.substr(0, size)).ok()) << size;
  }
}

std::string Safetensors(const std::string& header) {
  std::string file(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<char>((header.size() >> (8 * i)) & 255);
  return file + header;
}

TEST(Safetensors, AHeaderPromisesTheSizeOfItsFile) {
  const std::string json =
      R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{}})";
  const auto header = ParseSafetensors(Safetensors(json));
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_THAT(header->tensors, ElementsAre("w"));
  EXPECT_EQ(header->file_bytes, static_cast<std::int64_t>(8 + json.size() + 8));
  EXPECT_FALSE(ParseSafetensors("\xff\xff\xff\xff\xff\xff\xff\x7f{}").ok());
  EXPECT_FALSE(ParseSafetensors(Safetensors("[]")).ok());
  EXPECT_FALSE(ParseSafetensors(Safetensors(R"({"w":{"data_offsets":[9,1]}})")).ok());
  EXPECT_FALSE(ParseSafetensors("abc").ok());
}

TEST(Safetensors, AnIndexStaysInItsFolder) {
  EXPECT_TRUE(ParseShardIndex(R"({"weight_map":{"a":"m-1.safetensors"}})").ok());
  EXPECT_FALSE(ParseShardIndex(R"({"weight_map":{"a":"../../etc/passwd"}})").ok());
  EXPECT_FALSE(ParseShardIndex(R"({"weight_map":{"a":"*"}})").ok());
  EXPECT_FALSE(ParseShardIndex("{}").ok());
}

TEST(ZipEnd, AnArchiveThatWasCutOffHasNoEnd) {
  const std::string end("PK\x05\x06\0\0\0\0\1\0\1\0\x2e\0\0\0\x40\0\0\0\0\0", 22);
  const std::string whole = std::string(0x40 + 0x2e, 'x') + end;
  EXPECT_TRUE(CheckZipEnd(whole, static_cast<std::int64_t>(whole.size())).ok());
  EXPECT_FALSE(CheckZipEnd(whole.substr(0, 100), 100).ok());
  EXPECT_FALSE(CheckZipEnd(end, 22).ok());
}

CheckContext AtPath(const FakeHost& host) {
  CheckContext context = Context(host);
  galen::v1::CheckParameters asked;
  (*asked.mutable_values())["path"] = "/ckpt";
  context.parameters =
      *Parameters::Resolve(*RepositoryKnowledge().FindCheck("job.checkpoint"), asked);
  return context;
}

TEST(Checkpoint, ShardsThatAreMissingOrShortAreCounted) {
  FakeHost host;
  const std::string shard =
      Safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})") + "12345678";
  host.AddFile("/ckpt/m.safetensors.index.json",
               R"({"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}})");
  host.AddFile("/ckpt/m-1.safetensors", shard);
  host.AddCommand("stat -L -c %s -- /ckpt/m-1.safetensors", absl::StrCat(shard.size(), "\n"));
  auto output = CheckCheckpoint(AtPath(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "unreadable_shards"), "1");
  EXPECT_EQ(ValueOf(*output, "missing_keys"), "1");
  host.AddCommand("stat -L -c %s -- /ckpt/m-1.safetensors", "40\n");
  output = CheckCheckpoint(AtPath(host));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "unreadable_shards"), "2");
}

// The result for a checkpoint with one shard, which `fill` writes.
template <typename Fill>
std::string UnreadableOf(const std::string& name, const Fill& fill) {
  FakeHost host;
  host.AddFile("/ckpt/" + name, "");
  fill(host, "/ckpt/" + name);
  const auto output = CheckCheckpoint(AtPath(host));
  return output.ok() ? ValueOf(*output, "unreadable_shards") : output.status().ToString();
}

TEST(Checkpoint, AShardThatThisProcessMayNotReadIsNotAccused) {
  const std::string shard =
      Safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})") + "12345678";
  const auto size = [](FakeHost& host, const std::string& path, std::size_t bytes) {
    host.AddCommand("stat -L -c %s -- " + path, absl::StrCat(bytes, "\n"));
  };
  for (const absl::Status& error : {absl::PermissionDeniedError("root is squashed"),
                                    absl::DeadlineExceededError("no answer")}) {
    EXPECT_EQ(UnreadableOf("m-1.safetensors",
                           [&](FakeHost& host, const std::string& path) {
                             host.AddFile("/ckpt/m.safetensors.index.json",
                                          R"({"weight_map":{"a":"m-1.safetensors"}})");
                             host.AddFileError(path, error);
                           }),
              "?")
        << error;
    EXPECT_EQ(UnreadableOf("m.pt",
                           [&](FakeHost& host, const std::string& path) {
                             size(host, path, 100);
                             host.AddCommandError("tail -c 65558 -- " + path, error);
                           }),
              "?")
        << error;
  }
  EXPECT_EQ(
      UnreadableOf("m.pt", [&](FakeHost& host, const std::string& path) { size(host, path, 100); }),
      "?");
  // Without stat the completeness is unknown.
  EXPECT_EQ(
      UnreadableOf("m-1.safetensors",
                   [&](FakeHost& host, const std::string& path) { host.AddFile(path, shard); }),
      "?");
  EXPECT_EQ(
      UnreadableOf("m.pt", [&](FakeHost& host, const std::string& path) { size(host, path, 0); }),
      "1");
}

TEST(Checkpoint, AnIndexThatIsLargerThanWhatIsReadOfItIsNotAccused) {
  const std::string shard =
      Safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})") + "12345678";
  const auto unreadable = [&](const std::string& size) {
    return UnreadableOf("m-1.safetensors", [&](FakeHost& host, const std::string& path) {
      host.AddFile(path, shard);
      host.AddCommand("stat -L -c %s -- " + path, absl::StrCat(shard.size(), "\n"));
      host.AddFile("/ckpt/m.safetensors.index.json", R"({"weight_map":{"a":)");
      host.AddCommand("stat -L -c %s -- /ckpt/m.safetensors.index.json", size);
    });
  };
  EXPECT_EQ(unreadable("9000000\n"), "?");
  EXPECT_EQ(unreadable("19\n"), "1");
}

TEST(Checkpoint, AHeaderThatIsLargerThanWhatIsReadIsNotCutOff) {
  std::string start(host::kFileBytes, ' ');
  start.replace(0, 8, std::string({0, 0, 0, 1, 0, 0, 0, 0}));  // 16 MiB, the lowest byte first
  const auto unreadable = [&](const std::string& read, const std::string& size) {
    return UnreadableOf("m.safetensors", [&](FakeHost& host, const std::string& path) {
      host.AddFile(path, read);
      host.AddCommand("stat -L -c %s -- " + path, size);
    });
  };
  EXPECT_EQ(unreadable(start, "1000000000\n"), "?");
  EXPECT_EQ(unreadable(start.substr(0, 4096), "4096\n"), "1");
}

TEST(Checkpoint, AFileOfTorchSaveBeforeItWroteArchivesIsNotCutOff) {
  const auto unreadable = [](const std::string& content) {
    return UnreadableOf("m.pt", [&](FakeHost& host, const std::string& path) {
      host.AddFile(path, content);
      host.AddCommand("stat -L -c %s -- " + path, absl::StrCat(content.size(), "\n"));
      host.AddCommand("tail -c 65558 -- " + path, content);
    });
  };
  // The magic number that torch.save wrote first.
  EXPECT_EQ(unreadable("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."), "?");
  EXPECT_EQ(unreadable("PK\x03\x04 and no end"), "1");
}

TEST(Checkpoint, KeysOfTheLogAreCountedAndExtraStateToldApart) {
  FakeHost host;
  host.AddLog("a.log",
              "\tMissing key(s) in state_dict: \"layers.0._extra_state\", "
              "\"layers.1._extra_state\".\n");
  const auto output = CheckCheckpoint(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "missing_keys"), "2");
  EXPECT_EQ(ValueOf(*output, "unexpected_keys"), "?");
  EXPECT_EQ(ValueOf(*output, "extra_state_only"), "true");
  EXPECT_EQ(ValueOf(*output, "unreadable_shards"), "?");
}

TEST(Checkpoint, NormsThatChangedByLoadingAreSeen) {
  FakeHost host;
  host.AddLog("norms.txt",
              "parameter norm(before save) norm(after load)\ndecoder.a.weight 61.2 64.0\n"
              "decoder.b.weight 77.1 77.1\n");
  const auto output = CheckCheckpoint(Context(host));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "norms_changed_on_load"), "true");
}

TEST(KnownIssues, AReleaseOnTheListMatchesWithItsSymptomOnly) {
  FakeHost host;
  host.AddCommand("python3 -m pip list --format=json", R"([{"name":"torch","version":"2.2.0"}])", 0,
                  "", host::View::kJob);
  host.AddLog("a.log", "NCCL version 2.19.3+cuda12.3\n");
  auto output = CheckKnownIssues(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "match"), "none");
  host.AddLog("b.log", "alltoall_perf -b 1M\n");
  output = CheckKnownIssues(Context(host));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "match", "package:nccl"), "nccl_cumem_alltoall_crash");
}

TEST(KnownIssues, EveryEntryOfTheCatalogueIsReadable) {
  const auto* check = RepositoryKnowledge().FindCheck("framework.known_issues");
  ASSERT_NE(check, nullptr);
  for (const auto& datum : check->data()) {
    EXPECT_TRUE(ParseKnownIssue(datum.name(), {datum.texts().begin(), datum.texts().end()}).ok())
        << datum.name();
    EXPECT_FALSE(datum.reference().empty()) << datum.name();
  }
  EXPECT_FALSE(ParseKnownIssue("x", {"log=only"}).ok());
  EXPECT_FALSE(ParseKnownIssue("x", {"nothing"}).ok());
}

constexpr char kHistory[] =
    "Start-Date: 2024-05-01  06:12:01\nCommandline: apt upgrade\n"
    "Upgrade: libssl3:amd64 (3.0.1, 3.0.2), nvidia-driver-550:amd64 (550.54, 550.90)\n"
    "End-Date: 2024-05-01  06:13:00\n\n"
    "Start-Date: 2024-01-01  06:12:01\nInstall: linux-image-6.5:amd64 (6.5)\n";

TEST(Changes, OnlyWhatChangedShortlyBeforeCounts) {
  FakeHost host;
  host.AddFile("/var/log/apt/history.log", kHistory);
  CheckContext context = Context(host);
  std::string error;
  ASSERT_TRUE(
      absl::ParseTime(absl::RFC3339_full, "2024-05-02T06:12:01Z", &context.window_start, &error));
  const auto output = CheckChanges(context);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "changed_component"), "nvidia");
  EXPECT_EQ(ValueOf(*output, "changed_hours_before"), "24");
}

TEST(Changes, TransactionsAreReadWithTheirPackages) {
  const auto changes = ParseAptHistory(kHistory);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_THAT(changes[0].packages, ElementsAre("libssl3", "nvidia-driver-550"));
}

}  // namespace trace_test
}  // namespace galen::node
