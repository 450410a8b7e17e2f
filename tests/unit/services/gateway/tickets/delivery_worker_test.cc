// No ticket is lost and none is opened twice, whatever happens to the ticket system and the
// gateway.
#include "services/gateway/tickets/delivery_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "tests/unit/services/gateway/tickets/ticket_world.h"

namespace galen::gateway::tickets {
namespace {

using ::testing::HasSubstr;

constexpr char kName[] = "tenants/acme/diagnoses/d1";

HttpAnswer Code(int status) { return {status, "", std::nullopt}; }

class EverySystem : public ::testing::TestWithParam<const char*> {
 protected:
  World world_{GetParam()};
  absl::Time Later(absl::Duration by) { return world_.clock.Now() + by; }
};

TEST_P(EverySystem, OpensOneTicketAndKnowsItsName) {
  world_.Conclude(kName);
  world_.RunUntil(Later(absl::Hours(1)));
  ASSERT_EQ(world_.system.tickets.size(), 1U);
  EXPECT_THAT(world_.system.tickets[0].text, HasSubstr("fell off the PCIe bus"));
  const auto ticket = world_.ticket_store.GetTicket("t", kName).value();
  ASSERT_TRUE(ticket.has_value());
  EXPECT_FALSE(ticket->value.id().empty());
  EXPECT_EQ(world_.ticket_store.DiagnosisOf("t", ticket->value.id()).value(), kName);
}

TEST_P(EverySystem, TellsAnOpenTicketOfWhatComesLater) {
  world_.Conclude(kName, 9);
  world_.RunUntil(Later(absl::Hours(1)));
  world_.Conclude(kName, 20);
  world_.RunUntil(Later(absl::Hours(1)));
  ASSERT_EQ(world_.system.tickets.size(), 1U);
  const FakeTicketSystem::Ticket& ticket = world_.system.tickets[0];
  EXPECT_GE(ticket.updates + ticket.comments, 1);
  const int requests = world_.system.requests;
  // Reported events are not reported again.
  world_.ticket_store.MakeDue("t", kName, 21, world_.clock.Now()).IgnoreError();
  world_.source.diagnoses[kName].set_last_sequence(21);
  world_.RunUntil(Later(absl::Hours(1)));
  EXPECT_GT(world_.system.requests, requests);
  EXPECT_EQ(world_.system.tickets.size(), 1U);
}

TEST_P(EverySystem, AnHourOfSilenceLosesNothingAndIsNoStorm) {
  const absl::Time back = Later(absl::Hours(1));
  world_.system.fate = [&](int) -> FakeTicketSystem::Fate {
    if (world_.clock.Now() >= back) return {};
    return {false, absl::FailedPreconditionError("connection refused")};
  };
  for (int i = 0; i < 20; ++i) {
    world_.Conclude(absl::StrCat("tenants/acme/diagnoses/d", i));
  }
  world_.RunUntil(back);
  // One asks at a time, ever more seldom.
  EXPECT_LT(world_.system.requests, 40);
  world_.RunUntil(Later(absl::Hours(1)));
  EXPECT_TRUE(world_.AllTold());
  std::set<std::string> marks;
  for (const auto& ticket : world_.system.tickets) marks.insert(ticket.mark);
  EXPECT_EQ(marks.size(), 20U);
  EXPECT_EQ(world_.system.tickets.size(), 20U);
}

TEST_P(EverySystem, AnswersThatGetLostOpenNothingTwice) {
  // Slow: the request is carried out, but its answer does not come in time.
  world_.system.fate = [](int request) -> FakeTicketSystem::Fate {
    if (request > 6) return {};
    return {true, absl::UnavailableError("timed out")};
  };
  world_.Conclude(kName);
  world_.RunUntil(Later(absl::Hours(3)));
  EXPECT_TRUE(world_.AllTold());
  EXPECT_EQ(world_.system.tickets.size(), 1U);
}

TEST_P(EverySystem, A500ThatWasDoneAllTheSameOpensNothingTwice) {
  world_.system.fate = [](int request) -> FakeTicketSystem::Fate {
    if (request % 2 == 1 || request > 20) return {};
    return {true, Code(500)};
  };
  world_.Conclude(kName);
  world_.RunUntil(Later(absl::Hours(3)));
  EXPECT_TRUE(world_.AllTold());
  EXPECT_EQ(world_.system.tickets.size(), 1U);
}

TEST_P(EverySystem, WhatIsRefusedIsADeadLetterThatCanBeReplayed) {
  world_.system.fate = [](int) -> FakeTicketSystem::Fate { return {false, Code(401)}; };
  world_.Conclude(kName);
  world_.RunUntil(Later(absl::Hours(1)));
  EXPECT_EQ(world_.system.requests, 1);
  const auto dead = world_.ticket_store.ListDead("").value();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].target, "t");
  EXPECT_THAT(dead[0].due.last_error(), HasSubstr("HTTP 401"));
  EXPECT_EQ(world_.worker->counts().dead, 1U);
  // The secret was put right.
  world_.system.fate = nullptr;
  ASSERT_TRUE(world_.ticket_store.Replay("t", kName, world_.clock.Now()).ok());
  EXPECT_TRUE(world_.ticket_store.ListDead("").value().empty());
  world_.RunUntil(Later(absl::Hours(1)));
  EXPECT_EQ(world_.system.tickets.size(), 1U);
  EXPECT_TRUE(absl::IsNotFound(world_.ticket_store.Replay("t", kName, world_.clock.Now())));
}

