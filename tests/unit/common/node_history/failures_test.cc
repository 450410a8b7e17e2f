// Earlier failures of a machine or of one of its devices.
#include "common/node_history/failures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace galen::node_history {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::int64_t kNow = 1'800'000'000;
constexpr std::int64_t kDay = 86'400;

galen::v1::Device Device(const std::string& node, const std::string& device,
                         const std::string& serial = "") {
  galen::v1::Device made;
  made.set_node(node);
  made.set_device(device);
  made.set_serial(serial);
  return made;
}

galen::v1::Cause Cause(const std::string& label, const std::string& owner,
                       const std::vector<galen::v1::Device>& devices) {
  galen::v1::Cause cause;
  cause.set_label(label);
  cause.set_owner(owner);
  cause.mutable_devices()->Assign(devices.begin(), devices.end());
  return cause;
}

galen::v1::Diagnosis Confirmed(const galen::v1::Cause& cause) {
  galen::v1::Diagnosis diagnosis;
  diagnosis.set_name("tenants/t/diagnoses/d");
  diagnosis.mutable_create_time()->set_seconds(kNow);
  diagnosis.mutable_report()->set_outcome(galen::v1::Report::CAUSE_CONFIRMED);
  *diagnosis.mutable_report()->mutable_primary_cause() = cause;
  return diagnosis;
}

// As "node device label".
std::vector<std::string> Found(const galen::v1::Diagnosis& diagnosis) {
  std::vector<std::string> found;
  for (const auto& [node, failures] : FailuresOf(diagnosis)) {
    if (failures.empty()) found.push_back(absl::StrCat(node, " none"));
    for (const Failure& failure : failures) {
      found.push_back(absl::StrCat(node, " ", failure.device(), " ", failure.label()));
    }
  }
  return found;
}

TEST(FailuresOf, AreTheConfirmedCausesThatTheProviderMends) {
  galen::v1::Diagnosis diagnosis = Confirmed(Cause("G.ECC", "provider", {Device("n1", "gpu:1")}));
  *diagnosis.mutable_report()->add_other_causes() =
      Cause("N.LINK", "provider", {Device("n2", "nic:mlx5_0/port:1"), Device("", "gpu:2")});
  *diagnosis.mutable_report()->add_other_causes() =
      Cause("U.CODE", "customer", {Device("n3", "gpu:0")});
  *diagnosis.mutable_report()->add_secondary_effects() =
      Cause("G.FELL_OFF", "provider", {Device("n4", "gpu:0")});
  EXPECT_THAT(Found(diagnosis),
              ElementsAre("n1 gpu:1 G.ECC", "n2 nic:mlx5_0/port:1 N.LINK", "n3 none"));
}

TEST(FailuresOf, APartOfAGpuIsItsCardAndAProcessIsNoDevice) {
  EXPECT_THAT(Found(Confirmed(Cause("G.LINK", "provider",
                                    {Device("n", "gpu:3/link:2"), Device("n", "process:4711"),
                                     Device("n", "rank:3"), Device("n", "mount:/scratch")}))),
              ElementsAre("n gpu:3 G.LINK", "n  G.LINK", "n  G.LINK", "n mount:/scratch G.LINK"));
}

TEST(FailuresOf, ABundleTellsNothingOfLiveMachines) {
  galen::v1::Diagnosis diagnosis = Confirmed(Cause("G.ECC", "provider", {Device("n1", "gpu:1")}));
  diagnosis.mutable_incident()->set_bundle("/bundles/b");
  EXPECT_THAT(Found(diagnosis), IsEmpty());
}

TEST(FailuresOf, WhatIsOnlyPresumedIsNoFailure) {
  galen::v1::Diagnosis diagnosis;
  diagnosis.mutable_report()->set_outcome(galen::v1::Report::NO_CAUSE_CONFIRMED);
  *diagnosis.mutable_report()->mutable_presumed_cause() =
      Cause("G.ECC", "provider", {Device("n1", "gpu:1")});
  EXPECT_THAT(Found(diagnosis), IsEmpty());
}

TEST(FailuresOf, APersonWhoEstablishesAnotherCauseTakesItBack) {
  galen::v1::Diagnosis diagnosis = Confirmed(Cause("G.ECC", "provider", {Device("n1", "gpu:1")}));
  diagnosis.mutable_confirmation()->set_label("G.ECC");
  EXPECT_THAT(Found(diagnosis), ElementsAre("n1 gpu:1 G.ECC"));
  diagnosis.mutable_confirmation()->set_label("S.CABLE");
  EXPECT_THAT(Found(diagnosis), ElementsAre("n1 none"));
}

