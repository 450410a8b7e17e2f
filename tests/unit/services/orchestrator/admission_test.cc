#include "services/orchestrator/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace galen::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Name(const char* tenant, int number) {
  return absl::StrCat("tenants/", tenant, "/diagnoses/", number);
}

// All that may start now.
std::vector<std::string> Start(Admission& admission) {
  std::vector<std::string> names;
  while (const std::optional<std::string> name = admission.Next()) names.push_back(*name);
  return names;
}

TEST(Admission, StartsInOrderWhatThereIsRoomFor) {
  Admission admission({.running = 2, .tenant_running = 2, .tenant_waiting = 10});
  for (int i = 1; i <= 4; ++i) admission.Wait(Name("a", i));
  EXPECT_THAT(Start(admission), ElementsAre(Name("a", 1), Name("a", 2)));
  admission.Ended(Name("a", 2));
  EXPECT_THAT(Start(admission), ElementsAre(Name("a", 3)));
  admission.Ended(Name("a", 1));
  admission.Ended(Name("a", 3));
  EXPECT_THAT(Start(admission), ElementsAre(Name("a", 4)));
  EXPECT_FALSE(admission.HasWaiting());
}

TEST(Admission, ATenantThatSendsManyHoldsUpItsOwnOnly) {
  Admission admission({.running = 4, .tenant_running = 4, .tenant_waiting = 1000});
  for (int i = 0; i < 500; ++i) admission.Wait(Name("flood", i));
  EXPECT_EQ(Start(admission).size(), 4u);
  admission.Wait(Name("small", 1));
  admission.Wait(Name("zmall", 1));
  // The next places that come free are theirs.
  admission.Ended(Name("flood", 0));
  EXPECT_THAT(Start(admission), ElementsAre(Name("small", 1)));
  admission.Ended(Name("flood", 1));
  EXPECT_THAT(Start(admission), ElementsAre(Name("zmall", 1)));
  admission.Ended(Name("small", 1));
  EXPECT_THAT(Start(admission), ElementsAre(Name("flood", 4)));
}

TEST(Admission, EqualTenantsTakeTurns) {
  Admission admission({.running = 1, .tenant_running = 1, .tenant_waiting = 10});
  for (int i = 1; i <= 2; ++i) {
    for (const char* tenant : {"a", "b", "c"}) admission.Wait(Name(tenant, i));
  }
  std::vector<std::string> order;
  while (const std::optional<std::string> name = admission.Next()) {
    order.push_back(*name);
    admission.Ended(*name);
  }
  EXPECT_THAT(order, ElementsAre(Name("a", 1), Name("b", 1), Name("c", 1), Name("a", 2),
                                 Name("b", 2), Name("c", 2)));
}

TEST(Admission, OneTenantDoesNotTakeAllPlaces) {
  Admission admission({.running = 10, .tenant_running = 3, .tenant_waiting = 10});
  for (int i = 0; i < 10; ++i) admission.Wait(Name("a", i));
  EXPECT_EQ(Start(admission).size(), 3u);
  admission.Wait(Name("b", 1));
  EXPECT_THAT(Start(admission), ElementsAre(Name("b", 1)));
}

TEST(Admission, KnowsWhenATenantHasEnoughAndEachDiagnosisOnce) {
  Admission admission({.running = 1, .tenant_running = 1, .tenant_waiting = 2});
  for (int again = 0; again < 2; ++again) admission.Wait(Name("a", 1));
  EXPECT_THAT(Start(admission), ElementsAre(Name("a", 1)));
  admission.Wait(Name("a", 1));  // it runs
  EXPECT_FALSE(admission.HasWaiting());
  for (int i = 2; i <= 3; ++i) admission.Wait(Name("a", i));
  EXPECT_TRUE(admission.IsFull("tenants/a"));
  EXPECT_FALSE(admission.IsFull("tenants/b"));
  admission.Started(Name("a", 2));  // a person asked for it
  EXPECT_FALSE(admission.IsFull("tenants/a"));
  admission.Ended(Name("a", 1));
  EXPECT_THAT(Start(admission), IsEmpty());
  admission.Ended(Name("a", 2));
  EXPECT_THAT(Start(admission), ElementsAre(Name("a", 3)));
  EXPECT_EQ(admission.running(), 1u);
  admission.Ended(Name("a", 3));
  admission.Ended(Name("a", 3));
  EXPECT_EQ(admission.running(), 0u);
}

TEST(Admission, ForgetsWhatTheStoreNoLongerHasButNotWhatCameMeanwhile) {
  Admission admission({.running = 1, .tenant_running = 1, .tenant_waiting = 10});
  admission.Started(Name("x", 1));
  for (int i = 1; i <= 3; ++i) admission.Wait(Name("a", i));
  admission.BeginLook();
  admission.Wait(Name("a", 4));
  admission.EndLook({Name("a", 2)});
  admission.Ended(Name("x", 1));
  EXPECT_THAT(Start(admission), ElementsAre(Name("a", 2)));
  admission.Ended(Name("a", 2));
  EXPECT_THAT(Start(admission), ElementsAre(Name("a", 4)));
  admission.Ended(Name("a", 4));
  EXPECT_THAT(Start(admission), IsEmpty());
}

}  // namespace
}  // namespace galen::orchestrator
