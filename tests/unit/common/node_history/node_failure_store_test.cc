// The findings of diagnoses are kept by node, once, until a person corrects them.
#include "common/node_history/node_failure_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/store/store.h"
#include "tests/testing/status_matchers.h"

namespace galen::node_history {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NodeFailureStoreTest : public ::testing::Test {
 protected:
  static galen::v1::Diagnosis Found(int number, const std::string& node = "n1") {
    galen::v1::Diagnosis diagnosis;
    diagnosis.set_name(absl::StrCat("tenants/t/diagnoses/d", number));
    diagnosis.mutable_create_time()->set_seconds(1'800'000'000 + number);
    diagnosis.mutable_report()->set_outcome(galen::v1::Report::CAUSE_CONFIRMED);
    galen::v1::Cause& cause = *diagnosis.mutable_report()->mutable_primary_cause();
    cause.set_label("GPU.MEMORY.UNCORRECTABLE_ECC");
    cause.set_owner("provider");
    cause.add_devices()->set_node(node);
    cause.mutable_devices(0)->set_device("gpu:1");
    return diagnosis;
  }
  std::vector<std::string> Kept(const std::string& node = "n1") const {
    const auto failures = failure_store_.Of(node);
    EXPECT_THAT(failures, IsOk());
    std::vector<std::string> names;
    for (const auto& failure : failures->failures()) {
      names.push_back(failure.diagnosis().substr(failure.diagnosis().rfind('/') + 1));
    }
    return names;
  }

  std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  NodeFailureStore failure_store_{store_->records()};
};

TEST_F(NodeFailureStoreTest, KeepsWhatDiagnosesFoundByNodeAndTime) {
  EXPECT_FALSE(failure_store_.HasAny().value());
  ASSERT_THAT(failure_store_.Note(Found(2)), IsOk());
  ASSERT_THAT(failure_store_.Note(Found(1)), IsOk());
  ASSERT_THAT(failure_store_.Note(Found(3, "n2")), IsOk());
  EXPECT_TRUE(failure_store_.HasAny().value());
  EXPECT_THAT(Kept(), ElementsAre("d1", "d2"));
  EXPECT_THAT(Kept("n2"), ElementsAre("d3"));
  EXPECT_THAT(Kept("n3"), IsEmpty());
  EXPECT_THAT(Kept(""), IsEmpty());
}

TEST_F(NodeFailureStoreTest, TheSameDiagnosisIsNotedOnceHoweverOftenItIsTold) {
  ASSERT_THAT(failure_store_.Note(Found(1)), IsOk());
  const std::int64_t version = store_->records().Get("failures", "n1").value()->version;
  ASSERT_THAT(failure_store_.Note(Found(1)), IsOk());
  EXPECT_THAT(Kept(), ElementsAre("d1"));
  EXPECT_EQ(store_->records().Get("failures", "n1").value()->version, version);
}

TEST_F(NodeFailureStoreTest, WhatAPersonEstablishedReplacesIt) {
  ASSERT_THAT(failure_store_.Note(Found(1)), IsOk());
  ASSERT_THAT(failure_store_.Note(Found(2)), IsOk());
  galen::v1::Diagnosis other = Found(1);
  other.mutable_confirmation()->set_label("SYSTEM_SOFTWARE.CABLE");
  ASSERT_THAT(failure_store_.Note(other), IsOk());
  EXPECT_THAT(Kept(), ElementsAre("d2"));
}

TEST_F(NodeFailureStoreTest, KeepsTheLatestOfANodeThatNeverStopsFailing) {
  for (int i = 0; i < kMostFailures + 3; ++i) ASSERT_THAT(failure_store_.Note(Found(i)), IsOk());
  const std::vector<std::string> kept = Kept();
  EXPECT_EQ(kept.size(), static_cast<std::size_t>(kMostFailures));
  EXPECT_EQ(kept.front(), "d3");
}

TEST_F(NodeFailureStoreTest, ARecordThatIsNoneIsSaidAndNotWrittenOver) {
  ASSERT_THAT(store_->records().Put("failures", "n1", "no message", 0), IsOk());
  EXPECT_THAT(failure_store_.Of("n1"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("records failures")));
  EXPECT_THAT(failure_store_.Note(Found(1)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("n1")));
  EXPECT_EQ(store_->records().Get("failures", "n1").value()->value, "no message");
}

}  // namespace
}  // namespace galen::node_history
