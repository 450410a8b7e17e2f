// A machine carries out only what a person approved for it, and once.
#include "services/node/repair/repairer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/remediation/proposals.h"
#include "common/security/warrants/signer.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/security/certificates.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace {

using galen::testing::CredentialsOf;
using galen::testing::IsOk;
using galen::testing::IssueFor;
using galen::testing::StatusIs;
using remediation::Argv;
using remediation::RunAction;
using security::Role;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using v1::RepairResponse;

RunAction Drain() {
  RunAction action;
  action.name = "node.x";
  action.text = "Do x to ${node}.";
  action.labels = {"GPU"};
  action.before = {{{"look", "${node}"}, {"idle"}, "nobody is there"}};
  action.steps = {{"first", "${node}"}, {"second"}};
  action.after = {{{"state"}, {"drained", "draining"}, "it drains"}};
  action.time = absl::Seconds(5);
  return action;
}

class RepairerTest : public ::testing::Test {
 protected:
  RepairerTest() {
    EXPECT_THAT(
        verifier_.Use(CredentialsOf(authority_, IssueFor(authority_, Role::kNode), Role::kNode)),
        IsOk());
    EXPECT_THAT(signer_.Use(CredentialsOf(authority_, IssueFor(authority_, Role::kGateway),
                                          Role::kGateway)),
                IsOk());
    prints_ = {{"look n1", "idle\n"}, {"state", "draining"}};
    Restart();
  }
  ~RepairerTest() override { std::filesystem::remove_all(directory_); }

  // As after a restart of the executor: only the directory is left.
  void Restart() {
    repairer_.reset();
    used_warrants_ = UsedWarrants::Open(directory_).value();
    repairer_ =
        Repairer::Make(
            {.node = "n1", .allowed = {"node.x"}, .tell = nullptr, .look_time = look_time_},
            {known_}, verifier_, *used_warrants_,
            [this](const Argv& argv, const host::ProcessLimits&) { return Ran(argv); }, clock_)
            .value();
  }
  absl::StatusOr<host::CommandResult> Ran(const Argv& argv) {
    const std::string line = absl::StrJoin(argv, " ");
    ran_.push_back(line);
    if (on_run_) on_run_(line);
    if (missing_ == line) return absl::NotFoundError("there is no such program");
    host::CommandResult result;
    result.out = prints_[line];
    result.exit_code = fails_ == line ? 3 : 0;
    return result;
  }

  // As the gateway would have it approved.
  galen::v1::Action Approved() const {
    galen::v1::Action action;
    action.set_name("tenants/t/diagnoses/d/actions/a");
    action.set_label("GPU.PCIE");
    action.set_run(known_.name);
    action.mutable_target()->set_node("n1");
    const remediation::Filled filled = remediation::Fill(known_, action.target()).value();
    action.set_text(filled.text);
    for (const std::string& line : remediation::PlanOf(known_, filled)) action.add_plan(line);
    action.set_content_hash(remediation::ContentHash(action));
    return action;
  }
  security::Warrant WarrantFor(const galen::v1::Action& action) const {
    return {action.name(),
            action.content_hash(),
            "n1",
            "key/ana",
            clock_.Now() + absl::Minutes(15),
            ""};
  }
  v1::RepairRequest Request(const galen::v1::Action& action) {
    v1::RepairRequest request;
    *request.mutable_action() = action;
    request.set_warrant(signer_.Sign(WarrantFor(action)).value());
    return request;
  }

  static v1::RepairRequest DryRun(const galen::v1::Action& action) {
    v1::RepairRequest request;
    *request.mutable_action() = action;
    request.set_dry_run(true);
    return request;
  }

