// Claims about lines that nothing of the catalogue knows.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/common/log_analysis/triage/triage_testing.h"

namespace galen::triage {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Some 45 bytes each.
std::string Ordinary(int lines, const char* prefix = "") {
  std::string text;
  for (int i = 0; i < lines; ++i) {
    absl::StrAppend(&text, prefix, "loader ", i % 8, " fetched shard ", i, " of 99999 at ease\n");
  }
  return text;
}

std::vector<std::string> TextsOf(const JobReport& report) {
  std::vector<std::string> texts;
  for (const Lead& lead : report.leads) texts.push_back(lead.text);
  return texts;
}

TEST(StrangeLines, WhatIsNewAtTheEndIsALeadAndWhatIsOrdinaryIsNot) {
  const JobReport report = TriageOf(absl::StrCat(
      Ordinary(5000), "2026-05-01 12:00:00 the glue of frame 3 came off\n", Ordinary(4)));
  ASSERT_THAT(TextsOf(report), ElementsAre("<*> <*> the glue of frame <*> came off"));
  const Lead& lead = report.leads[0];
  EXPECT_EQ(lead.first.log, "train.log");
  EXPECT_EQ(lead.first.line, 5001);
  EXPECT_EQ(lead.first.time, At("2026-05-01T12:00:00Z"));
  EXPECT_EQ(lead.first.text, "2026-05-01 12:00:00 the glue of frame 3 came off");
  EXPECT_EQ(lead.count, 1);
  EXPECT_THAT(lead.why, ElementsAre("4 lines before the end of its log", "once"));
  // It is not a failure.
  EXPECT_FALSE(report.primary.has_value());
  EXPECT_EQ(report.decision.status, Status::kUnknown);
}

TEST(StrangeLines, WhatIsNearTheFailureIsALead) {
  const JobReport report = TriageOf(absl::StrCat(
      Ordinary(5000), "the glue came off\n", Ordinary(2),
      "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
      Ordinary(300)));
  EXPECT_EQ(PrimaryOf(report), "gpu_oom");
  ASSERT_THAT(TextsOf(report), ElementsAre("the glue came off"));
  EXPECT_THAT(report.leads[0].why, Contains("3 lines before the failure"));
}

TEST(StrangeLines, WhatOneRankAloneSaysIsALead) {
  const std::string same = absl::StrCat(Ordinary(5000), "goodbye for now\n");
  const JobReport report =
      TriageOf({{"rank-0.log", same},
                {"rank-1.log",
                 absl::StrCat(Ordinary(5000), "ouch\nouch\n", Ordinary(50), "goodbye for now\n")},
                {"rank-2.log", same}});
  EXPECT_THAT(report.leads, Contains(AllOf(Field(&Lead::text, "ouch"), Field(&Lead::count, 2),
                                           Field(&Lead::writers, 1),
                                           Field(&Lead::why, Contains("only rank 1")))));
}

TEST(StrangeLines, WhatIsKnownIsNone) {
  const JobReport report = TriageOf(
      "2026-05-01 12:00:00 completed step: 0, seconds: 60.0, Tokens/s/device: 3000.0, loss: 2.0\n"
      "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n");
  EXPECT_THAT(report.leads, IsEmpty());
}

TEST(StrangeLines, TheyDoNotDependOnHowTheLogIsTruncated) {
  const std::string text = absl::StrCat(Ordinary(4000), "a b c came off\n", Ordinary(2),
                                        "d e f came off\n", Ordinary(90), "and the end");
  const JobReport whole = TriageOf({{"train.log", text}});
  const JobReport cut = TriageOf({{"train.log", text}}, {}, 997);
  EXPECT_THAT(TextsOf(whole), Contains("and the end"));
  ASSERT_EQ(TextsOf(whole), TextsOf(cut));
  for (std::size_t i = 0; i < whole.leads.size(); ++i) {
    EXPECT_EQ(whole.leads[i].first.line, cut.leads[i].first.line);
    EXPECT_EQ(whole.leads[i].count, cut.leads[i].count);
  }
}

TEST(StrangeLines, OfAnyNumberOfThemTheLikeliestAreShown) {
  std::string text;
  std::uint32_t random = 1;
  for (int i = 0; i < 50'000; ++i) {
    // No word comes twice, but the colour.
    for (int k = 0; k < 4; ++k) {
      for (int letter = 0; letter < 10; ++letter) {
        random = random * 1664525 + 1013904223;
        text += static_cast<char>('g' + (random >> 24) % 20);
      }
      text += ' ';
    }
    text += "\x1b[31m\xff\n";
  }
  const JobReport report = TriageOf(text);
  EXPECT_THAT(report.leads, SizeIs(JobReport::kMostLeads));
  for (const std::string& lead : TextsOf(report)) EXPECT_THAT(lead, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace galen::triage
