#ifndef TESTS_UNIT_COMMON_LOG_ANALYSIS_TRIAGE_TRIAGE_TESTING_H_
#define TESTS_UNIT_COMMON_LOG_ANALYSIS_TRIAGE_TRIAGE_TESTING_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/knowledge/knowledge.h"
#include "common/knowledge/load.h"
#include "common/log_analysis/triage/job_triage.h"
#include "common/log_analysis/triage/signatures.h"
#include "gtest/gtest.h"

namespace galen::triage {

// The signatures and the catalogue that ship.
inline const Signatures& RealSignatures() {
  static const auto* const signatures = [] {
    std::vector<knowledge::Problem> problems;
    auto base = knowledge::Parse(
        std::vector<std::string>{absl::StrCat(GALEN_SOURCE_DIR, "/knowledge/checks")}, problems);
    return new Signatures(SignaturesOf(
        knowledge::Knowledge(base.ok() ? *std::move(base) : knowledge::v1::KnowledgeBase())));
  }();
  return *signatures;
}

inline const CompiledCatalogue& RealCatalogue() {
  static const CompiledCatalogue* const compiled = [] {
    auto catalogue =
        LoadCatalogue(std::vector<std::string>{absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")});
    EXPECT_TRUE(catalogue.ok()) << catalogue.status();
    auto made = CompiledCatalogue::Create(*std::move(catalogue), RealSignatures(),
                                          knowledge::DefaultCacheDirectory());
    EXPECT_TRUE(made.ok()) << made.status();
    return made->release();
  }();
  return *compiled;
}

inline absl::Time At(const char* text) {
  absl::Time time;
  std::string why;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &time, &why)) << why;
  return time;
}

// The report on logs, each a name and a text, fed in pieces of `piece` bytes.
inline JobReport TriageOf(const std::vector<std::pair<std::string, std::string>>& logs,
                          TriageOptions options = {}, std::size_t piece = 1 << 20) {
  JobTriage job(RealCatalogue(), options);
  for (const auto& [name, text] : logs) {
    job.BeginLog(name);
    for (std::size_t at = 0; at < text.size(); at += piece) {
      job.Feed(absl::string_view(text).substr(at, piece));
    }
    job.EndLog();
  }
  return job.Finish();
}

inline JobReport TriageOf(const std::string& text, TriageOptions options = {}) {
  return TriageOf({{"train.log", text}}, options);
}

inline std::string PrimaryOf(const JobReport& report) {
  return report.primary.has_value() ? report.primary->name : "";
}

inline std::vector<std::string> OthersOf(const JobReport& report) {
  std::vector<std::string> names;
  for (const Shown& shown : report.others) names.push_back(shown.name);
  return names;
}

}  // namespace galen::triage

#endif  // TESTS_UNIT_COMMON_LOG_ANALYSIS_TRIAGE_TRIAGE_TESTING_H_
