#include "tests/chaos/promises.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace galen::chaos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using v1::DiagnosisEvent;

// A log that keeps every promise.
std::vector<DiagnosisEvent> Kept() {
  std::vector<DiagnosisEvent> log(4);
  log[0].mutable_created()->set_name("tenants/t/diagnoses/d");
  log[1].mutable_check_completed()->mutable_result()->set_id("gpu.ecc@n1");
  v1::Verdict& verdict = *log[2].mutable_verdicts_given()->add_verdicts();
  verdict.set_label("GPU.MEMORY.ECC");
  verdict.set_outcome(v1::Verdict::CONFIRMED);
  v1::Reason& reason = *verdict.add_reasons();
  reason.add_evidence_ids("gpu.ecc@n1");
  reason.add_evidence_ids("signal/1");
  log[3].mutable_concluded();
  for (std::size_t i = 0; i < log.size(); ++i) log[i].set_sequence(static_cast<int>(i) + 1);
  return log;
}

void Append(std::vector<DiagnosisEvent>& log, DiagnosisEvent event) {
  event.set_sequence(static_cast<int>(log.size()) + 1);
  log.push_back(std::move(event));
}

TEST(Promises, AreKeptByALogThatEndsOnce) { EXPECT_THAT(BrokenPromises(Kept()), IsEmpty()); }

TEST(Promises, AreKeptByALogThatGoesOnAfterAPersonsWord) {
  std::vector<DiagnosisEvent> log = Kept();
  DiagnosisEvent feedback;
  feedback.mutable_feedback_received()->set_text("it is back");
  Append(log, feedback);
  EXPECT_THAT(BrokenPromises(log), ElementsAre(HasSubstr("no end after 5 events")));
  Append(log, log[3]);
  EXPECT_THAT(BrokenPromises(log), IsEmpty());
  feedback.mutable_feedback_received()->set_confirmed_label("GPU.MEMORY.ECC");
  Append(log, feedback);
  EXPECT_THAT(BrokenPromises(log), IsEmpty());
  Append(log, log[1]);
  EXPECT_THAT(BrokenPromises(log), ElementsAre(HasSubstr("after the end"), HasSubstr("twice")));
}

TEST(Promises, AreBrokenByEachOfThese) {
  struct Row {
    std::function<void(std::vector<DiagnosisEvent>&)> harm;
    std::string told;
  };
  const std::vector<Row> rows = {
      {[](auto& log) { log.erase(log.begin() + 1); }, "event 3: is the 2. of the log"},
      {[](auto& log) { log[1] = log[0], log[1].set_sequence(2); }, "event 2: `created` again"},
      {[](auto& log) { log[0].clear_created(); }, "does not begin with `created`"},
      {[](auto& log) { Append(log, log[1]); }, "event 5: after the end"},
      {[](auto& log) { Append(log, log[3]); }, "event 5: a second end"},
      {[](auto& log) { log.pop_back(); }, "no end after 3 events"},
      {[](auto& log) { log.insert(log.begin() + 1, log[1]), log[2].set_sequence(3); },
       "gpu.ecc@n1 finished twice"},
      {[](auto& log) { log[1].mutable_check_completed()->mutable_result()->set_id("other"); },
       "cites gpu.ecc@n1, which no check of this log gave"},
      {[](auto& log) { log[2].mutable_verdicts_given()->mutable_verdicts(0)->clear_reasons(); },
       "the verdict on GPU.MEMORY.ECC cites nothing"},
  };
  for (const Row& row : rows) {
    std::vector<DiagnosisEvent> log = Kept();
    row.harm(log);
    EXPECT_THAT(BrokenPromises(log), ::testing::Contains(HasSubstr(row.told)));
  }
  EXPECT_THAT(BrokenPromises({}), ElementsAre("no end after 0 events"));
}

}  // namespace
}  // namespace galen::chaos