TEST(FailuresOf, ADiagnosisOfAThousandDevicesStaysSmall) {
  galen::v1::Cause cause = Cause("G.ECC", "provider", {});
  for (int i = 0; i < 1000; ++i) *cause.add_devices() = Device("n1", absl::StrCat("gpu:", i));
  *cause.add_devices() = Device(std::string(1000, 'n'), "gpu:1");
  const auto found = FailuresOf(Confirmed(cause));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.at("n1").size(), 16U);
}

class CountTest : public ::testing::Test {
 protected:
  void Failed(std::int64_t seconds_ago, const std::string& device, const std::string& serial = "",
              const std::string& diagnosis = "tenants/t/diagnoses/old") {
    Failure& failure = *failures_.add_failures();
    failure.set_diagnosis(diagnosis);
    failure.set_label("G.ECC");
    failure.mutable_time()->set_seconds(kNow - seconds_ago);
    failure.set_device(device);
    failure.set_serial(serial);
  }
  Counts Count() const {
    return CountEarlier(failures_, "tenants/t/diagnoses/this",
                        {absl::FromUnixSeconds(kNow), absl::Hours(24 * 90), absl::Hours(24)});
  }
  std::vector<std::pair<std::string, int>> OfDevices() const {
    std::vector<std::pair<std::string, int>> counts;
    for (const auto& device : Count().devices) counts.emplace_back(device.device, device.failures);
    return counts;
  }
  execution::v1::NodeFailures failures_;
};

TEST_F(CountTest, NothingOnRecordCountsNothing) {
  EXPECT_EQ(Count().node.failures, 0);
  EXPECT_THAT(Count().devices, IsEmpty());
}

TEST_F(CountTest, FailuresOfDifferentDaysAreCountedByDeviceAndTogether) {
  Failed(40 * kDay, "gpu:3");
  Failed(20 * kDay, "nic:mlx5_0");
  Failed(10 * kDay, "gpu:3");
  Failed(5 * kDay, "");
  EXPECT_EQ(Count().node.failures, 4);
  EXPECT_THAT(OfDevices(), ElementsAre(Pair("gpu:3", 2), Pair("nic:mlx5_0", 1)));
}

TEST_F(CountTest, OneFailureThatIsMetAgainAndAgainIsOne) {
  Failed(10 * kDay, "gpu:3");
  Failed(10 * kDay - 600, "gpu:3");
  Failed(10 * kDay - 1200, "gpu:5");
  EXPECT_EQ(Count().node.failures, 1);
  EXPECT_THAT(OfDevices(), ElementsAre(Pair("gpu:3", 1), Pair("gpu:5", 1)));
}

TEST_F(CountTest, AFailureThatGoesOnForDaysCountsOnceADay) {
  for (int hours = 96; hours > 24; hours -= 6) Failed(5 * kDay + hours * 3600, "gpu:3");
  EXPECT_THAT(OfDevices(), ElementsAre(Pair("gpu:3", 3)));
}

TEST_F(CountTest, TheFailureOfTodayIsNoEarlierOne) {
  Failed(kDay - 1, "gpu:3");
  Failed(-kDay, "gpu:3");
  EXPECT_EQ(Count().node.failures, 0);
  Failed(kDay, "gpu:3");
  EXPECT_EQ(Count().node.failures, 1);
}

TEST_F(CountTest, WhatLiesTooFarBackIsForgotten) {
  Failed(90 * kDay + 1, "gpu:3");
  EXPECT_EQ(Count().node.failures, 0);
}

TEST_F(CountTest, ADiagnosisIsNotItsOwnHistory) {
  Failed(10 * kDay, "gpu:3", "", "tenants/t/diagnoses/this");
  EXPECT_EQ(Count().node.failures, 0);
}

TEST_F(CountTest, ACardIsToldByItsSerialNumberWhereverItSits) {
  Failed(40 * kDay, "gpu:3", "1320621");
  Failed(30 * kDay, "gpu:3", "1320622");  // the card that came in its place
  Failed(20 * kDay, "gpu:7", "1320621");
  EXPECT_THAT(OfDevices(), ElementsAre(Pair("gpu:3", 1), Pair("gpu:7", 2)));
}

}  // namespace
}  // namespace galen::node_history
