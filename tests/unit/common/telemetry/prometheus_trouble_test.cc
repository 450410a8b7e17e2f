// A real Prometheus that is frozen, killed, or has its own limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/steady.h"
#include "common/host/process.h"
#include "common/telemetry/discovery.h"
#include "common/telemetry/prometheus_client.h"
#include "tests/testing/status_matchers.h"

namespace galen::telemetry {
namespace prometheus_trouble_test {

namespace fs = std::filesystem;

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using Code = absl::StatusCode;

constexpr char kPath[] = "/usr/local/bin:/usr/bin:/bin";
constexpr int kStart = 1'700'000'000;
absl::Time At(int second) { return absl::FromUnixSeconds(kStart + second); }

int FreePort() {
  const int probe = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(probe, reinterpret_cast<sockaddr*>(&address), size), 0);
  getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size);
  close(probe);
  return ntohs(address.sin_port);
}

// A Prometheus of the test's own, with 500 series of an hour. It dies with this, and with the test.
class RealPrometheus {
 public:
  RealPrometheus(const std::string& root, const std::vector<std::string>& flags) {
    port_ = FreePort();
    std::ofstream(root + "/prometheus.yml") << "global: {}\n";
    std::vector<std::string> argv = {"prometheus",
                                     absl::StrCat("--config.file=", root, "/prometheus.yml"),
                                     absl::StrCat("--storage.tsdb.path=", root, "/tsdb"),
                                     "--storage.tsdb.retention.time=100y",
                                     absl::StrCat("--web.listen-address=127.0.0.1:", port_),
                                     "--log.level=error"};
    argv.insert(argv.end(), flags.begin(), flags.end());
    std::vector<char*> words;
    for (std::string& word : argv) words.push_back(word.data());
    words.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      setenv("PATH", kPath, 1);
      execvp(words[0], words.data());
      _exit(127);
    }
    PrometheusClient client = Client();
    const absl::Time end = SteadyNow() + absl::Seconds(60);
    while (!client.Ready({}).ok() && SteadyNow() < end) absl::SleepFor(absl::Milliseconds(20));
    EXPECT_THAT(client.Ready({}), IsOk());
  }
  ~RealPrometheus() {
    Kill(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  // A process that is to stop has stopped when this returns: until then it may still answer.
  void Kill(int number) const {
    kill(pid_, number);
    if (number == SIGSTOP) waitpid(pid_, nullptr, WUNTRACED);
  }
  PrometheusClient Client() const {
    return PrometheusClient({.http = {.server = absl::StrCat("http://127.0.0.1:", port_)}});
  }

 private:
  int port_ = 0;
  pid_t pid_ = -1;
};

class PrometheusTroubleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!host::RunProcess({"promtool", "--version"}, kPath, {}, {}).ok() ||
        !host::RunProcess({"prometheus", "--version"}, kPath, {}, {}).ok())
      GTEST_SKIP() << "prometheus and promtool are not installed (Debian's package prometheus)";
    std::string pattern = absl::StrCat(::testing::TempDir(), "galen_trouble_XXXXXX");
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    std::ofstream out(root_ + "/samples.om");
    out << "# TYPE node_procs_running gauge\n";
    for (int node = 0; node < 500; ++node) {
      for (int t = 0; t <= 3600; t += 60)
        out << "node_procs_running{instance=\"n" << node << ":9100\"} 5 " << kStart + t << "\n";
    }
    out << "# EOF\n";
    out.close();
    const auto made = host::RunProcess({"promtool", "tsdb", "create-blocks-from", "openmetrics",
                                        root_ + "/samples.om", root_ + "/tsdb"},
                                       kPath, {}, {.time = absl::Minutes(1)});
    ASSERT_THAT(made, IsOk());
    ASSERT_EQ(made->exit_code, 0) << made->err;
  }
  void TearDown() override {
    if (!root_.empty()) fs::remove_all(root_);
  }

  absl::StatusOr<Measured> MeasureAll(PrometheusClient& client, const Call& call) {
    const auto rules = LoadRules({GALEN_SOURCE_DIR "/knowledge"});
    EXPECT_THAT(rules, IsOk());
    if (!rules.ok()) return rules.status();
    auto measured = Measure(client, *rules, "runnable_tasks", {At(0), At(3600), absl::Minutes(1)},
                            absl::Minutes(3), call);
    // (The quantity points into rules whose lifetime ends here.)
    if (measured.ok()) measured->quantity = nullptr;
    return measured;
  }

  std::string root_;
};