TEST_P(EverySystem, WaitsAsLongAsItIsTold) {
  const absl::Time begin = world_.clock.Now();
  world_.system.fate = [](int request) -> FakeTicketSystem::Fate {
    if (request > 1) return {};
    return {false, HttpAnswer{429, "", absl::Minutes(20)}};
  };
  world_.Conclude(kName);
  world_.RunUntil(Later(absl::Hours(1)));
  EXPECT_EQ(world_.system.tickets.size(), 1U);
  ASSERT_GE(world_.system.times.size(), 2U);
  EXPECT_GE(world_.system.times[1] - begin, absl::Minutes(20));
}

TEST_P(EverySystem, ACrashAtAnyPointLosesNothingAndOpensNothingTwice) {
  for (const bool last_is_made : {false, true}) {
    for (int changes = 0;; ++changes) {
      SCOPED_TRACE(absl::StrCat("dies after ", changes, " changes, the last ",
                                last_is_made ? "made" : "not made"));
      World world(GetParam());
      world.Conclude(kName, 9);
      world.RunUntil(world.clock.Now() + absl::Minutes(1));
      world.Conclude(kName, 12);  // an update, too
      world.Conclude("tenants/acme/diagnoses/d2");
      world.Restart();
      world.records->changes_left = changes;
      world.records->last_is_made = last_is_made;
      world.RunUntil(world.clock.Now() + absl::Hours(1));
      const bool died = world.records->dead();
      world.Restart();
      world.RunUntil(world.clock.Now() + absl::Hours(2));
      ASSERT_TRUE(world.AllTold());
      ASSERT_EQ(world.system.tickets.size(), 2U);
      EXPECT_TRUE(world.ticket_store.GetTicket("t", kName).value().has_value());
      if (!died) break;
    }
  }
}

TEST_P(EverySystem, WhateverBefallsItThereIsOneTicketForEachDiagnosis) {
  for (int seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(static_cast<unsigned>(seed));
    const auto chance = [&](int percent) {
      return std::uniform_int_distribution<int>(0, 99)(random) < percent;
    };
    World world(GetParam());
    world.system.fate = [&](int request) -> FakeTicketSystem::Fate {
      if (request > 60 || chance(40)) return {};
      if (chance(25)) return {false, absl::FailedPreconditionError("refused")};
      if (chance(30)) return {true, absl::UnavailableError("timed out")};
      if (chance(30)) return {true, Code(502)};
      if (chance(50)) return {false, Code(503)};
      return {false, HttpAnswer{429, "", absl::Seconds(30)}};
    };
    for (int i = 0; i < 4; ++i) world.Conclude(absl::StrCat("tenants/acme/diagnoses/d", i));
    for (int crash = 0; crash < 6; ++crash) {
      world.records->changes_left = std::uniform_int_distribution<int>(0, 12)(random);
      world.records->last_is_made = chance(50);
      world.RunUntil(world.clock.Now() + absl::Hours(2));
      world.Restart();
      if (chance(50)) world.Conclude("tenants/acme/diagnoses/d1", 20 + crash);
    }
    world.RunUntil(world.clock.Now() + absl::Hours(24));
    ASSERT_TRUE(world.AllTold());
    std::set<std::string> marks;
    for (const auto& ticket : world.system.tickets) marks.insert(ticket.mark);
    EXPECT_EQ(marks.size(), 4U);
    EXPECT_EQ(world.system.tickets.size(), 4U);
  }
}

