// Runs the checks on every captured output of ../shared/fixtures, and compares their results with
// the manifest: fixture_table.yaml assigns the checks, and names the exceptions.
#include "fixture_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/knowledge/load.h"
#include "services/node/executor.h"
#include "services/node/registry.h"
#include "tests/testing/host/fake_host.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace {

namespace fs = std::filesystem;
using ::galen::testing::Exception;
using ::galen::testing::FakeHost;
using ::galen::testing::Feed;
using ::galen::testing::Fixture;
using ::galen::testing::FixtureTable;
using ::galen::testing::IsOk;
using galen::v1::CheckResult;
using ::testing::HasSubstr;

const std::string kFixtures = std::string(GALEN_SOURCE_DIR) + "/../shared/fixtures/";
const std::string kTable = std::string(GALEN_SOURCE_DIR) + "/tests/integration/fixture_table.yaml";

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// Gives every caller the same machine.
class OneHost final : public HostSource {
 public:
  explicit OneHost(std::shared_ptr<const host::Host> host) : host_(std::move(host)) {}
  absl::StatusOr<std::shared_ptr<const host::Host>> Open(
      const std::string& /*bundle*/, const std::string& /*node*/,
      std::shared_ptr<const Cancellation> /*cancelled*/) const override {
    return host_;
  }
  const std::string& name() const override { return host_->name(); }

 private:
  const std::shared_ptr<const host::Host> host_;
};

const std::shared_ptr<const knowledge::Knowledge>& TheKnowledge() {
  static const std::shared_ptr<const knowledge::Knowledge> knowledge = [] {
    const std::vector<std::string> directories = {std::string(GALEN_SOURCE_DIR) + "/knowledge"};
    return knowledge::Load(directories, {}).value();
  }();
  return knowledge;
}

// The result of all checks on a fixture.
struct Verdict {
  std::string word;  // PASS, FAIL, SKIPPED, ERROR
  std::string said;  // by check: its findings
};

void PutTree(const std::string& from, const std::string& to, host::View view, FakeHost& host) {
  for (const auto& file : fs::recursive_directory_iterator(from)) {
    if (file.is_regular_file()) {
      host.AddFile(to + file.path().string().substr(from.size()), ReadText(file.path().string()),
                   view);
    }
  }
}

std::shared_ptr<FakeHost> MachineWith(const Fixture& fixture, const Feed& feed) {
  auto host = std::make_shared<FakeHost>();
  const host::View view = feed.in_job ? host::View::kJob : host::View::kHost;
  for (const auto& [command, output] : feed.with) host->AddCommand(command, output, 0, "", view);
  for (const auto& [path, content] : feed.with_files) host->AddFile(path, content, view);
  const std::string source = kFixtures + fixture.path;
  if (!feed.tree.empty()) {
    PutTree(source.substr(0, source.size() - 1), feed.tree, view, *host);
    return host;
  }
  if (feed.is_log && source.back() == '/') {
    for (const auto& file : fs::directory_iterator(source)) {
      host->AddLogFile({.name = file.path().filename().string(),
                        .path = file.path().string(),
                        .node = host->name(),
                        .kind = "job"});
    }
    return host;
  }
  const std::string text = ReadText(source);
  if (!feed.command.empty()) host->AddCommand(feed.command, text, 0, "", view);
  if (!feed.file.empty()) host->AddFile(feed.file, text, view);
  if (feed.is_log) {
    host->AddLogFile({.name = fixture.path, .path = source, .node = host->name(), .kind = "job"});
  }
  if (feed.snapshot) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_object()) {
      for (const auto& [path, content] : json.items()) {
        if (!content.is_string()) continue;
        host->AddFile(path, content.get<std::string>(), view);
        // The same device by its class, as sysfs links it.
        if (const std::size_t at = path.find("/infiniband/"); at != std::string::npos) {
          host->AddFile("/sys/class" + path.substr(at), content.get<std::string>(), view);
        }
      }
      if (json.contains("intf_status")) {
        host->AddCommand("ip -j -s link show", json["intf_status"].dump(), 0, "", view);
      }
    }
  }
  return host;
}

// The worst of all: one abnormal finding makes a fixture FAIL, and a PASS takes precedence over
// SKIPPED.
int Rank(CheckResult::Status status) {
  switch (status) {
    case CheckResult::ERROR:
      return 3;
    case CheckResult::FAIL:
      return 2;
    case CheckResult::PASS:
      return 1;
    default:
      return 0;
  }
}

Verdict Judge(const Fixture& fixture, const Feed& feed) {
  const OneHost hosts(MachineWith(fixture, feed));
  const NodeExecutor executor(hosts, TheKnowledge(), AllChecks(), {.max_parallel = 1});
  v1::RunChecksRequest request;
  for (const std::string& check : feed.checks) request.add_checks(check);
  request.set_allow_intrusive(true);  // No program runs on a machine made of text.
  CheckResult::Status worst = CheckResult::SKIPPED;
  std::vector<std::string> said;
  const absl::Status status =
      executor.RunChecks(request, absl::Now() + absl::Minutes(2), [&](const CheckResult& result) {
        if (Rank(result.status()) > Rank(worst)) worst = result.status();
        std::set<std::string> abnormal;
        for (const auto& finding : result.findings()) {
          if (finding.abnormal()) abnormal.insert(finding.name());
        }
        said.push_back(
            absl::StrCat(result.check(), " ", CheckResult::Status_Name(result.status()), ": ",
                         abnormal.empty() ? result.message() : absl::StrJoin(abnormal, " ")));
      });
  EXPECT_THAT(status, IsOk());
  return {CheckResult::Status_Name(worst), absl::StrJoin(said, "; ")};
}