  galen::testing::FakeClock clock_{absl::Now()};
  absl::Duration look_time_ = absl::Seconds(10);
  const security::Issued authority_ = galen::testing::NewAuthority();
  security::WarrantSigner signer_{clock_};
  security::WarrantVerifier verifier_{clock_};
  RunAction known_ = Drain();
  const std::string directory_ =
      absl::StrCat(::testing::TempDir(), "/galen-repairs-", getpid(), "-",
                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::unique_ptr<UsedWarrants> used_warrants_;
  std::unique_ptr<Repairer> repairer_;
  std::map<std::string, std::string> prints_;
  std::string fails_, missing_;
  std::function<void(const std::string&)> on_run_;
  std::vector<std::string> ran_;
};

TEST_F(RepairerTest, DoesJustWhatWasApprovedAndSaysWhatCameOfIt) {
  const auto done = repairer_->Repair(Request(Approved()));
  ASSERT_THAT(done, IsOk());
  EXPECT_EQ(done->state(), RepairResponse::DONE) << done->text();
  EXPECT_THAT(ran_, ElementsAre("look n1", "first n1", "second", "state"));
  EXPECT_EQ(done->steps(1).command(), "first n1");
}

TEST_F(RepairerTest, ADryRunOnlyLooksAndNeedsNoWarrant) {
  const auto would = repairer_->Repair(DryRun(Approved()));
  ASSERT_THAT(would, IsOk());
  EXPECT_EQ(would->state(), RepairResponse::WOULD_RUN);
  EXPECT_THAT(ran_, ElementsAre("look n1", "state"));
  const galen::v1::DryRun& dry_run = would->dry_run();
  EXPECT_TRUE(dry_run.same_plan());
  EXPECT_TRUE(dry_run.would_run());
  EXPECT_EQ(dry_run.content_hash(), Approved().content_hash());
  EXPECT_THAT(dry_run.plan(),
              ElementsAre(HasSubstr("only if nobody is there"), "run: first n1", "run: second",
                          HasSubstr("until it drains"), ::testing::_));
  EXPECT_EQ(dry_run.look_time().seconds(), absl::ToUnixSeconds(clock_.Now()));
  ASSERT_EQ(dry_run.looks_size(), 2);
  EXPECT_TRUE(dry_run.looks(0).holds());
  EXPECT_FALSE(dry_run.looks(0).afterwards());
  EXPECT_EQ(dry_run.looks(0).output(), "idle");
  EXPECT_TRUE(dry_run.looks(1).afterwards());
}

TEST_F(RepairerTest, ADryRunLooksAtAllAndSaysWhatDoesNotHold) {
  known_.before.push_back({{"other"}, {""}, "nothing else is there"});
  Restart();
  prints_["look n1"] = "4711\n4712\n";
  missing_ = "other";
  const auto would = repairer_->Repair(DryRun(Approved()));
  ASSERT_THAT(would, IsOk());
  EXPECT_EQ(would->state(), RepairResponse::REFUSED);
  EXPECT_FALSE(would->dry_run().would_run());
  EXPECT_TRUE(would->dry_run().same_plan());
  EXPECT_EQ(
      would->dry_run().text(),
      "nothing would be run: it is not so that nobody is there, nor that nothing else is there");
  EXPECT_THAT(ran_, ElementsAre("look n1", "other", "state"));
  EXPECT_EQ(would->dry_run().looks(0).output(), "4711\n4712");
  EXPECT_THAT(would->dry_run().looks(1).error(), HasSubstr("no such program"));
  // Conditions for afterwards need not hold now.
  missing_.clear();
  prints_["look n1"] = "idle";
  prints_["state"] = "allocated";
  const auto now = repairer_->Repair(DryRun(Approved()));
  EXPECT_TRUE(now->dry_run().would_run());
  EXPECT_FALSE(now->dry_run().looks(2).holds());
}

TEST_F(RepairerTest, ADryRunOfWhatIsSomethingElseHereSaysSoAndRunsNothing) {
  const galen::v1::Action approved = Approved();
  known_.steps.push_back({"third"});
  Restart();
  const auto would = repairer_->Repair(DryRun(approved));
  ASSERT_THAT(would, IsOk());
  EXPECT_EQ(would->state(), RepairResponse::REFUSED);
  EXPECT_FALSE(would->dry_run().same_plan());
  EXPECT_FALSE(would->dry_run().would_run());
  EXPECT_NE(would->dry_run().content_hash(), approved.content_hash());
  EXPECT_THAT(would->dry_run().plan(), ::testing::Contains("run: third"));
  EXPECT_THAT(would->dry_run().text(), HasSubstr("something else here"));
  EXPECT_THAT(ran_, IsEmpty());
  galen::v1::Action other = approved;
  other.set_run("node.y");
  EXPECT_THAT(repairer_->Repair(DryRun(other)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--repairs")));
  other = approved;
  other.mutable_target()->set_node("n2");
  EXPECT_THAT(repairer_->Repair(DryRun(other)),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("this is n1")));
  EXPECT_THAT(ran_, IsEmpty());
}

TEST_F(RepairerTest, ADryRunWithAGoodWarrantRunsNoStepAndLeavesTheWarrantGood) {
  v1::RepairRequest request = Request(Approved());
  for (int i = 0; i < 3; ++i) {
    request.set_dry_run(true);
    EXPECT_EQ(repairer_->Repair(request)->state(), RepairResponse::WOULD_RUN);
  }
  EXPECT_THAT(ran_, ::testing::Each(::testing::AnyOf("look n1", "state")));
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
  ran_.clear();
  request.set_dry_run(false);
  EXPECT_EQ(repairer_->Repair(request)->state(), RepairResponse::DONE);
  EXPECT_THAT(ran_, ElementsAre("look n1", "first n1", "second", "state"));
  // Nor is a dry run answered with the outcome of a run.
  ran_.clear();
  request.set_dry_run(true);
  EXPECT_EQ(repairer_->Repair(request)->state(), RepairResponse::WOULD_RUN);
  EXPECT_THAT(ran_, ElementsAre("look n1", "state"));
}

TEST_F(RepairerTest, ADryRunHoldsUpNoRepairAndNoneIsBegunDuringOne) {
  absl::StatusOr<RepairResponse> other;
  const v1::RepairRequest repair = Request(Approved());
  // In the midst of a dry run: a repair may, another dry run may not.
  absl::Status second;
  bool first = true;
  on_run_ = [&](const std::string& line) {
    if (line != "look n1" || !std::exchange(first, false)) return;
    std::thread([&] {
      second = repairer_->Repair(DryRun(Approved())).status();
      other = repairer_->Repair(repair);
    }).join();
  };
  EXPECT_THAT(repairer_->Repair(DryRun(Approved())), IsOk());
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kAborted, HasSubstr("another dry run")));
  ASSERT_THAT(other, IsOk());
  EXPECT_EQ(other->state(), RepairResponse::DONE);
  // In the midst of a repair.
  on_run_ = [&](const std::string& line) {
    if (line != "first n1") return;
    std::thread([&] { second = repairer_->Repair(DryRun(Approved())).status(); }).join();
  };
  EXPECT_EQ(repairer_->Repair(Request(Approved()))->state(), RepairResponse::DONE);
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kAborted, HasSubstr("a repair")));
  on_run_ = nullptr;
  EXPECT_THAT(repairer_->Repair(DryRun(Approved())), IsOk());
}

