// Tools that misbehave in every way we know, run for real through the node executor: each of them
// is an ERROR within its limit, the others go on, and nothing of them is left running.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/host/live_host.h"
#include "services/node/executor.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using galen::v1::CheckResult;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The content of a file; if its process ends meanwhile, the part read until then.
std::string Content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// This machine, reads of files cut short.
class ThisMachine final : public HostSource {
 public:
  absl::StatusOr<std::shared_ptr<const host::Host>> Open(
      const std::string&, const std::string&,
      std::shared_ptr<const Cancellation> cancelled) const override {
    host::LiveHost::Options options;
    options.name = name_;
    options.read_time = absl::Seconds(5);
    options.cancelled = std::move(cancelled);
    return std::make_shared<host::LiveHost>(std::move(options));
  }
  const std::string& name() const override { return name_; }

 private:
  const std::string name_ = "n1";
};

class HostileToolsTest : public ::testing::Test {
 protected:
  HostileToolsTest() {
    std::string name = (std::filesystem::temp_directory_path() / "galen-hostile-XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }
  ~HostileToolsTest() override {
    EXPECT_THAT(Alive(), IsEmpty());
    std::filesystem::remove_all(directory_);
  }

  // The tool is a script in the test's own directory, which marks all its descendants: a process
  // with the directory in its arguments or in its environment is one of them.
  knowledge::v1::ExecSpec& AddTool(const std::string& name, const std::string& script) {
    const std::filesystem::path path = directory_ / name;
    std::ofstream(path) << "#!/bin/sh\nexport GALEN_TEST_TOOL=" << directory_.string() << "\ncd "
                        << directory_.string() << "\n"
                        << script << "\n";
    chmod(path.c_str(), 0755);
    knowledge::v1::Check& check = *base_.add_checks();
    check.set_name(absl::StrCat("t.", name));
    check.set_kind(knowledge::v1::Check::EXEC);
    check.mutable_exec()->add_argv(path.string());
    check.mutable_exec()->mutable_time_limit()->set_seconds(20);
    check.mutable_exec()->set_output("json_lines");
    check.mutable_exec()->set_output_limit_bytes(1 << 16);
    AddFinding(check);
    return *check.mutable_exec();
  }
  static void AddFinding(knowledge::v1::Check& check) {
    knowledge::v1::FindingSpec& finding = *check.add_findings();
    finding.set_name("good");
    finding.set_type("bool");
    finding.set_pattern(".");
  }

  // Processes, zombies aside, that a tool of this test started.
  std::vector<std::string> Alive() const {
    std::vector<std::string> alive;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
      const std::string pid = entry.path().filename();
      if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
      if (pid == std::to_string(getpid())) continue;
      const std::string text =
          absl::StrCat(Content(entry.path() / "cmdline"), Content(entry.path() / "environ"));
      if (!absl::StrContains(text, directory_.string())) continue;
      if (!absl::StrContains(Content(entry.path() / "stat"), ") Z ")) alive.push_back(pid);
    }
    return alive;
  }

  absl::Status Run(std::map<std::string, CheckResult>& results,
                   const Cancellation& cancelled = Cancellation::Never(),
                   absl::Time deadline = absl::InfiniteFuture()) {
    v1::RunChecksRequest request;
    for (const knowledge::v1::Check& check : base_.checks()) request.add_checks(check.name());
    const NodeExecutor executor(hosts_, std::make_shared<const knowledge::Knowledge>(base_), {},
                                {.max_parallel = 16, .check_timeout = absl::Seconds(20)});
    return executor.RunChecks(
        request, deadline, [&](CheckResult result) { results[result.check()] = std::move(result); },
        cancelled);
  }

  ThisMachine hosts_;
  std::filesystem::path directory_;
  knowledge::v1::KnowledgeBase base_;
};

constexpr char kGood[] = R"(echo '{"finding": "good", "value": true}')";

TEST_F(HostileToolsTest, EachIsAnErrorAndTheOthersGoOn) {
  AddTool("good", kGood);
  AddTool("endless", R"(while :; do echo '{"finding": "good", "value": true}'; done)");
  AddTool("zeros", "cat /dev/zero");
  AddTool("gigabytes_of_errors", "yes >&2");
  AddTool("no_utf8", R"(printf '{"message": "\377\376"}\n')");
  AddTool("binary", "head -c 20000 /dev/urandom");
  AddTool("deep", "head -c 15000 /dev/zero | tr '\\0' '['");
  AddTool("long_line", "head -c 60000 /dev/zero | tr '\\0' 'a'");
  AddTool("dies", "kill -SEGV $$");
  AddTool("silent", "");
  AddTool("lies", R"(echo '{"finding": "other", "value": true}')");
  AddTool("ignores_sigterm",
          "trap '' TERM INT HUP; (trap '' TERM; while :; do sleep 1000; done) & "
          "while :; do sleep 1000; done")
      .mutable_time_limit()
      ->set_seconds(1);
  AddTool("own_session", "setsid -f sh -c 'trap \"\" TERM; sleep 1000; :'; sleep 1000; :")
      .mutable_time_limit()
      ->set_seconds(1);
  // It doubles ten times and no more: were the limit broken, this test must not take the machine.
  AddTool(
      "fork_bomb",
      "bomb() { [ $1 = 0 ] || { bomb $(($1-1)) & bomb $(($1-1)) & }; sleep 20; }; bomb 10; wait")
      .set_process_limit(30);
  AddTool("leaves_a_daemon", absl::StrCat("setsid -f sleep 1000; sleep 1000 & ", kGood));
  knowledge::v1::Check& reads = *base_.add_checks();
  reads.set_name("t.blocking_read");
  reads.set_kind(knowledge::v1::Check::EXTRACT);
  mkfifo((directory_ / "fifo").c_str(), 0600);
  reads.set_file((directory_ / "fifo").string());
  AddFinding(reads);

  std::map<std::string, CheckResult> results;
  ASSERT_THAT(Run(results), IsOk());
  ASSERT_EQ(results.size(), static_cast<std::size_t>(base_.checks_size()));
  for (const auto& [name, result] : results) {
    const bool sound = name == "t.good" || name == "t.leaves_a_daemon";
    // A FIFO is refused outright, as no regular file.
    const CheckResult::Status expected = sound                       ? CheckResult::PASS
                                         : name == "t.blocking_read" ? CheckResult::SKIPPED
                                                                     : CheckResult::ERROR;
    EXPECT_EQ(result.status(), expected) << name << ": " << result.message();
    EXPECT_LE(result.message().size(), 1024u + 3) << name;
    EXPECT_LE(result.excerpt().size(), 4096u + 3) << name;
  }
  EXPECT_THAT(results["t.endless"].message(), HasSubstr("more than it may"));
  EXPECT_THAT(results["t.gigabytes_of_errors"].message(), HasSubstr("more than it may"));
  EXPECT_THAT(results["t.no_utf8"].message(), HasSubstr("line 1 is not UTF-8"));
  EXPECT_THAT(results["t.dies"].message(), HasSubstr("exit code 139"));
  EXPECT_THAT(results["t.ignores_sigterm"].message(), HasSubstr("within 1s"));
  EXPECT_THAT(results["t.fork_bomb"].message(), HasSubstr("more than 30"));
  EXPECT_THAT(Alive(), IsEmpty());
}

TEST_F(HostileToolsTest, ACallThatIsCancelledLeavesNothing) {
  // It says that it runs by a file, and hides its children in sessions of their own.
  const char* const script =
      "trap '' TERM INT HUP; setsid -f sh -c 'trap \"\" TERM; sleep 1000; :'; "
      "(trap '' TERM; sleep 1000; :) & touch ready.$$; sleep 1000; :";
  for (const char* const name : {"a", "b", "c"}) AddTool(name, script);
  Cancellation cancelled;
  absl::Time begin;
  std::thread canceller([&] {
    const auto ready = [&] {
      int count = 0;
      for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
        count += absl::StartsWith(entry.path().filename().string(), "ready.") ? 1 : 0;
      }
      return count;
    };
    while (ready() < 3) std::this_thread::yield();
    begin = absl::Now();
    cancelled.Cancel();
  });
  std::map<std::string, CheckResult> results;
  EXPECT_THAT(Run(results, cancelled), StatusIs(absl::StatusCode::kCancelled, HasSubstr("away")));
  canceller.join();
  while (!Alive().empty()) std::this_thread::yield();
  RecordProperty("kill_ms", static_cast<int>(absl::ToInt64Milliseconds(absl::Now() - begin)));
  EXPECT_THAT(results, IsEmpty());
}

TEST_F(HostileToolsTest, ACallsDeadlineLeavesNothing) {
  AddTool("a", "setsid -f sleep 1000; sleep 1000; :");
  std::map<std::string, CheckResult> results;
  EXPECT_THAT(Run(results, Cancellation::Never(), absl::Now() + absl::Milliseconds(300)), IsOk());
  EXPECT_EQ(results["t.a"].status(), CheckResult::ERROR);
  EXPECT_THAT(results["t.a"].message(), HasSubstr("before the call's deadline"));
  while (!Alive().empty()) std::this_thread::yield();
}

}  // namespace
}  // namespace galen::node
