// Claims about the checks that show how a job spends its time: its traces, and the expected time of
// a step.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/node/checks/log/expected_rate.h"
#include "services/node/checks/log/profile.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/real_knowledge.h"

namespace galen::node {
namespace speed_test {

using ::galen::testing::FakeHost;
using ::testing::HasSubstr;

// As Megatron prints its arguments, and steps that took so long. The job is v100-52b-3d of
// knowledge/perfmodel, whose steps took 126.64 s.
std::string Log(double seconds, int steps) {
  std::string log;
  const std::vector<std::pair<const char*, const char*>> arguments = {
      {"num_layers", "64"},
      {"hidden_size", "8192"},
      {"num_attention_heads", "32"},
      {"kv_channels", "256"},
      {"ffn_hidden_size", "32768"},
      {"num_experts", "None"},
      {"moe_router_topk", "2"},
      {"num_query_groups", "1"},
      {"group_query_attention", "False"},
      {"seq_length", "1024"},
      {"global_batch_size", "512"},
      {"world_size", "64"},
      {"params_dtype", "torch.float16"},
      {"fp8", "None"},
      {"tensor_model_parallel_size", "4"},
      {"pipeline_model_parallel_size", "16"},
      {"micro_batch_size", "4"},
      {"virtual_pipeline_model_parallel_size", "None"},
      {"checkpoint_activations", "True"},
      {"deepspeed", "False"},
      {"zero_stage", "3"},
      {"swiglu", "False"},
  };
  for (const auto& [name, value] : arguments) {
    absl::StrAppend(&log, "  ", name, " ......................................... ", value, "\n");
  }
  absl::StrAppend(&log, " > padded vocab (size: 50257) with 431 dummy tokens (new size: 50688)\n");
  for (int step = 1; step <= steps; ++step) {
    // The batch ramps up, and its last size counts; the first steps take longer than any.
    absl::StrAppend(&log, " iteration ", step, "/ 1000 | elapsed time per iteration (ms): ",
                    step <= 5 ? 900'000 : seconds * 1000,
                    " | global batch size: ", step <= 5 ? 512 : 1024, " | lm loss: 4.1E+00 |\n");
  }
  return log;
}

FakeHost HostWith(const std::string& log) {
  FakeHost host;
  std::string xml;
  for (int gpu = 0; gpu < 4; ++gpu) {
    absl::StrAppend(&xml, "<gpu><product_name>Tesla V100-SXM2-32GB</product_name></gpu>\n");
  }
  host.AddCommand("nvidia-smi -q -x", xml);
  host.AddLog("train.log", log);
  return host;
}

absl::StatusOr<CheckOutput> Expected(const FakeHost& host,
                                     const std::map<std::string, std::string>& parameters) {
  CheckContext context{host, RealKnowledge()};
  context.parameters = ParametersOf("job.expected_rate", parameters);
  return CheckExpectedRate(context);
}

const std::map<std::string, std::string> kNetwork = {{"nics", "4x100"}, {"fabric", "opa"}};

TEST(ExpectedRate, AHealthyStepStandsAsTheModelExpectsIt) {
  const FakeHost host = HostWith(Log(126.64, 40));
  const auto output = Expected(host, kNetwork);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "step_s"), "126.64");
  EXPECT_EQ(ValueOf(*output, "slower_than_expected"), "false") << output->message;
}

TEST(ExpectedRate, ASlowStepStandsAboveIt) {
  const FakeHost host = HostWith(Log(300, 40));
  const auto output = Expected(host, kNetwork);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "slower_than_expected"), "true") << output->message;
}

TEST(ExpectedRate, TheShapeIsWhatTheJobPrinted) {
  const FakeHost host = HostWith(Log(126.64, 40));
  const auto output = Expected(host, kNetwork);
  ASSERT_TRUE(output.ok()) << output.status();
  // No experts, no shared keys, no stage of an optimizer that is off.
  EXPECT_THAT(output->message,
              HasSubstr("batch=1024,ffn=32768,gpus=64,head_size=256,heads=32,hidden=8192,layers=64,"
                        "micro_batch=4,pp=16,precision=fp16,recompute=full,sequence=1024,tp=4,"
                        "vocabulary=50688"));
}