TEST_F(RepairerTest, LooksOfADryRunEndInTime) {
  look_time_ = absl::ZeroDuration();
  Restart();
  const auto would = repairer_->Repair(DryRun(Approved()));
  ASSERT_THAT(would, IsOk());
  EXPECT_FALSE(would->dry_run().would_run());
  EXPECT_THAT(would->dry_run().looks(0).error(), HasSubstr("not checked"));
  EXPECT_THAT(ran_, IsEmpty());
}

TEST_F(RepairerTest, WithoutAWarrantForJustThisNothingRuns) {
  v1::RepairRequest request;
  *request.mutable_action() = Approved();
  EXPECT_THAT(repairer_->Repair(request),
              StatusIs(absl::StatusCode::kPermissionDenied, ::testing::_));
  const auto altered = [&](auto change) {
    security::Warrant warrant = WarrantFor(Approved());
    change(warrant);
    request.set_warrant(signer_.Sign(warrant).value());
    EXPECT_THAT(repairer_->Repair(request),
                StatusIs(absl::StatusCode::kPermissionDenied, ::testing::_));
  };
  altered([](security::Warrant& warrant) { warrant.node = "n2"; });
  altered([](security::Warrant& warrant) { warrant.action += "b"; });
  altered([](security::Warrant& warrant) { warrant.content_hash[0] ^= 1; });
  request = Request(Approved());
  clock_.Advance(absl::Minutes(15));
  EXPECT_THAT(repairer_->Repair(request),
              StatusIs(absl::StatusCode::kPermissionDenied, ::testing::_));
  EXPECT_THAT(ran_, IsEmpty());
}

