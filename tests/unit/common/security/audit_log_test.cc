#include "common/security/audit/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::security {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

class AuditLogTest : public ::testing::Test {
 protected:
  AuditLogTest() : directory_(::testing::TempDir() + "/galen-audit-XXXXXX") {
    if (mkdtemp(directory_.data()) == nullptr) abort();
  }
  ~AuditLogTest() override { std::filesystem::remove_all(directory_); }
  std::string path() const { return directory_ + "/audit.jsonl"; }
  static std::vector<nlohmann::json> Lines(const std::string& path) {
    std::vector<nlohmann::json> lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
  static AuditRecord Record(const std::string& resource) {
    return {absl::FromUnixSeconds(0),
            "",
            "spiffe://d/galen/gateway",
            "ipv4:127.0.0.1:1",
            "/s/M",
            resource,
            "OK",
            ""};
  }
  std::string directory_;
};

TEST_F(AuditLogTest, AppendsALineForEachCallAndKeepsWhatWasThere) {
  for (const char* resource : {"tenants/a", "tenants/b"}) {
    const auto log = AuditLog::Open(path());
    ASSERT_THAT(log, IsOk());
    (*log)->Put(Record(resource));
  }
  const auto lines = Lines(path());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["time"], "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(lines[0]["peer"], "spiffe://d/galen/gateway");
  EXPECT_EQ(lines[0]["method"], "/s/M");
  EXPECT_EQ(lines[0]["resource"], "tenants/a");
  EXPECT_EQ(lines[0]["outcome"], "OK");
  EXPECT_FALSE(lines[0].contains("reason"));
  EXPECT_EQ(lines[1]["resource"], "tenants/b");
  struct stat found {};
  ASSERT_EQ(stat(path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

TEST_F(AuditLogTest, WhatAStrangerWroteStaysOneBoundedField) {
  {
    const auto log = AuditLog::Open(path());
    ASSERT_THAT(log, IsOk());
    (*log)->Put(Record("x\n{\"peer\":\"forged\"}\xff\x01" + std::string(100'000, 'y')));
  }
  EXPECT_LT(std::filesystem::file_size(path()), 2000u);
  const auto lines = Lines(path());
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["peer"], "spiffe://d/galen/gateway");
  EXPECT_THAT(std::string(lines[0]["resource"]), HasSubstr("x\n{\"peer\":\"forged\"}"));
}

TEST_F(AuditLogTest, EveryRecordOfManyThreadsIsALineOrIsCountedAsLost) {
  constexpr int kThreads = 4;
  constexpr int kEach = 10'000;
  {
    const auto log = AuditLog::Open(path());
    ASSERT_THAT(log, IsOk());
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&log] {
        for (int i = 0; i < kEach; ++i) (*log)->Put(Record("tenants/a"));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::int64_t seen = 0;
  for (const auto& line : Lines(path())) {
    seen += line.contains("lost") ? line["lost"].get<std::int64_t>() : 1;
  }
  EXPECT_EQ(seen, kThreads * kEach);
}

TEST_F(AuditLogTest, GoesOnInANewFileWhenTheOldOneWasMovedAway) {
  const auto log = AuditLog::Open(path());
  ASSERT_THAT(log, IsOk());
  std::filesystem::rename(path(), path() + ".1");
  (*log)->Put(Record("tenants/a"));
  while (!std::filesystem::exists(path()) || std::filesystem::file_size(path()) == 0) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(Lines(path() + ".1").empty());
  EXPECT_EQ(Lines(path()).size(), 1u);
}

TEST_F(AuditLogTest, AFileThatCannotBeOpenedIsNamed) {
  EXPECT_THAT(AuditLog::Open(directory_ + "/none/audit"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none/audit")));
}

}  // namespace
}  // namespace galen::security