TEST(ExpectedRate, WhatIsNotKnownIsNotExpected) {
  const auto reason = [](const FakeHost& host,
                         const std::map<std::string, std::string>& parameters) {
    const auto output = Expected(host, parameters);
    return output.ok() ? output->message : std::string(output.status().message());
  };
  EXPECT_THAT(reason(HostWith(Log(126.64, 40)), {}), HasSubstr("set nics and fabric"));
  EXPECT_THAT(reason(HostWith(Log(126.64, 6)), kNetwork), HasSubstr("6 steps"));
  EXPECT_THAT(reason(HostWith("epoch 1 done\n"), kNetwork), HasSubstr("set shape"));
  FakeHost unknown;
  unknown.AddLog("train.log", Log(126.64, 40));
  EXPECT_THAT(reason(unknown, kNetwork), HasSubstr("set gpu"));
}

std::string Event(const char* category, const std::string& name, int thread, double begin,
                  double end, const std::string& more = "") {
  return absl::StrCat(R"({"ph":"X","cat":")", category, R"(","name":")", name,
                      R"(","pid":0,"tid":)", thread, R"(,"ts":)", begin, R"(,"dur":)", end - begin,
                      R"(,"args":{"device":0,"stream":)", thread, more, "}}");
}

// Steps of 100 us; each rank computes, and a collective ends on all of them at 90.
std::string Trace(int rank, double compute) {
  std::vector<std::string> events;
  for (int step = 0; step < 5; ++step) {
    const double at = 100.0 * step;
    events.push_back(
        Event("user_annotation", absl::StrCat("ProfilerStep#", step), 3, at, at + 100));
    events.push_back(Event("kernel", "ampere_sgemm_128x64_nn", 7, at, at + compute));
    events.push_back(Event("kernel", "ncclDevKernel_AllGather", 9, at + compute, at + 90,
                           absl::StrCat(R"(,"Process Group Name":"3","Seq":)", step)));
  }
  return absl::StrCat(R"({"schemaVersion":1,"distributedInfo":{"rank":)", rank,
                      R"(},"traceEvents":[)", absl::StrJoin(events, ",\n"), "]}");
}

TEST(Profile, TheTracesOfAJobNameTheRankThatHoldsTheOthersUp) {
  FakeHost host;
  for (int rank = 0; rank < 8; ++rank) {
    host.AddLog(absl::StrCat("rank", rank, ".pt.trace.json"), Trace(rank, rank == 5 ? 80 : 50));
  }
  const auto output = CheckProfile({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "straggler"), "rank 5");
  EXPECT_EQ(ValueOf(*output, "late_rank"), "none");
}

TEST(Profile, RanksThatAreAlikeHaveNoStraggler) {
  FakeHost host;
  for (int rank = 0; rank < 8; ++rank) {
    host.AddLog(absl::StrCat("rank", rank, ".pt.trace.json"), Trace(rank, 50));
  }
  const auto output = CheckProfile({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "straggler"), "none");
}

TEST(Profile, OneTraceSaysWhereTimeGoesAndNotWhoIsLate) {
  FakeHost host;
  host.AddLog("rank0.pt.trace.json", Trace(0, 50));
  const auto output = CheckProfile({host, RealKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "compute_share"), "0.5");
  EXPECT_EQ(ValueOf(*output, "straggler"), "?");
}

TEST(Profile, ALogIsNoTrace) {
  FakeHost host;
  host.AddLog("train.log", Log(126, 3));
  EXPECT_THAT(std::string(CheckProfile({host, RealKnowledge()}).status().message()),
              HasSubstr("no trace of a profiler"));
}

}  // namespace speed_test
}  // namespace galen::node