TEST_F(RepairerTest, WhatWasApprovedIsWhatIsKnownHereOrNothingIs) {
  const auto refused = [&](auto change, absl::StatusCode code) {
    galen::v1::Action action = Approved();
    change(action);
    action.set_content_hash(remediation::ContentHash(action));
    EXPECT_THAT(repairer_->Repair(Request(action)), StatusIs(code, ::testing::_))
        << action.ShortDebugString();
  };
  const auto denied = absl::StatusCode::kPermissionDenied;
  refused([](auto& a) { a.set_plan(1, "run: reboot"); }, denied);
  refused([](auto& a) { a.add_plan("run: reboot"); }, denied);
  refused([](auto& a) { a.set_text("Only look at n1."); }, denied);
  refused([](auto& a) { a.mutable_target()->set_node("n2"); }, denied);
  refused([](auto& a) { a.set_run("node.y"); }, absl::StatusCode::kInvalidArgument);
  refused([](auto& a) { a.set_run("kubernetes.cordon"); }, absl::StatusCode::kInvalidArgument);
  // If a site changes the action, it must be approved again.
  const v1::RepairRequest old = Request(Approved());
  known_.steps.push_back({"third"});
  Restart();
  EXPECT_THAT(repairer_->Repair(old), StatusIs(denied, HasSubstr("something else here")));
  EXPECT_THAT(ran_, IsEmpty());
}

TEST_F(RepairerTest, AWarrantIsGoodForOneRunAlsoAfterARestart) {
  const v1::RepairRequest request = Request(Approved());
  const auto first = repairer_->Repair(request);
  ASSERT_THAT(first, IsOk());
  ran_.clear();
  for (int i = 0; i < 2; ++i) {
    const auto again = repairer_->Repair(request);
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(again->SerializeAsString(), first->SerializeAsString());
    Restart();
  }
  EXPECT_THAT(ran_, IsEmpty());
}

TEST_F(RepairerTest, OneThatTheExecutorDidNotSurviveIsNotBegunAgain) {
  const v1::RepairRequest request = Request(Approved());
  struct Killed {};
  on_run_ = [](const std::string& line) {
    if (line == "second") throw Killed();
  };
  EXPECT_THROW(static_cast<void>(repairer_->Repair(request)), Killed);
  on_run_ = nullptr;
  ran_.clear();
  Restart();
  const auto after = repairer_->Repair(request);
  ASSERT_THAT(after, IsOk());
  EXPECT_EQ(after->state(), RepairResponse::INTERRUPTED);
  EXPECT_THAT(ran_, IsEmpty());
}

TEST_F(RepairerTest, WhatDoesNotHoldBeforeStopsIt) {
  prints_["look n1"] = "4711";
  const auto refused = repairer_->Repair(Request(Approved()));
  ASSERT_THAT(refused, IsOk());
  EXPECT_EQ(refused->state(), RepairResponse::REFUSED);
  EXPECT_THAT(refused->text(), HasSubstr("not so that nobody is there"));
  EXPECT_THAT(ran_, ElementsAre("look n1"));
  // A tool that cannot say so says nothing.
  prints_["look n1"] = "idle";
  ran_.clear();
  fails_ = "look n1";
  EXPECT_EQ(repairer_->Repair(Request(Approved()))->state(), RepairResponse::REFUSED);
  fails_.clear();
  missing_ = "look n1";
  EXPECT_EQ(repairer_->Repair(Request(Approved()))->state(), RepairResponse::REFUSED);
  EXPECT_THAT(ran_, ElementsAre("look n1", "look n1"));
}

TEST_F(RepairerTest, ACommandThatFailsIsTheLast) {
  fails_ = "first n1";
  const auto failed = repairer_->Repair(Request(Approved()));
  ASSERT_THAT(failed, IsOk());
  EXPECT_EQ(failed->state(), RepairResponse::FAILED);
  EXPECT_THAT(failed->text(), HasSubstr("first n1: exit code 3"));
  EXPECT_THAT(ran_, ElementsAre("look n1", "first n1"));
}

