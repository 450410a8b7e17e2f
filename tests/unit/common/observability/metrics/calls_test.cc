#include "common/observability/metrics/calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/observability/metrics/check_numbers.h"
#include "common/observability/metrics/process.h"
#include "common/observability/metrics/registry.h"

namespace galen::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kJudge[] = "/galen.reflection.v1.ReflectionService/Judge";
constexpr Calls::Names kNames = {kServerCalls, kServerInFlight, kServerSeconds};

std::string TextOf(const std::shared_ptr<const prometheus::Collectable>& source) {
  Registry registry;
  registry.Add(source);
  return registry.Text();
}

TEST(Calls, TellHowManyByStatusAndHowLong) {
  const auto calls = std::make_shared<Calls>(kNames);
  Calls::Method& judge = calls->Of(kJudge);
  for (int i = 0; i < 3; ++i) judge.Begin();
  judge.End(0, absl::Milliseconds(2));
  judge.End(8, absl::Minutes(5));
  const std::string text = TextOf(calls);
  for (const char* line : {
           "galen_rpc_server_calls_total{rpc_service=\"galen.reflection.v1.ReflectionService\","
           "rpc_method=\"Judge\",code=\"OK\"} 1\n",
           "rpc_method=\"Judge\",code=\"RESOURCE_EXHAUSTED\"} 1\n",
           "galen_rpc_server_in_flight{rpc_service=\"galen.reflection.v1.ReflectionService\","
           "rpc_method=\"Judge\"} 1\n",
           "rpc_method=\"Judge\",le=\"0.001\"} 0\n",
           "rpc_method=\"Judge\",le=\"0.0025\"} 1\n",
           "rpc_method=\"Judge\",le=\"120\"} 1\n",
           "rpc_method=\"Judge\",le=\"+Inf\"} 2\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("UNKNOWN")));
}

TEST(Calls, CountACodeThatIsNoneAsUnknown) {
  const auto calls = std::make_shared<Calls>(kNames);
  for (const int code : {-1, 17, 1000}) {
    calls->Of(kJudge).Begin();
    calls->Of(kJudge).End(code, absl::ZeroDuration());
  }
  EXPECT_THAT(TextOf(calls), HasSubstr("code=\"UNKNOWN\"} 3\n"));
}

TEST(Calls, FindAMethodByItsTextWhereverThatStands) {
  Calls calls(kNames);
  const std::string copy = kJudge;
  EXPECT_EQ(&calls.Of(kJudge), &calls.Of(copy.c_str()));
  EXPECT_EQ(&calls.Of(kJudge), &calls.Of(kJudge));
  std::string changing = "/a.A/One";
  Calls::Method& one = calls.Of(changing.c_str());
  changing[6] = 'T';  // "/a.A/Tne" at the same place
  EXPECT_NE(&calls.Of(changing.c_str()), &one);
}

TEST(Calls, HaveNumbersForSoManyMethodsAndNoMore) {
  const auto calls = std::make_shared<Calls>(kNames);
  std::vector<std::string> paths;
  for (int i = 0; i < 300; ++i) paths.push_back(absl::StrCat("/a.A/M", i));
  for (const std::string& path : paths) {
    calls->Of(path.c_str()).Begin();
    calls->Of(path.c_str()).End(0, absl::ZeroDuration());
  }
  EXPECT_EQ(&calls->Of(paths[280].c_str()), &calls->Of(paths[290].c_str()));
  EXPECT_NE(&calls->Of(paths[0].c_str()), &calls->Of(paths[1].c_str()));
  EXPECT_THAT(TextOf(calls),
              HasSubstr("rpc_service=\"(other)\",rpc_method=\"\",code=\"OK\"} 44\n"));
}

TEST(Calls, LoseNoneOfManyThreads) {
  const auto calls = std::make_shared<Calls>(kNames);
  std::vector<std::string> paths;
  for (int i = 0; i < 20; ++i) paths.push_back(absl::StrCat("/a.A/M", i));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        Calls::Method& method = calls->Of(paths[static_cast<std::size_t>(i) % 20].c_str());
        method.Begin();
        method.End(0, absl::Microseconds(i));
        if (i % 500 == 0) {
          EXPECT_FALSE(calls->Collect().empty());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = TextOf(calls);
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("rpc_method=\"M", i, "\",code=\"OK\"} 400\n")));
    EXPECT_THAT(text, HasSubstr(absl::StrCat("galen_rpc_server_in_flight{rpc_service=\"a.A\","
                                             "rpc_method=\"M",
                                             i, "\"} 0\n")));
  }
}

TEST(LocalCall, IsCountedOnceHoweverItEnds) {
  {
    LocalCall ended("/test.Local/Ended");
    LocalCall moved = std::move(ended);
    moved.End(absl::OkStatus());
    moved.End(absl::InternalError(""));
    const LocalCall dropped("/test.Local/Dropped");
  }
  const std::string text = TextOf(ServerCalls());
  EXPECT_THAT(text, HasSubstr("rpc_method=\"Ended\",code=\"OK\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("rpc_method=\"Ended\",code=\"INTERNAL\"")));
  EXPECT_THAT(text, HasSubstr("rpc_method=\"Dropped\",code=\"CANCELLED\"} 1\n"));
}

TEST(ByValue, LetsNobodyMakeSeriesWithoutEnd) {
  ByValue<Counter> tenants(2);
  for (int i = 0; i < 1000; ++i) tenants.Of(absl::StrCat("t", i)).Add();
  tenants.Of("t1").Add();
  std::vector<std::pair<std::string, std::uint64_t>> all;
  for (const auto& [tenant, counter] : tenants.All()) all.emplace_back(tenant, counter->value());
  EXPECT_THAT(all, ::testing::ElementsAre(std::pair("(other)", 998), std::pair("t0", 1),
                                          std::pair("t1", 2)));
}

TEST(CheckNumbers, CountFinalResultsAndTimes) {
  CheckNumbers numbers;
  numbers.CountResult("gpu.ecc", 2);
  for (const int no_result : {-1, 0, 5, 77}) numbers.CountResult("gpu.ecc", no_result);
  numbers.CountTime("gpu.ecc", absl::Milliseconds(40));
  const std::string text = TextOf(SourceOf([&]() -> std::vector<prometheus::MetricFamily> {
    return {numbers.Results(kNodeResults), numbers.Times(kNodeCheckSeconds)};
  }));
  EXPECT_THAT(text, HasSubstr("galen_node_check_results_total{check=\"gpu.ecc\","
                              "status=\"FAIL\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("galen_node_check_seconds_bucket{check=\"gpu.ecc\",le=\"0.05\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("PASS")));
}

TEST(Process, TellsOfItself) {
  Registry registry;
  AddProgram(registry);
  const std::string text = registry.Text();
  for (const char* name :
       {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds",
        "process_max_fds", "process_threads", "process_start_time_seconds"}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\n", name, " "))) << name;
  }
}

}  // namespace
}  // namespace galen::metrics
