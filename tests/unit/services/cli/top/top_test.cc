#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/cli/top/exposition.h"
#include "services/cli/top/screen.h"
#include "services/cli/top/snapshot.h"
#include "tests/testing/status_matchers.h"

namespace galen::cli::top {
namespace {

using galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

TEST(ParseExposition, ReadsNamesLabelsAndValues) {
  const auto all = ParseExposition(
      "# HELP a_total A\n# TYPE a_total counter\n"
      "a_total 3\n"
      "\n"
      "b{x=\"1\",y=\"a\\\"b\\\\c\\n,}\"} 0.5 1700000000000\n"
      "c_bucket{le=\"+Inf\"} 7\n"
      "d NaN\n");
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_THAT(*all, SizeIs(4));
  EXPECT_EQ((*all)[0].name, "a_total");
  EXPECT_EQ((*all)[0].value, 3);
  EXPECT_THAT((*all)[1].labels, ElementsAre(Pair("x", "1"), Pair("y", "a\"b\\c\n,}")));
  EXPECT_EQ((*all)[1].value, 0.5);
  EXPECT_EQ((*all)[2].labels.at("le"), "+Inf");
}

TEST(ParseExposition, NamesTheLineThatIsNone) {
  for (const char* wrong :
       {"<html>", "a", "a{", "a{x", "a{x=", "a{x=\"", "a{x=\"1", "a{x=\"1\\", "a{x=\"1\" 2",
        "a{=\"1\"} 2", "a x", "a 1 2 3", "{x=\"1\"} 2", "a{x=1} 2"}) {
    EXPECT_THAT(ParseExposition(absl::StrCat("ok 1\n", wrong, "\n")),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 2")))
        << wrong;
  }
}

TEST(ParseExposition, TakesNoFlood) {
  std::string flood;
  for (int i = 0; i < 200'001; ++i) flood += "a 1\n";
  EXPECT_THAT(ParseExposition(flood),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than 200000")));
}

v1::Diagnosis Diagnosis(const std::string& id, v1::Diagnosis::State state, int age, int took) {
  v1::Diagnosis diagnosis;
  diagnosis.set_name("tenants/t/diagnoses/" + id);
  diagnosis.set_state(state);
  diagnosis.mutable_create_time()->set_seconds(absl::ToUnixSeconds(kNow) - age);
  diagnosis.mutable_update_time()->set_seconds(absl::ToUnixSeconds(kNow) - age + took);
  return diagnosis;
}

Reading ReadingOf(absl::Time time, const std::string& text) {
  Reading reading{time, {}, std::vector<v1::Diagnosis>()};
  reading.programs.emplace("127.0.0.1:1", ParseExposition(text));
  return reading;
}

std::string Judge(int ok, int failed, int below_10ms, int below_50ms) {
  const std::string of =
      "rpc_service=\"galen.reflection.v1.ReflectionService\",rpc_method=\"Judge\"";
  return absl::StrCat(
      "galen_rpc_server_calls_total{", of, ",code=\"OK\"} ", ok, "\n",
      "galen_rpc_server_calls_total{", of, ",code=\"INTERNAL\"} ", failed, "\n",
      "galen_rpc_server_calls_total{", of, ",code=\"NOT_FOUND\"} 1000\n",
      "galen_rpc_server_in_flight{", of, "} 2\n", "galen_rpc_server_seconds_bucket{", of,
      ",le=\"0.01\"} ", below_10ms, "\n", "galen_rpc_server_seconds_bucket{", of, ",le=\"0.05\"} ",
      below_50ms, "\n", "galen_rpc_server_seconds_bucket{", of, ",le=\"+Inf\"} ", below_50ms, "\n",
      "galen_rpc_server_seconds_bucket{rpc_service=\"galen.reflection.v1.ReflectionService\","
      "rpc_method=\"Watch\",le=\"+Inf\"} ",
      1000 * ok, "\n");
}

TEST(Compare, TellsRatesFaultsAndQuantilesOfWhatHappenedBetween) {
  const Snapshot snapshot = Compare(ReadingOf(kNow, Judge(100, 10, 50, 100)),
                                    ReadingOf(kNow + absl::Seconds(10), Judge(200, 30, 100, 200)));
  ASSERT_THAT(snapshot.services, SizeIs(1));
  const ServiceRow& row = snapshot.services[0];
  EXPECT_EQ(row.service, "reflection");
  EXPECT_DOUBLE_EQ(row.calls, 12);
  EXPECT_DOUBLE_EQ(row.errors, 2);  // a request for something missing is the caller's error
  EXPECT_EQ(row.in_flight, 2);
  EXPECT_DOUBLE_EQ(*row.p50, 0.01);
  EXPECT_NEAR(*row.p99, 0.0492, 1e-9);
}

TEST(Compare, TakesACounterThatFellAsBegunAnew) {
  const Snapshot snapshot = Compare(ReadingOf(kNow, Judge(1000, 0, 0, 0)),
                                    ReadingOf(kNow + absl::Seconds(1), Judge(5, 0, 0, 0)));
  EXPECT_DOUBLE_EQ(snapshot.services.at(0).calls, 5);
  EXPECT_FALSE(snapshot.services.at(0).p99.has_value());
}

TEST(Compare, HasNoRatesOfAProgramThatItSeesForTheFirstTime) {
  const Snapshot snapshot = Compare(Reading{kNow, {}, std::vector<v1::Diagnosis>()},
                                    ReadingOf(kNow + absl::Seconds(1), Judge(5, 5, 1, 2)));
  EXPECT_EQ(snapshot.services.at(0).calls, 0);
  EXPECT_EQ(snapshot.services.at(0).errors, 0);
}

TEST(Compare, SurvivesNumbersThatAreNone) {
  const std::string of = "rpc_service=\"galen.x\",rpc_method=\"Y\"";
  const std::string odd = absl::StrCat("galen_rpc_server_calls_total{", of, ",code=\"OK\"} NaN\n",
                                       "galen_rpc_server_seconds_bucket{", of, ",le=\"x\"} 1\n",
                                       "galen_rpc_server_seconds_bucket{", of, ",le=\"1\"} +Inf\n",
                                       "galen_rpc_server_seconds_bucket{", of, ",le=\"-1\"} -5\n",
                                       "galen_rpc_server_calls_total 7\n");
  const Snapshot snapshot = Compare(ReadingOf(kNow, odd), ReadingOf(kNow, odd));
  ASSERT_THAT(snapshot.services, SizeIs(1));
  EXPECT_EQ(snapshot.services[0].calls, 0);
}

TEST(Compare, PutsWhatRunsFirstAndCountsItsAge) {
  Reading now{kNow, {}, std::vector<v1::Diagnosis>()};
  now.diagnoses->push_back(Diagnosis("done", v1::Diagnosis::SUCCEEDED, 100, 7));
  now.diagnoses->push_back(Diagnosis("busy", v1::Diagnosis::RUNNING, 40, 39));
  now.diagnoses->at(1).add_steps("checks/screen-1/1");
  now.diagnoses->at(1).set_pending_checks(12);
  const Snapshot snapshot = Compare(now, now);
  ASSERT_THAT(snapshot.diagnoses, SizeIs(2));
  EXPECT_EQ(snapshot.diagnoses[0].name, "busy");
  EXPECT_EQ(snapshot.diagnoses[0].tenant, "t");
  EXPECT_EQ(snapshot.diagnoses[0].age, absl::Seconds(40));
  EXPECT_EQ(snapshot.diagnoses[0].step, "checks/screen-1/1");
  EXPECT_EQ(snapshot.diagnoses[0].pending_checks, 12);
  EXPECT_EQ(snapshot.diagnoses[1].age, absl::Seconds(7));
}

TEST(TenantsIn, AreThoseWithNumbersOfTheirOwn) {
  EXPECT_THAT(TenantsIn(ReadingOf(kNow,
                                  "galen_diagnoses{state=\"running\",tenant=\"b\"} 0\n"
                                  "galen_diagnoses{state=\"waiting\",tenant=\"b\"} 0\n"
                                  "galen_diagnoses{state=\"running\",tenant=\"a\"} 1\n"
                                  "galen_diagnoses{state=\"running\",tenant=\"(other)\"} 1\n"
                                  "else{tenant=\"c\"} 1\n")),
              ElementsAre("a", "b"));
}

Snapshot Full() {
  Snapshot snapshot;
  snapshot.time = kNow;
  snapshot.running = 2;
  snapshot.services.push_back({"planning", 1234.5, 0, 3, 0.0005, 1.25});
  snapshot.services.push_back({"node", 0.25, 0.5, 0, std::nullopt, std::nullopt});
  snapshot.programs.push_back({"127.0.0.1:9464", "", 0.42, 64 << 20, 7});
  snapshot.programs.push_back({"n2:9464", "it does not answer", 0, 0, 0});
  snapshot.diagnoses.push_back(
      {"b2c8", "t", "RUNNING", absl::Seconds(3), "judge/history/1", 4, "", "4bf9", false});
  snapshot.diagnoses.push_back(
      {"a1", "tenant-2", "SUCCEEDED", absl::Minutes(90), "", 0, "GPU.MEMORY.ECC", "", true});
  return snapshot;
}

TEST(ScreenOf, AlignsItsTables) {
  EXPECT_EQ(ScreenOf(Full(), Terminal{false, 80}, 0),
            "galen top  22:13:20Z  running 2  waiting 0  refused 0.0/s\n"
            "\n"
            "SERVICE   CALLS/S  ERRORS/S  IN FLIGHT     P50   P99\n"
            "planning     1234       0.0          3  0.50ms  1.2s\n"
            "node          0.2       0.5          0       -     -\n"
            "\n"
            "PROGRAM         CPU  MEMORY  QUEUED  \n"
            "127.0.0.1:9464  42%  64 MiB       7  \n"
            "n2:9464           -       -       -  it does not answer\n"
            "\n"
            "DIAGNOSIS  TENANT    STATE       AGE  CHECKS  STEP OR CAUSE\n"
            "b2c8       t         RUNNING    3.0s       4  judge/history/1\n"
            "a1         tenant-2  SUCCEEDED   90m       -  GPU.MEMORY.ECC\n");
}

TEST(ScreenOf, IsColouredOnTerminalsAlone) {
  EXPECT_THAT(ScreenOf(Full(), Terminal{true, 80}, 0), HasSubstr("\x1b[31m0.5\x1b[0m"));
  EXPECT_THAT(ScreenOf(Full(), Terminal{false, 80}, 0), Not(HasSubstr("\x1b")));
}

TEST(ScreenOf, KeepsToItsTerminal) {
  Snapshot snapshot = Full();
  for (int i = 0; i < 200; ++i) snapshot.diagnoses.push_back(snapshot.diagnoses[0]);
  snapshot.diagnoses[0].step = std::string(500, 'x');
  for (const int width : {1, 7, 40, 80}) {
    const std::string screen = ScreenOf(snapshot, Terminal{false, width}, 24);
    const std::vector<std::string> lines = absl::StrSplit(screen, '\n');
    EXPECT_THAT(lines, SizeIs(25));  // and an empty one
    for (const std::string& line : lines) {
      EXPECT_LE(Columns(line), static_cast<std::size_t>(width)) << line;
    }
  }
}

TEST(ScreenOf, SaysWhyThereAreNoDiagnoses) {
  Reading reading{kNow, {}, absl::UnavailableError("nobody there")};
  const Snapshot snapshot = Compare(reading, reading);
  EXPECT_THAT(ScreenOf(snapshot, Terminal(), 0), HasSubstr("no diagnoses: nobody there"));
  EXPECT_EQ(nlohmann::json::parse(JsonOf(snapshot))["diagnoses_error"], "nobody there");
}

TEST(JsonOf, HoldsAllOfIt) {
  const nlohmann::json all = nlohmann::json::parse(JsonOf(Full()));
  EXPECT_EQ(all["services"][0]["p99_seconds"], 1.25);
  EXPECT_TRUE(all["services"][1]["p99_seconds"].is_null());
  EXPECT_EQ(all["programs"][1]["error"], "it does not answer");
  EXPECT_EQ(all["diagnoses"][0]["trace_id"], "4bf9");
  EXPECT_EQ(all["diagnoses"][1]["cause"], "GPU.MEMORY.ECC");
}

}  // namespace
}  // namespace galen::cli::top