TEST_F(RepairerTest, ItIsDoneWhenWhatWasWantedIsSo) {
  prints_["state"] = "idle";
  int looks = 0;
  on_run_ = [&](const std::string& line) {
    if (line == "state" && ++looks == 3) prints_["state"] = "drained";
  };
  EXPECT_EQ(repairer_->Repair(Request(Approved()))->state(), RepairResponse::DONE);
  EXPECT_EQ(looks, 3);
  prints_["state"] = "idle";
  looks = 100;
  known_.time = absl::Milliseconds(600);
  Restart();
  const auto never = repairer_->Repair(Request(Approved()));
  EXPECT_EQ(never->state(), RepairResponse::FAILED);
  EXPECT_THAT(never->text(), HasSubstr("not so that it drains"));
}

TEST_F(RepairerTest, OnceItsTimeIsOverNothingIsBegun) {
  known_.time = absl::ZeroDuration();
  Restart();
  const auto refused = repairer_->Repair(Request(Approved()));
  ASSERT_THAT(refused, IsOk());
  EXPECT_EQ(refused->state(), RepairResponse::REFUSED);
  EXPECT_THAT(refused->text(), HasSubstr("its time of 0 was over before: nobody is there"));
  known_.before.clear();
  Restart();
  const auto failed = repairer_->Repair(Request(Approved()));
  ASSERT_THAT(failed, IsOk());
  EXPECT_EQ(failed->state(), RepairResponse::FAILED);
  EXPECT_THAT(failed->text(), HasSubstr("its time of 0 was over before: first n1"));
  EXPECT_THAT(ran_, IsEmpty());
}

TEST_F(RepairerTest, OneAtATime) {
  absl::Status second;
  const v1::RepairRequest other = Request(Approved());
  on_run_ = [&](const std::string& line) {
    if (line != "first n1") return;
    std::thread([&] { second = repairer_->Repair(other).status(); }).join();
  };
  EXPECT_EQ(repairer_->Repair(Request(Approved()))->state(), RepairResponse::DONE);
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kAborted, ::testing::_));
}

TEST_F(RepairerTest, WhereItCannotBeNotedNothingRuns) {
  const v1::RepairRequest request = Request(Approved());
  std::filesystem::remove_all(directory_);
  EXPECT_FALSE(repairer_->Repair(request).ok());
  EXPECT_THAT(ran_, IsEmpty());
}

TEST_F(RepairerTest, ANoteThatCannotBeReadIsNoLeave) {
  const v1::RepairRequest request = Request(Approved());
  ASSERT_THAT(repairer_->Repair(request), IsOk());
  for (const auto& note : std::filesystem::directory_iterator(directory_)) {
    std::ofstream(note.path(), std::ios::trunc) << "\xff\xff\xff";
  }
  ran_.clear();
  EXPECT_THAT(repairer_->Repair(request), StatusIs(absl::StatusCode::kDataLoss, ::testing::_));
  EXPECT_THAT(ran_, IsEmpty());
}

TEST_F(RepairerTest, WhatIsAllowedHasToBeKnown) {
  EXPECT_THAT(Repairer::Make({.node = "n1", .allowed = {"node.zap"}, .tell = nullptr}, {known_},
                             verifier_, *used_warrants_, nullptr, clock_)
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("there are node.x")));
}

TEST(UsedWarrantsTest, ANonceIsNoPath) {
  const std::string directory = absl::StrCat(::testing::TempDir(), "/galen-ledger-", getpid());
  const auto used_warrants = UsedWarrants::Open(directory);
  ASSERT_THAT(used_warrants, IsOk());
  for (const char* nonce : {"", "../x", "a/b", "xyz", "."}) {
    EXPECT_THAT((*used_warrants)->Begin(nonce),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_))
        << nonce;
  }
  EXPECT_THAT((*used_warrants)->Begin("00aa"), IsOk());
  EXPECT_THAT((*used_warrants)->Begin("00aa"),
              StatusIs(absl::StatusCode::kAlreadyExists, ::testing::_));
  (*used_warrants)->Forget(absl::Now() - absl::Hours(1));
  EXPECT_TRUE((*used_warrants)->Find("00aa")->has_value());
  (*used_warrants)->Forget(absl::Now() + absl::Hours(1));
  EXPECT_FALSE((*used_warrants)->Find("00aa")->has_value());
  std::filesystem::remove_all(directory);
  EXPECT_THAT(UsedWarrants::Open("/proc/nothing"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
}

}  // namespace
}  // namespace galen::node
