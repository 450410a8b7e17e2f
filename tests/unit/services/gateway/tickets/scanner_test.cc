// Concluded diagnoses become due, also those that concluded while no scanner ran.
#include "services/gateway/tickets/scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/tickets/ticket_world.h"

namespace galen::gateway::tickets {
namespace {

using ::galen::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ScannerTest : public ::testing::Test {
 protected:
  ScannerTest() { site_.targets.push_back(TargetOf("jira")); }

  std::unique_ptr<Scanner> NewScanner(const std::string& owner) {
    return std::make_unique<Scanner>(store_->events(), store_->records(), site_, clock_, owner);
  }
  // One look of a scanner, a second later.
  void Scan(Scanner& scanner) {
    clock_.Advance(absl::Seconds(1));
    ASSERT_THAT(scanner.Scan(), IsOk());
  }
  void Create(const std::string& name) {
    galen::v1::DiagnosisEvent event;
    event.mutable_created()->set_name(name);
    *event.mutable_event_time() = ToTimestamp(clock_.Now());
    ASSERT_THAT(store_->events().Create(event).status(), IsOk());
    last_[name] = 1;
  }
  void Append(const std::string& name, galen::v1::DiagnosisEvent event) {
    *event.mutable_event_time() = ToTimestamp(clock_.Now());
    const store::Lease lease =
        store_->events().AcquireLease(name, "test", clock_.Now(), absl::Hours(1)).value();
    last_[name] = store_->events().Append(lease, last_[name], {event}).value();
  }
  void Conclude(const std::string& name, bool confirmed = true) {
    galen::v1::DiagnosisEvent event;
    event.mutable_concluded()->mutable_report()->set_outcome(
        confirmed ? galen::v1::Report::CAUSE_CONFIRMED : galen::v1::Report::NO_CAUSE_CONFIRMED);
    Append(name, event);
  }
  void Feedback(const std::string& name) {
    galen::v1::DiagnosisEvent event;
    event.mutable_feedback_received()->set_text("more");
    Append(name, event);
  }
  std::vector<std::string> Due() {
    std::vector<std::string> due;
    const auto all = book_.ListDue("t", "", 1000).value();
    for (const auto& one : all) {
      due.push_back(absl::StrCat(one.value.diagnosis(), "@", one.value.sequence()));
    }
    return due;
  }
  void Told() {
    const auto all = book_.ListDue("t", "", 1000).value();
    for (const auto& one : all) ASSERT_THAT(book_.RemoveDue("t", one), IsOk());
  }

  testing::FakeClock clock_;
  const std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  Site site_;
  TicketStore book_{store_->records()};
  std::map<std::string, std::int64_t> last_;
  const std::unique_ptr<Scanner> scanner_ = NewScanner("one");
};

constexpr char kOne[] = "tenants/acme/diagnoses/d1";
constexpr char kTwo[] = "tenants/acme/diagnoses/d2";

TEST_F(ScannerTest, AConclusionAndAnEscalationAreDueAndEachOnce) {
  Scan(*scanner_);
  Create(kOne);
  Create(kTwo);
  Scan(*scanner_);
  EXPECT_THAT(Due(), IsEmpty());
  Conclude(kOne);
  galen::v1::DiagnosisEvent escalated;
  escalated.mutable_escalated()->set_reason("enough");
  Append(kTwo, escalated);
  Scan(*scanner_);
  EXPECT_THAT(Due(), ElementsAre(absl::StrCat(kOne, "@2"), absl::StrCat(kTwo, "@2")));
  Told();
  Scan(*scanner_);
  EXPECT_THAT(Due(), IsEmpty());
  // The report of an escalation comes after it.
  Conclude(kTwo, /*confirmed=*/false);
  Scan(*scanner_);
  EXPECT_THAT(Due(), ElementsAre(absl::StrCat(kTwo, "@3")));
}

TEST_F(ScannerTest, WhatWasConcludedWhileNoGatewayRanIsFoundByTheNext) {
  Scan(*scanner_);
  Create(kOne);
  clock_.Advance(absl::Hours(5));
  for (int i = 0; i < 700; ++i) {
    const std::string name = absl::StrCat("tenants/acme/diagnoses/n", i);
    Create(name);
    Conclude(name);
  }
  Conclude(kOne);
  clock_.Advance(absl::Hours(50));
  const auto next = NewScanner("two");
  Scan(*next);
  EXPECT_EQ(Due().size(), 701U);
}

TEST_F(ScannerTest, WhatWasConcludedBeforeTicketsBeganGetsNone) {
  Create(kOne);
  Conclude(kOne);
  Create(kTwo);
  Conclude(kTwo, /*confirmed=*/false);
  clock_.Advance(absl::Seconds(1));
  Scan(*scanner_);
  Scan(*scanner_);
  EXPECT_THAT(Due(), IsEmpty());
  // One that still waits is followed all the same.
  Feedback(kTwo);
  Conclude(kTwo);
  Scan(*scanner_);
  EXPECT_THAT(Due(), ElementsAre(absl::StrCat(kTwo, "@4")));
}

TEST_F(ScannerTest, OneScansAndAnotherTakesOverWhenItIsGone) {
  const auto other = NewScanner("two");
  Scan(*scanner_);
  Create(kOne);
  Conclude(kOne);
  Scan(*other);
  EXPECT_THAT(Due(), IsEmpty());
  clock_.Advance(absl::Minutes(1));
  Scan(*other);
  EXPECT_THAT(Due(), ElementsAre(absl::StrCat(kOne, "@2")));
}

TEST_F(ScannerTest, ARestartMakesNothingDueThatWasDue) {
  Scan(*scanner_);
  Create(kOne);
  Conclude(kOne, /*confirmed=*/false);
  Scan(*scanner_);
  Told();
  clock_.Advance(absl::Minutes(1));
  const auto next = NewScanner("two");
  Scan(*next);
  EXPECT_THAT(Due(), IsEmpty());
  clock_.Advance(absl::Minutes(1));
  Feedback(kOne);
  Conclude(kOne);
  clock_.Advance(absl::Minutes(1));
  Scan(*next);
  EXPECT_THAT(Due(), ElementsAre(absl::StrCat(kOne, "@4")));
}

TEST_F(ScannerTest, ADiagnosisIsToldToTheTargetsOfItsTenantAlone) {
  site_.targets[0].tenants = {"other"};
  Target second = TargetOf("slack");
  second.name = "s";
  second.when = {"escalated"};
  site_.targets.push_back(second);
  Scan(*scanner_);
  Create(kOne);
  Conclude(kOne);
  Scan(*scanner_);
  EXPECT_THAT(Due(), IsEmpty());
  EXPECT_TRUE(book_.ListDue("s", "", 10).value().empty());
}

TEST_F(ScannerTest, ACancelledDiagnosisIsToldOnlyWhereThereIsATicket) {
  Scan(*scanner_);
  Create(kOne);
  Create(kTwo);
  galen::v1::DiagnosisEvent cancelled;
  cancelled.mutable_cancelled();
  TicketStore::Ticket ticket;
  ticket.value.set_target("t");
  ticket.value.set_diagnosis(kTwo);
  ticket.value.set_id("1");
  ASSERT_THAT(book_.PutTicket(ticket), IsOk());
  Append(kOne, cancelled);
  Append(kTwo, cancelled);
  Scan(*scanner_);
  EXPECT_THAT(Due(), ElementsAre(absl::StrCat(kTwo, "@2")));
}

TEST_F(ScannerTest, ALogIsFollowedUntilItIsOverAndNoLonger) {
  Scan(*scanner_);
  Create(kOne);
  Conclude(kOne);
  Scan(*scanner_);
  EXPECT_EQ(store_->records().List("tickets.watch", "", 10)->size(), 1U);
  clock_.Advance(absl::Hours(2));
  Scan(*scanner_);
  EXPECT_EQ(store_->records().List("tickets.watch", "", 10)->size(), 0U);
}

}  // namespace
}  // namespace galen::gateway::tickets
