#include "bench/eval/corpus/leave_out.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::eval {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Incidents = google::protobuf::RepeatedPtrField<knowledge::v1::PastIncident>;

constexpr char kTicket[] =
    "Training stops after an hour with an NCCL timeout on rank seven. The other ranks wait in an "
    "all-reduce until the watchdog ends them. We changed the cable and the switch port.";
constexpr char kOther[] =
    "The inference server answers slowly since the last driver update. Half of the cards run at "
    "a lower clock than before although they are cool and have power to spare.";

knowledge::v1::PastIncident Past(const std::string& id, const std::string& text,
                                 const std::string& reference = "",
                                 const std::string& label = "GPU.X.Y") {
  knowledge::v1::PastIncident incident;
  incident.set_id(id);
  incident.set_description(text);
  incident.set_reference(reference);
  incident.set_label(label);
  return incident;
}

v1::Case ACase() {
  v1::Case a_case;
  a_case.set_id("real-1");
  a_case.set_source("https://github.com/a/b/issues/17");
  a_case.set_description(kTicket);
  a_case.add_labels("GPU.X.Y");
  return a_case;
}

std::vector<std::string> Ids(const Incidents& incidents) {
  std::vector<std::string> ids;
  for (const auto& incident : incidents) ids.push_back(incident.id());
  return ids;
}

TEST(LeaveOut, TheCaseItselfIsNotInItsHistory) {
  Incidents history;
  *history.Add() = Past("real-1", kOther);
  *history.Add() = Past("real-2", kOther);
  const std::vector<LeftOut> left_out = LeaveOut(ACase(), kTicket, {}, history);
  EXPECT_THAT(Ids(history), ElementsAre("real-2"));
  ASSERT_EQ(left_out.size(), 1);
  EXPECT_EQ(left_out[0].id, "real-1");
}

TEST(LeaveOut, NeitherIsAnotherReportOfTheSameThread) {
  Incidents history;
  *history.Add() = Past("x", kOther, "http://www.github.com/A/B/issues/17/#issuecomment-9");
  *history.Add() = Past("y", kOther, "https://github.com/a/b/issues/170");
  const std::vector<LeftOut> left_out = LeaveOut(ACase(), kTicket, {}, history);
  EXPECT_THAT(Ids(history), ElementsAre("y"));
  ASSERT_EQ(left_out.size(), 1);
  EXPECT_THAT(left_out[0].reason, HasSubstr("source"));
}

TEST(LeaveOut, NeitherIsTheSameTextUnderAnotherIdAndSource) {
  Incidents history;
  *history.Add() = Past("copy", std::string("Urgent! ") + kTicket + " Please help.");
  *history.Add() = Past("far", kOther);
  LeaveOut(ACase(), "another wording that the bundle has for it", {}, history);
  EXPECT_THAT(Ids(history), ElementsAre("far"));
}

TEST(LeaveOut, TheWordingOfTheTicketCountsAsMuchAsThatOfTheRecord) {
  Incidents history;
  *history.Add() = Past("copy", kOther);
  const v1::Case a_case = ACase();
  LeaveOut(a_case, kOther, {}, history);
  EXPECT_THAT(Ids(history), IsEmpty());
}

TEST(LeaveOut, AnIncidentWithoutASourceIsNotTheSameAsAnotherWithoutOne) {
  Incidents history;
  *history.Add() = Past("x", kOther, "");
  v1::Case a_case = ACase();
  a_case.clear_source();
  LeaveOut(a_case, kTicket, {}, history);
  EXPECT_THAT(Ids(history), ElementsAre("x"));
}

TEST(LeaveOut, HiddenLabelsLeaveNoIncidentOfTheirs) {
  Incidents history;
  *history.Add() = Past("x", kOther, "", "GPU.X.Y");
  *history.Add() = Past("y", kOther, "", "GPU.X.Z");
  LeaveOut(ACase(), kTicket, {"GPU.X.Y"}, history);
  EXPECT_THAT(Ids(history), ElementsAre("y"));
}

TEST(Overlap, IsOneForTheSameTextAndSmallForStrangers) {
  EXPECT_DOUBLE_EQ(Overlap(kTicket, kTicket), 1);
  EXPECT_LT(Overlap(kTicket, kOther), 0.1);
}

TEST(Overlap, LooksAtNeitherCaseNorPunctuation) {
  EXPECT_DOUBLE_EQ(Overlap("One, two three four five six seven eight!",
                           "one two THREE four five, six seven eight"),
                   1);
}

TEST(Overlap, AFewWordsTellNothing) {
  EXPECT_DOUBLE_EQ(Overlap("training is slow", "training is slow"), 0);
}

TEST(SourcePage, IsTheSameForEveryWayToNameAThread) {
  const char* const kSame[] = {"https://github.com/a/b/issues/1",
                               "http://github.com/A/b/issues/1/",
                               "https://www.github.com/a/b/issues/1#issuecomment-5",
                               " https://github.com/a/b/issues/1?x=y#z",
                               "https://github.com/a/b/pull/1",
                               "A/b#1",
                               "a/b#1 (comment of 2025-07-30)"};
  for (const char* address : kSame) {
    EXPECT_EQ(SourcePage(address), "github.com/a/b#1") << address;
  }
  EXPECT_EQ(SourcePage("https://forum.example.org/t/17/#post-3"), "forum.example.org/t/17");
}

TEST(SourcePage, DiffersForTwoThreadsOfOneRepositoryOrForum) {
  EXPECT_NE(SourcePage("a/b#1"), SourcePage("a/b#12"));
  EXPECT_NE(SourcePage("https://github.com/a/b/issues/1"),
            SourcePage("https://github.com/a/b/issues/12"));
  EXPECT_NE(SourcePage("https://forum.example.org/topic.php?t=1"),
            SourcePage("https://forum.example.org/topic.php?t=2"));
}

}  // namespace
}  // namespace galen::eval
