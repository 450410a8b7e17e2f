#include "bench/eval/runner/simulated_customer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/host/edit.h"
#include "tests/testing/status_matchers.h"

namespace galen::eval {
namespace {

namespace fs = std::filesystem;
using ::galen::testing::IsOk;
using ::testing::HasSubstr;
using ::testing::Not;

// A bundle in which one command and one file are decisive, and another command is not.
class SimulatedCustomerTest : public ::testing::Test {
 protected:
  SimulatedCustomerTest() {
    std::string root = ::testing::TempDir() + "galen-customer-XXXXXX";
    root_ = ::mkdtemp(root.data());
    const std::string bundle = root_ + "/b";
    EXPECT_THAT(host::NewBundle(bundle, "slow", {"n1"}, absl::Now()), IsOk());
    Command("show links", "links are down");
    Command("show disk", "4 %");
    std::ofstream(root_ + "/count") << "17\n";
    EXPECT_THAT(
        host::AddFile(bundle, "n1", host::View::kHost, "/sys/port/1/errors", root_ + "/count"),
        IsOk());
    knowledge::v1::KnowledgeBase base;
    knowledge::v1::Check& links = *base.add_checks();
    links.set_name("links");
    links.add_reads("show links");
    links.add_reads("/sys/port/*/errors");
    knowledge::v1::Check& disk = *base.add_checks();
    disk.set_name("disk");
    disk.add_reads("show disk");
    knowledge::v1::Label& leaf = *base.add_labels();
    leaf.set_label("A.B.LINKS");
    leaf.add_confirm()->set_check("links");
    knowledge_ = std::make_unique<knowledge::Knowledge>(base);
    case_.set_id("c");
    case_.add_labels("A.B.LINKS");
    auto opened = host::Bundle::Open(bundle);
    EXPECT_THAT(opened, IsOk());
    bundle_ = *std::move(opened);
    auto customer = SimulatedCustomer::Withhold(case_, *bundle_, *knowledge_);
    EXPECT_THAT(customer, IsOk());
    customer_ = *std::move(customer);
  }
  ~SimulatedCustomerTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  void Command(const std::string& program, const std::string& output) {
    const std::size_t blank = program.find(' ');
    EXPECT_THAT(
        host::AddCommand(root_ + "/b", "n1", host::View::kHost,
                         {program.substr(0, blank), program.substr(blank + 1)}, {.out = output}),
        IsOk());
  }
  galen::v1::SubmitFeedbackRequest Ask(const std::string& command, int& answered) const {
    google::protobuf::RepeatedPtrField<galen::v1::Question> questions;
    questions.Add()->add_commands(command);
    return customer_->Answer(questions, answered);
  }

  std::string root_;
  std::unique_ptr<knowledge::Knowledge> knowledge_;
  v1::Case case_;
  std::shared_ptr<const host::Bundle> bundle_;
  std::unique_ptr<SimulatedCustomer> customer_;
};

TEST_F(SimulatedCustomerTest, ReportsWithoutWhatDecides) {
  const auto thin = host::Bundle::Open(customer_->incident().bundle());
  ASSERT_THAT(thin, IsOk());
  std::string commands;
  std::ifstream in((*thin)->root() + "/nodes/n1/commands.yaml");
  for (std::string line; std::getline(in, line);) commands += line + "\n";
  EXPECT_THAT(commands, HasSubstr("disk"));
  EXPECT_THAT(commands, Not(HasSubstr("links")));
  EXPECT_FALSE(fs::exists((*thin)->root() + "/nodes/n1/rootfs/sys/port/1/errors"));
  EXPECT_TRUE(fs::exists(bundle_->root() + "/nodes/n1/rootfs/sys/port/1/errors"));
}

TEST_F(SimulatedCustomerTest, PastesWhatItIsAskedFor) {
  int answered = 0;
  const std::string text = Ask("show links", answered).text();
  EXPECT_EQ(answered, 1);
  EXPECT_THAT(text, HasSubstr("n1"));
  EXPECT_THAT(text, HasSubstr("show links\nlinks are down\n"));
  EXPECT_THAT(Ask("grep . /sys/port/*/errors", answered).text(),
              HasSubstr("/sys/port/1/errors:17\n"));
  EXPECT_THAT(Ask("cat /sys/port/1/errors", answered).text(), HasSubstr("\n17\n"));
}

TEST_F(SimulatedCustomerTest, SaysSoWhereItHasNothing) {
  int answered = 7;
  EXPECT_THAT(Ask("show fans", answered).text(), HasSubstr("do not have that"));
  EXPECT_EQ(answered, 0);
}

TEST_F(SimulatedCustomerTest, RandomQuestionsAreTheSameForTheSameSeedAndNeverOfWhatWasRead) {
  galen::v1::Diagnosis diagnosis;
  for (const char* check : {"links", "disk"}) {
    auto& result = *diagnosis.add_check_results();
    result.set_id(absl::StrCat(check, "@n1"));
    result.set_check(check);
    result.set_node("n1");
    result.set_status(check == std::string("disk") ? galen::v1::CheckResult::PASS
                                                   : galen::v1::CheckResult::SKIPPED);
  }
  const auto questions = RandomQuestions(diagnosis, *knowledge_, 3, "seed");
  ASSERT_EQ(questions.size(), 1);
  EXPECT_EQ(questions[0].id(), "links@n1");
}

}  // namespace
}  // namespace galen::eval