// The verdict for the manifest's state; empty if it does not ask for one.
std::string Expected(const Fixture& fixture) {
  if (absl::StartsWith(fixture.state, "healthy")) return "PASS";
  if (absl::StartsWith(fixture.state, "faulty")) return "FAIL";
  return "";
}

const Exception* ExceptionOf(const FixtureTable& table, const std::string& path) {
  for (const Exception& exception : table.exceptions) {
    if (testing::Matches(exception.path, path)) return &exception;
  }
  return nullptr;
}

class Fixtures : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kFixtures)) GTEST_SKIP() << kFixtures << " is not here";
    auto table = testing::ParseFixtureTable(ReadText(kTable), "fixture_table.yaml");
    ASSERT_THAT(table, IsOk());
    table_ = *std::move(table);
    fixtures_ = testing::ParseFixtureManifest(ReadText(kFixtures + "MANIFEST.tsv"));
    ASSERT_GT(fixtures_.size(), 300u);
  }

  FixtureTable table_;
  std::vector<Fixture> fixtures_;
};

TEST_F(Fixtures, EachIsReadByACheckOrNamedAsUnread) {
  for (const Fixture& fixture : fixtures_) {
    int feeds = 0;
    int unread = 0;
    for (const Feed& feed : table_.feeds) feeds += int{testing::Matches(feed.files, fixture.path)};
    for (const auto& entry : table_.unread) {
      unread += int{testing::Matches(entry.files, fixture.path)};
    }
    EXPECT_EQ(feeds > 0, unread == 0)
        << fixture.path << ": " << feeds << " feeds, " << unread << " entries under unread";
  }
}

TEST_F(Fixtures, EveryLineOfTheTableMatchesSomething) {
  const auto matches = [&](const std::string& glob) {
    for (const Fixture& fixture : fixtures_) {
      if (testing::Matches(glob, fixture.path)) return true;
    }
    return false;
  };
  for (const Feed& feed : table_.feeds) {
    EXPECT_TRUE(matches(feed.files)) << feed.files;
    for (const std::string& check : feed.checks) {
      EXPECT_NE(TheKnowledge()->FindCheck(check), nullptr) << check << " of " << feed.files;
    }
  }
  for (const Exception& exception : table_.exceptions) {
    EXPECT_TRUE(matches(exception.path)) << exception.path;
  }
  for (const auto& unread : table_.unread) EXPECT_TRUE(matches(unread.files)) << unread.files;
}

// Prints the results of the checks, the manifest's state, and the outcome; then the unread
// fixtures.
TEST_F(Fixtures, TheVerdictIsTheManifests) {
  int agree = 0;
  int excepted = 0;
  int open = 0;  // the manifest says neither healthy nor faulty
  std::set<std::string> used;
  for (const Feed& feed : table_.feeds) {
    for (const Fixture& fixture : fixtures_) {
      if (!testing::Matches(feed.files, fixture.path)) continue;
      const Verdict verdict = Judge(fixture, feed);
      const std::string expected = Expected(fixture);
      const Exception* const exception = ExceptionOf(table_, fixture.path);
      std::string outcome = "DIFFERS";
      if (exception != nullptr) {
        outcome = verdict.word == exception->verdict ? "exception: " + exception->why : outcome;
        excepted += int{verdict.word == exception->verdict};
        used.insert(exception->path);
        EXPECT_NE(verdict.word, expected) << fixture.path << ": agrees; drop the exception";
        EXPECT_EQ(verdict.word, exception->verdict) << fixture.path << "\n  " << verdict.said;
      } else if (expected.empty()) {
        outcome = "open";
        ++open;
        EXPECT_TRUE(verdict.word == "PASS" || verdict.word == "FAIL")
            << fixture.path << "\n  " << verdict.said;
      } else {
        outcome = verdict.word == expected ? "agree" : outcome;
        agree += int{verdict.word == expected};
        EXPECT_EQ(verdict.word, expected) << fixture.path << " (" << fixture.state << "; "
                                          << fixture.nature << ")\n  " << verdict.said;
      }
      std::cout << fixture.path << " | " << absl::StrJoin(feed.checks, " ") << " | " << verdict.word
                << " | " << fixture.state << " | " << outcome << '\n';
    }
  }
  for (const Exception& exception : table_.exceptions) {
    EXPECT_TRUE(used.contains(exception.path)) << exception.path << ": excepts nothing";
  }
  int unread = 0;
  for (const auto& entry : table_.unread) {
    int files = 0;
    for (const Fixture& fixture : fixtures_) {
      files += int{testing::Matches(entry.files, fixture.path)};
    }
    unread += files;
    std::cout << "not read: " << entry.files << " (" << files << "): " << entry.why << '\n';
  }
  std::cout << fixtures_.size() << " fixtures: " << agree << " agree, " << excepted
            << " exceptions, " << open << " of which the manifest says neither, " << unread
            << " not read\n";
}

}  // namespace
}  // namespace galen::node
