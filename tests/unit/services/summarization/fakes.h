#ifndef TESTS_UNIT_SERVICES_SUMMARIZATION_FAKES_H_
#define TESTS_UNIT_SERVICES_SUMMARIZATION_FAKES_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/log_analysis/scan/scanner.h"
#include "common/reasoner/reasoner.h"

namespace galen::summarization {

// Answers Summarize() with how much it was shown, and every other question with an error.
class FakeReasoner final : public reasoner::Reasoner {
 public:
  explicit FakeReasoner(absl::Status error = absl::OkStatus()) : error_(std::move(error)) {}

  absl::string_view name() const override { return "fake"; }
  absl::StatusOr<reasoner::v1::SummarizeAnswer> Summarize(
      const reasoner::v1::SummarizeQuestion& question, absl::Time) const override {
    if (!error_.ok()) return error_;
    reasoner::v1::SummarizeAnswer answer;
    std::size_t contents = 0;
    for (const galen::v1::LogSource& log : question.incident().logs())
      contents += log.content().size();
    answer.set_text(
        absl::StrCat(question.found().signals_size(), " signals, ", contents, " bytes of logs"));
    answer.set_failure_class("GPU");
    return answer;
  }
  absl::StatusOr<reasoner::v1::RankAnswer> RankChildren(const reasoner::v1::RankQuestion&,
                                                        absl::Time) const override {
    return absl::UnimplementedError("fake");
  }
  absl::StatusOr<reasoner::v1::ScreenAnswer> Screen(const reasoner::v1::ScreenQuestion&,
                                                    absl::Time) const override {
    return absl::UnimplementedError("fake");
  }
  absl::StatusOr<reasoner::v1::HistoryAnswer> ProposeFromHistory(
      const reasoner::v1::HistoryQuestion&, absl::Time) const override {
    return absl::UnimplementedError("fake");
  }
  absl::StatusOr<reasoner::v1::PresumeAnswer> Presume(const reasoner::v1::PresumeQuestion&,
                                                      absl::Time) const override {
    return absl::UnimplementedError("fake");
  }
  absl::StatusOr<reasoner::v1::JudgeAnswer> Judge(const reasoner::v1::JudgeQuestion&,
                                                  absl::Time) const override {
    return absl::UnimplementedError("fake");
  }
  absl::StatusOr<reasoner::v1::CritiqueAnswer> Critique(const reasoner::v1::CritiqueQuestion&,
                                                        absl::Time) const override {
    return absl::UnimplementedError("fake");
  }
  absl::StatusOr<reasoner::v1::ExploreAnswer> Explore(const reasoner::v1::ExploreQuestion&,
                                                      absl::Time) const override {
    return absl::UnimplementedError("fake");
  }
  absl::StatusOr<reasoner::v1::ConcludeAnswer> Conclude(const reasoner::v1::ConcludeQuestion&,
                                                        absl::Time) const override {
    return absl::UnimplementedError("fake");
  }

 private:
  const absl::Status error_;
};

// Goes on by a second each time it is asked.
class TickingClock final : public Clock {
 public:
  absl::Time Now() const override { return now_ += absl::Seconds(1); }

 private:
  mutable absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
};

// Three messages: "Connection refused" (job log), "NVRM: Xid" (kernel log), "slow" (description).
inline std::unique_ptr<const log_scan::Scanner> SmallCatalogue() {
  log_scan::Patterns patterns;
  knowledge::v1::SignalPattern& refused = *patterns.Add();
  refused.set_id("nccl.refused");
  refused.set_pattern("Connection refused");
  refused.add_where(galen::v1::JOB_LOG);
  refused.add_where(galen::v1::DESCRIPTION);
  refused.set_strength(galen::v1::STRONG);
  refused.set_role(galen::v1::PRIMARY);
  refused.add_labels("INTERCONNECT.SOCKET.REFUSED");
  refused.set_meaning("nobody listens there");
  knowledge::v1::SignalPattern& xid = *patterns.Add();
  xid.set_id("xid");
  xid.set_pattern("NVRM: Xid");
  xid.add_where(galen::v1::KERNEL_LOG);
  xid.set_strength(galen::v1::DECISIVE);
  xid.set_role(galen::v1::SECONDARY);
  knowledge::v1::SignalPattern& slow = *patterns.Add();
  slow.set_id("slow");
  slow.set_pattern("slow");
  slow.add_where(galen::v1::DESCRIPTION);
  slow.set_strength(galen::v1::WEAK);
  knowledge::v1::SignalPattern& power = *patterns.Add();
  power.set_id("power");
  power.set_pattern("AC lost");
  power.add_where(galen::v1::TOOL_OUTPUT);
  power.set_strength(galen::v1::STRONG);
  return *log_scan::Scanner::Create(patterns, "");
}

// A directory of the test's own, gone with the object.
class TestDirectory {
 public:
  TestDirectory() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = absl::StrCat(::testing::TempDir(), test->test_suite_name(), "_", test->name());
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
    path_ = std::filesystem::canonical(path_).string();
  }
  ~TestDirectory() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }

  // Writes a file below the directory and returns its path.
  std::string Write(const std::string& name, absl::string_view content) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file.string();
  }

 private:
  std::string path_;
};

}  // namespace galen::summarization

#endif  // TESTS_UNIT_SERVICES_SUMMARIZATION_FAKES_H_