TEST_P(EverySystem, TwoGatewaysAtOnceOpenOne) {
  World& world = world_;
  for (int i = 0; i < 10; ++i) world.Conclude(absl::StrCat("tenants/acme/diagnoses/d", i));
  DeliveryWorker other(
      world.site.targets.front(), "",
      DeliveryWorker::Dependencies{&world.store->records(), &world.source, &world.system,
                                   &world.clock, [] { return 0.5; }, "other"});
  // While one works, the other searches for work, too.
  bool inside = false;
  world.system.fate = [&](int) -> FakeTicketSystem::Fate {
    if (!inside) {
      inside = true;
      other.WorkOnce().IgnoreError();
      inside = false;
    }
    return {};
  };
  world.RunUntil(Later(absl::Hours(1)));
  EXPECT_TRUE(world.AllTold());
  EXPECT_EQ(world.system.tickets.size(), 10U);
}

INSTANTIATE_TEST_SUITE_P(Shipped, EverySystem, ::testing::ValuesIn(kSystems),
                         [](const auto& test) { return std::string(test.param); });

TEST(DeliveryWorkerTest, TheScannerMayFindMoreWhileATicketIsBeingOpened) {
  World world("jira");
  world.Conclude(kName, 9);
  world.system.fate = [&](int request) -> FakeTicketSystem::Fate {
    if (request == 2) world.Conclude(kName, 15);  // while it is being opened
    return {};
  };
  world.RunUntil(world.clock.Now() + absl::Hours(1));
  ASSERT_EQ(world.system.tickets.size(), 1U);
  EXPECT_EQ(world.system.tickets[0].updates, 1);
  EXPECT_EQ(world.ticket_store.GetTicket("t", kName).value()->value.updated_sequence(), 15);
}

TEST(DeliveryWorkerTest, WhatAPersonClosedIsLeftAlone) {
  World world("pagerduty");
  world.Conclude(kName, 9);
  world.RunUntil(world.clock.Now() + absl::Hours(1));
  TicketStore::Ticket ticket = *world.ticket_store.GetTicket("t", kName).value();
  ticket.value.mutable_close_time()->set_seconds(1);
  ASSERT_TRUE(world.ticket_store.PutTicket(ticket).ok());
  const int requests = world.system.requests;
  world.Conclude(kName, 30);
  world.RunUntil(world.clock.Now() + absl::Hours(1));
  EXPECT_TRUE(world.AllTold());
  EXPECT_EQ(world.system.requests, requests);
}

TEST(DeliveryWorkerTest, NoTicketForAStateThatTheTargetDoesNotAskFor) {
  Target target = TargetOf("jira");
  target.when = {"escalated"};
  World world(std::move(target));
  world.Conclude(kName);
  world.RunUntil(world.clock.Now() + absl::Hours(1));
  EXPECT_TRUE(world.AllTold());
  EXPECT_EQ(world.system.requests, 0);
}

TEST(DeliveryWorkerTest, AMeshThatIsAwayDelaysAndLosesNothing) {
  World world("github");
  world.Conclude(kName);
  const galen::v1::Diagnosis diagnosis = world.source.diagnoses[kName];
  world.source.diagnoses[kName].set_last_sequence(3);  // older than its log: not reported yet
  world.RunUntil(world.clock.Now() + absl::Minutes(10));
  EXPECT_EQ(world.system.requests, 0);
  EXPECT_FALSE(world.AllTold());
  world.source.diagnoses[kName] = diagnosis;
  world.RunUntil(world.clock.Now() + absl::Hours(1));
  EXPECT_EQ(world.system.tickets.size(), 1U);
}

TEST(DeliveryWorkerTest, CancelledDiagnosesCloseTheirTicketsWhereTheSiteSaysSo) {
  Target target = TargetOf("github");
  target.resolve_cancelled = true;
  World world(std::move(target));
  world.Conclude(kName, 9);
  world.source.diagnoses[kName].set_state(galen::v1::Diagnosis::AWAITING_FEEDBACK);
  world.RunUntil(world.clock.Now() + absl::Hours(1));
  ASSERT_EQ(world.system.tickets.size(), 1U);
  world.Conclude(kName, 12);
  world.source.diagnoses[kName].set_state(galen::v1::Diagnosis::CANCELLED);
  world.RunUntil(world.clock.Now() + absl::Hours(1));
  EXPECT_TRUE(world.ticket_store.GetTicket("t", kName).value()->value.resolved());
}

}  // namespace
}  // namespace galen::gateway::tickets
