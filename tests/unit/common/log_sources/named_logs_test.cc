// Sources of the site in requests: for whom they are, and with the site's address and query alone.
#include "common/log_sources/named_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "fake_stores.h"
#include "tests/testing/scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen::log_sources {
namespace named_logs_test {

using galen::testing::IsOk;
using galen::testing::Recorded;
using galen::testing::Scratch;
using galen::testing::ScriptedEndpoint;
using galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using Code = absl::StatusCode;

const absl::Time kNow = absl::FromUnixSeconds(kStart + 7200);

class NamedLogsTest : public ::testing::Test {
 protected:
  NamedLogs Load() {
    const std::string file = scratch_.Write(
        "site.yaml",
        absl::StrCat("log_sources:\n  - name: site\n    address: 'loki+http://127.0.0.1:",
                     loki_.port(), "?query={job=\"<job>\"}'\n    tenants: [acme]\n"));
    auto loaded = NamedLogs::Load(file, {GALEN_SOURCE_DIR "/knowledge"});
    EXPECT_THAT(loaded.status(), IsOk());
    return *std::move(loaded);
  }

  static v1::Incident Asks(const std::string& path, const std::string& job) {
    v1::Incident incident;
    incident.set_description("job died");
    incident.add_logs()->set_path(path);
    incident.mutable_workload()->set_name(job);
    *incident.mutable_start_time() = ToTimestamp(absl::FromUnixSeconds(kStart));
    *incident.mutable_end_time() = ToTimestamp(absl::FromUnixSeconds(kStart + 3600));
    return incident;
  }

  const Scratch scratch_;
  std::vector<StoredLine> stored_ = {
      {{{"pod", "train-0"}, {"node_name", "gpu-1"}}, (kStart + 5) * kSecond, "Traceback"}};
  ScriptedEndpoint loki_{
      [this](const Recorded& request) { return AnswerOfLoki(stored_, request); }};
};

TEST_F(NamedLogsTest, ATenantsSourceIsReadWithTheSitesQuery) {
  const auto filled = Load().Fetch("tenants/acme", Asks("from:site", "llama-7"), kNow);
  ASSERT_THAT(filled, IsOk());
  ASSERT_THAT(filled->logs(), SizeIs(1));
  EXPECT_EQ(filled->logs(0).path(), "train-0.log");
  EXPECT_EQ(filled->logs(0).node(), "gpu-1");
  EXPECT_EQ(filled->logs(0).content(), "Traceback\n");
  EXPECT_EQ(filled->logs(0).kind(), v1::LogSource::JOB);
  auto parameters = ParametersOf(loki_.requests()[0]);
  EXPECT_EQ(parameters["query"], "{job=\"llama-7\"}");
  EXPECT_EQ(parameters["start"], absl::StrCat(kStart * kSecond));
}

TEST_F(NamedLogsTest, OthersAndOtherNamesAreRefusedAlike) {
  const NamedLogs logs = Load();
  const auto other = logs.Fetch("tenants/evil", Asks("from:site", "j"), kNow);
  const auto unknown = logs.Fetch("tenants/acme", Asks("from:site2", "j"), kNow);
  EXPECT_THAT(other.status(), StatusIs(Code::kInvalidArgument, HasSubstr("no such log source")));
  EXPECT_THAT(unknown.status(), StatusIs(Code::kInvalidArgument, HasSubstr("no such log source")));
  for (const char* const path :
       {"from:loki+http://169.254.169.254?query=x", "from:", "from:site?query={a=\"b\"}"}) {
    EXPECT_EQ(logs.Fetch("tenants/acme", Asks(path, "j"), kNow).status().code(),
              Code::kInvalidArgument)
        << path;
  }
  EXPECT_THAT(loki_.requests(), IsEmpty());
}

TEST_F(NamedLogsTest, AJobsNameCannotChangeTheQuery) {
  const NamedLogs logs = Load();
  for (const char* const job : {"", "a\"} or {job=\"b", "a b", ".*", "-a", "a*"}) {
    EXPECT_THAT(logs.Fetch("tenants/acme", Asks("from:site", job), kNow).status(),
                StatusIs(Code::kInvalidArgument, HasSubstr("workload.name")))
        << job;
  }
  EXPECT_THAT(loki_.requests(), IsEmpty());
}

TEST_F(NamedLogsTest, ErrorsTellNoAddress) {
  stored_.clear();
  const NamedLogs logs = Load();
  const auto nothing = logs.Fetch("tenants/acme", Asks("from:site", "j"), kNow);
  EXPECT_THAT(nothing.status(), StatusIs(Code::kNotFound, HasSubstr("no line")));
  EXPECT_THAT(std::string(nothing.status().message()), Not(HasSubstr("127.0.0.1")));
}

TEST_F(NamedLogsTest, ALogThatIsNotWholeSaysSoInItsName) {
  const NamedLogs logs = Load();
  v1::Incident long_ago = Asks("from:site", "j");
  *long_ago.mutable_start_time() = ToTimestamp(absl::FromUnixSeconds(kStart) - absl::Hours(48));
  const auto filled = logs.Fetch("tenants/acme", long_ago, kNow);
  ASSERT_THAT(filled, IsOk());
  EXPECT_EQ(filled->logs(0).path(), "train-0.incomplete.log");
  EXPECT_EQ(ParametersOf(loki_.requests()[0])["start"], absl::StrCat((kStart - 82'800) * kSecond));
}

TEST_F(NamedLogsTest, OtherLogsStayAndFilesOfTheServerDoNotMix) {
  const NamedLogs logs = Load();
  v1::Incident incident = Asks("from:site", "j");
  v1::LogSource& own = *incident.add_logs();
  own.set_path("mine.log");
  own.set_content("x\n");
  const auto filled = logs.Fetch("tenants/acme", incident, kNow);
  ASSERT_THAT(filled, IsOk());
  ASSERT_THAT(filled->logs(), SizeIs(2));
  EXPECT_EQ(filled->logs(0).path(), "mine.log");
  incident.add_logs()->set_path("/var/log/x");
  EXPECT_THAT(logs.Fetch("tenants/acme", incident, kNow).status(),
              StatusIs(Code::kInvalidArgument, HasSubstr("use one of them")));
}

}  // namespace named_logs_test
}  // namespace galen::log_sources