TEST_F(PrometheusTroubleTest, OneThatIsFrozenIsGivenUpAndAnswersAgainWhenItThaws) {
  const RealPrometheus server(root_, {});
  PrometheusClient client = server.Client();
  ASSERT_THAT(MeasureAll(client, {}), IsOk());
  server.Kill(SIGSTOP);
  Call call;
  call.deadline = SteadyNow() + absl::Milliseconds(300);
  EXPECT_THAT(MeasureAll(client, call).status(),
              StatusIs(Code::kDeadlineExceeded, HasSubstr("Prometheus http://127.0.0.1")));
  Cancellation cancellation;
  Call taken_back;
  taken_back.cancellation = &cancellation;
  std::thread canceller([&] { cancellation.Cancel(); });
  EXPECT_THAT(client.Instant("up", At(0), taken_back).status(), StatusIs(Code::kCancelled, _));
  canceller.join();
  server.Kill(SIGCONT);
  const auto after = MeasureAll(client, {});
  ASSERT_THAT(after, IsOk());
  EXPECT_TRUE(after->complete);
  EXPECT_THAT(after->rows, SizeIs(500));
}

TEST_F(PrometheusTroubleTest, OneThatIsKilledIsUnavailable) {
  const RealPrometheus server(root_, {});
  PrometheusClient client = server.Client();
  ASSERT_THAT(client.Instant("up", At(0), {}), IsOk());
  // It dies while it is asked, and is not there afterwards.
  server.Kill(SIGSTOP);
  std::thread killer([&] { server.Kill(SIGKILL); });
  EXPECT_THAT(client.Instant("up", At(0), {}).status(), StatusIs(Code::kUnavailable, _));
  killer.join();
  EXPECT_THAT(MeasureAll(client, {}).status(),
              StatusIs(Code::kUnavailable, HasSubstr("Prometheus http://127.0.0.1")));
}

TEST_F(PrometheusTroubleTest, ItsOwnLimitOfSamplesIsToldWithWhatToDo) {
  const RealPrometheus server(root_, {"--query.max-samples=1000"});
  PrometheusClient client = server.Client();
  EXPECT_THAT(MeasureAll(client, {}).status(),
              StatusIs(Code::kResourceExhausted,
                       AllOf(HasSubstr("too many samples"),
                             HasSubstr("ask for a shorter range or fewer series"))));
  // Less of it is answered.
  EXPECT_THAT(client.Samples("node_procs_running{instance=\"n1:9100\"}", At(0), At(3600), {}),
              IsOk());
}

TEST_F(PrometheusTroubleTest, ItsOwnTimeoutIsNoEmptyAnswer) {
  const RealPrometheus server(root_, {"--query.timeout=1ms"});
  PrometheusClient client = server.Client();
  EXPECT_THAT(
      client.Instant("sum(count_over_time(node_procs_running[1h:1s]))", At(3600), {}).status(),
      StatusIs(Code::kDeadlineExceeded, AllOf(HasSubstr("Prometheus http://127.0.0.1"),
                                              HasSubstr("shorter range or fewer series"))));
}

TEST_F(PrometheusTroubleTest, MoreThanTheCallerAllowsIsTruncatedAndSaidToBe) {
  const RealPrometheus server(root_, {});
  PrometheusClient client = server.Client();
  Call call;
  call.limits.series = 100;
  const auto few = MeasureAll(client, call);
  ASSERT_THAT(few, IsOk());
  EXPECT_FALSE(few->complete);
  EXPECT_THAT(few->rows, SizeIs(100));
  bool complete = true;
  EXPECT_THAT(*client.LabelValues("instance", "", At(0), At(3600), call, &complete), SizeIs(100));
  EXPECT_FALSE(complete);
  call.limits.bytes = 10'000;
  EXPECT_THAT(MeasureAll(client, call).status(),
              StatusIs(Code::kResourceExhausted, HasSubstr("ask for less at a time")));
}

}  // namespace prometheus_trouble_test
}  // namespace galen::telemetry
