#include "services/execution/check_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::execution {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

galen::v1::CheckResult Result(const std::string& check, const std::string& node) {
  galen::v1::CheckResult result;
  result.set_id(absl::StrCat(check, "@", node));
  result.set_check(check);
  result.set_node(node);
  result.set_status(galen::v1::CheckResult::PASS);
  return result;
}

// Answers each call by a function of the test.
class FakeNodeClient final : public clients::NodeClient {
 public:
  using Behaviour = std::function<absl::Status(const node::v1::RunChecksRequest&,
                                               clients::OnMessage<galen::v1::CheckResult>&)>;
  explicit FakeNodeClient(Behaviour behaviour) : behaviour_(std::move(behaviour)) {}
  clients::Cancel RunChecks(const node::v1::RunChecksRequest& request, absl::Time,
                            clients::OnMessage<galen::v1::CheckResult> on_result,
                            absl::AnyInvocable<void(absl::Status) &&> done) override {
    calls.push_back(request);
    const absl::Status status = behaviour_(request, on_result);
    std::move(done)(status);
    return [this] { ++cancels; };
  }
  void Describe(const node::v1::DescribeRequest&, absl::Time,
                clients::Done<node::v1::DescribeResponse> done) override {
    std::move(done)(node::v1::DescribeResponse());
  }
  std::vector<node::v1::RunChecksRequest> calls;
  int cancels = 0;

 private:
  const Behaviour behaviour_;
};

// A node that does its work.
absl::Status Honest(const node::v1::RunChecksRequest& request,
                    clients::OnMessage<galen::v1::CheckResult>& on_result) {
  for (const std::string& check : request.checks()) on_result(Result(check, request.node()));
  return absl::OkStatus();
}

knowledge::v1::KnowledgeBase TwoChecks() {
  knowledge::v1::KnowledgeBase base;
  base.add_checks()->set_name("gpu.ecc");
  base.add_checks()->set_name("system.memory");
  return base;
}

class CheckRunnerTest : public ::testing::Test {
 protected:
  struct Outcome {
    std::map<std::string, galen::v1::CheckResult> results;
    absl::Status status = absl::InternalError("done was not called");
  };

  static CheckRunner::Options Options() {
    CheckRunner::Options options;
    options.bundle_nodes = [](const std::string&) {
      return absl::StatusOr<std::vector<std::string>>({"b1", "b2"});
    };
    return options;
  }

  static Outcome Run(const CheckRunner& runner, const std::vector<std::string>& checks,
                     const std::vector<std::string>& nodes, const std::string& bundle = "") {
    v1::RunChecksRequest request;
    request.set_bundle(bundle);
    for (const std::string& check : checks) request.add_checks(check);
    for (const std::string& node : nodes) request.add_nodes(node);
    return Run(runner, request);
  }
  static Outcome Run(const CheckRunner& runner, const v1::RunChecksRequest& request) {
    Outcome outcome;
    runner.RunChecks(
        request, absl::InfiniteFuture(),
        [&](galen::v1::CheckResult result) {
          EXPECT_TRUE(outcome.results.emplace(result.id(), result).second)
              << "twice: " << result.id();
        },
        [&](const absl::Status& status) { outcome.status = status; });
    return outcome;
  }

  const knowledge::Knowledge knowledge_{TwoChecks()};
  galen::testing::FakeClock clock_;
  FakeNodeClient honest_{Honest};
};

TEST_F(CheckRunnerTest, GivesOneResultForEachPairOfCheckAndNode) {
  const NodeRegistry registry({{"n1", &honest_}, {"n2", &honest_}}, {});
  const CheckRunner runner(registry, knowledge_, clock_, Options());
  const Outcome outcome = Run(runner, {"gpu.ecc", "system.memory"}, {"n1", "n2"});
  EXPECT_THAT(outcome.status, IsOk());
  EXPECT_EQ(outcome.results.size(), 4u);
}

TEST_F(CheckRunnerTest, AnotherTenantsNodesAreAsIfThereWereNone) {
  const std::string path = ::testing::TempDir() + "/check-runner-tenant-nodes.yaml";
  std::ofstream(path) << "tenants: {acme: ['a*'], globex: ['g*']}";
  auto file = TenantNodesFile::Open(path, clock_, [](const std::string&) {});
  std::remove(path.c_str());
  ASSERT_THAT(file.status(), IsOk());
  FakeNodeClient others(Honest);
  const NodeRegistry registry({{"a1", &honest_}, {"g1", &others}, {"x1", &others}}, {});
  CheckRunner::Options options = Options();
  options.tenant_nodes = file->get();
  const CheckRunner runner(registry, knowledge_, clock_, options);

  v1::ResolveNodesRequest resolve;
  resolve.set_diagnosis("tenants/acme/diagnoses/d");
  EXPECT_THAT(runner.ResolveNodes(resolve)->nodes(), ElementsAre("a1"));
  resolve.clear_diagnosis();  // an operator
  EXPECT_THAT(runner.ResolveNodes(resolve)->nodes(), ElementsAre("a1", "g1", "x1"));

  v1::RunChecksRequest request;
  request.add_checks("gpu.ecc");
  for (const char* node : {"a1", "g1", "x1", "there-is-none"}) request.add_nodes(node);
  request.set_diagnosis("tenants/acme/diagnoses/d");
  Outcome outcome = Run(runner, request);
  EXPECT_THAT(outcome.status, IsOk());
  EXPECT_TRUE(others.calls.empty());
  EXPECT_EQ(outcome.results["gpu.ecc@a1"].status(), galen::v1::CheckResult::PASS);
  const std::string& none = outcome.results["gpu.ecc@there-is-none"].message();
  for (const char* node : {"g1", "x1"}) {
    const galen::v1::CheckResult& result = outcome.results[absl::StrCat("gpu.ecc@", node)];
    EXPECT_EQ(result.status(), galen::v1::CheckResult::ERROR);
    EXPECT_EQ(absl::StrReplaceAll(result.message(), {{node, "there-is-none"}}), none);
  }
  // A bundle contains only the tenant's own data.
  request.set_bundle("b");
  request.clear_nodes();
  request.add_nodes("b1");
  const NodeRegistry with_reader({}, {&honest_});
  const CheckRunner reading(with_reader, knowledge_, clock_, options);
  EXPECT_EQ(Run(reading, request).results["gpu.ecc@b1"].status(), galen::v1::CheckResult::PASS);
}

TEST_F(CheckRunnerTest, TellsResultsAndSilentNodesInNumbers) {
  FakeNodeClient silent([](const node::v1::RunChecksRequest&, auto&) {
    return absl::UnavailableError("connection refused");
  });
  const NodeRegistry registry({{"n1", &honest_}, {"n2", &silent}}, {});
  const CheckRunner runner(registry, knowledge_, clock_, Options());
  Run(runner, {"gpu.ecc"}, {"n1", "n2"});
  metrics::Registry numbers;
  numbers.Add(runner.metrics());
  const std::string text = numbers.Text();
  for (const char* line :
       {"galen_execution_check_results_total{check=\"gpu.ecc\",status=\"PASS\"} 1\n",
        "galen_execution_check_results_total{check=\"gpu.ecc\",status=\"ERROR\"} 1\n",
        "galen_execution_nodes 2\n", "galen_execution_nodes_silent 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  clock_.Advance(absl::Minutes(2));
  EXPECT_THAT(numbers.Text(), HasSubstr("galen_execution_nodes_silent 0\n"));
}

TEST_F(CheckRunnerTest, ACallKeepsTheKnowledgeThatItBeganWith) {
  auto first = std::make_shared<const knowledge::Knowledge>(TwoChecks());
  const std::weak_ptr<const knowledge::Knowledge> began_with = first;
  HotSwap<knowledge::Knowledge> current(std::move(first));
  FakeNodeClient replacing([&](const node::v1::RunChecksRequest& request, auto& on_result) {
    // Twice: nobody but the call has the first one then.
    for (int i = 0; i < 2; ++i) {
      current.Set(std::make_shared<const knowledge::Knowledge>(knowledge::v1::KnowledgeBase()));
    }
    EXPECT_FALSE(began_with.expired());
    return Honest(request, on_result);
  });
  const NodeRegistry registry({{"n1", &replacing}}, {});
  const CheckRunner runner(registry, current, clock_, Options());
  const Outcome outcome = Run(runner, {"gpu.ecc"}, {"n1"});
  EXPECT_THAT(outcome.status, IsOk());
  EXPECT_EQ(outcome.results.at("gpu.ecc@n1").status(), galen::v1::CheckResult::PASS);
  EXPECT_TRUE(began_with.expired()) << "and lets it go";
}

TEST_F(CheckRunnerTest, ACheckThatWasTakenOutIsRunForADiagnosisThatBeganBefore) {
  HotSwap<knowledge::Knowledge> current(std::make_shared<const knowledge::Knowledge>(TwoChecks()));
  const NodeRegistry registry({{"n1", &honest_}}, {});
  const CheckRunner runner(registry, current, clock_, Options());
  current.Set(std::make_shared<const knowledge::Knowledge>(knowledge::v1::KnowledgeBase()));
  EXPECT_THAT(Run(runner, {"gpu.ecc"}, {"n1"}).status, IsOk());
  current.Set(std::make_shared<const knowledge::Knowledge>(knowledge::v1::KnowledgeBase()));
  EXPECT_THAT(Run(runner, {"gpu.ecc"}, {"n1"}).status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("gpu.ecc")));
}

TEST_F(CheckRunnerTest, ANodeThatDiesFailsItsOwnChecksOnly) {
  FakeNodeClient dying([](const node::v1::RunChecksRequest& request, auto& on_result) {
    on_result(Result("gpu.ecc", request.node()));
    return absl::UnavailableError("connection reset");
  });
  const NodeRegistry registry({{"good", &honest_}, {"dying", &dying}}, {});
  const CheckRunner runner(registry, knowledge_, clock_, Options());
  const Outcome outcome = Run(runner, {"gpu.ecc", "system.memory"}, {"good", "dying"});
  EXPECT_THAT(outcome.status, IsOk());
  ASSERT_EQ(outcome.results.size(), 4u);
  EXPECT_EQ(outcome.results.at("gpu.ecc@dying").status(), galen::v1::CheckResult::PASS);
  EXPECT_EQ(outcome.results.at("system.memory@dying").status(), galen::v1::CheckResult::ERROR);
  EXPECT_THAT(outcome.results.at("system.memory@dying").message(), HasSubstr("connection reset"));
  EXPECT_EQ(outcome.results.at("system.memory@good").status(), galen::v1::CheckResult::PASS);
}

TEST_F(CheckRunnerTest, ADeadNodeDelaysOneCallAndIsAskedAgainLater) {
  FakeNodeClient dead([](const auto&, auto&) { return absl::DeadlineExceededError("silence"); });
  const NodeRegistry registry({{"dead", &dead}}, {});
  const CheckRunner runner(registry, knowledge_, clock_, Options());
  Run(runner, {"gpu.ecc"}, {"dead"});
  const Outcome second = Run(runner, {"system.memory"}, {"dead"});
  EXPECT_EQ(dead.calls.size(), 1u);
  EXPECT_EQ(second.results.at("system.memory@dead").status(), galen::v1::CheckResult::ERROR);
  EXPECT_THAT(second.results.at("system.memory@dead").message(), HasSubstr("silence"));
  clock_.Advance(absl::Minutes(1));
  Run(runner, {"system.memory"}, {"dead"});
  EXPECT_EQ(dead.calls.size(), 2u);
}

TEST_F(CheckRunnerTest, WhatAReaderOfBundlesLeavesOpenAnotherOneReads) {
  FakeNodeClient dying([](const node::v1::RunChecksRequest& request, auto& on_result) {
    on_result(Result("gpu.ecc", request.node()));
    return absl::UnavailableError("killed");
  });
  // One of the two is the first for a node.
  for (const auto& readers : {std::vector<clients::NodeClient*>{&dying, &honest_},
                              std::vector<clients::NodeClient*>{&honest_, &dying}}) {
    const NodeRegistry registry({}, readers);
    const CheckRunner runner(registry, knowledge_, clock_, Options());
    honest_.calls.clear();
    const Outcome outcome = Run(runner, {"gpu.ecc", "system.memory"}, {"b1"}, "bundle");
    EXPECT_THAT(outcome.status, IsOk());
    ASSERT_EQ(outcome.results.size(), 2u);
    for (const auto& [id, result] : outcome.results) {
      EXPECT_EQ(result.status(), galen::v1::CheckResult::PASS) << id;
    }
  }
  ASSERT_EQ(dying.calls.size(), 1u);
  ASSERT_EQ(honest_.calls.size(), 1u) << "in one of the orders it is first";
}

TEST_F(CheckRunnerTest, WhereNoReaderAnswersTheCallCanBeMadeAgain) {
  bool down = true;
  FakeNodeClient reader([&](const node::v1::RunChecksRequest& request, auto& on_result) {
    if (!down) return Honest(request, on_result);
    on_result(Result("gpu.ecc", request.node()));
    return absl::UnavailableError("killed");
  });
  const NodeRegistry registry({}, {&reader});
  const CheckRunner runner(registry, knowledge_, clock_, Options());
  const Outcome failed = Run(runner, {"gpu.ecc", "system.memory"}, {"b1"}, "bundle");
  EXPECT_THAT(failed.status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("killed")));
  EXPECT_EQ(failed.results.size(), 1u) << "and no result is made up";
  down = false;
  const Outcome again = Run(runner, {"system.memory"}, {"b1"}, "bundle");
  EXPECT_THAT(again.status, IsOk()) << "at once: it is not left alone as a dead node is";
  EXPECT_EQ(again.results.at("system.memory@b1").status(), galen::v1::CheckResult::PASS);
}

TEST_F(CheckRunnerTest, EverythingOfABundleIsEveryCheckOnEveryNode) {
  const NodeRegistry registry({}, {&honest_});
  const CheckRunner runner(registry, knowledge_, clock_, Options());
  v1::RunChecksRequest request;
  request.set_bundle("bundle");
  request.set_everything(true);
  const Outcome outcome = Run(runner, request);
  EXPECT_THAT(outcome.status, IsOk());
  EXPECT_EQ(outcome.results.size(), 4u);
  for (const node::v1::RunChecksRequest& call : honest_.calls) {
    EXPECT_FALSE(call.allow_intrusive());
  }
  request.clear_bundle();
  EXPECT_THAT(Run(runner, request).status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("everything")));
}

TEST_F(CheckRunnerTest, ALaterLookOfADiagnosisRunsAgainWhatRan) {
  const NodeRegistry registry({{"n1", &honest_}}, {});
  const CheckRunner runner(registry, knowledge_, clock_, Options());
  v1::RunChecksRequest request;
  request.add_checks("gpu.ecc");
  request.add_nodes("n1");
  request.set_diagnosis("tenants/t/diagnoses/d");
  for (const int look : {1, 1, 2, 2}) {
    request.set_look(look);
    EXPECT_THAT(Run(runner, request).status, IsOk());
  }
  EXPECT_EQ(honest_.calls.size(), 2u) << "once for each look";
}

TEST_F(CheckRunnerTest, AnUnknownNodeIsAnErrorResultThatSaysWhatToDo) {
  const NodeRegistry registry({{"n1", &honest_}}, {});
  const CheckRunner runner(registry, knowledge_, clock_, Options());
  const Outcome outcome = Run(runner, {"gpu.ecc"}, {"nobody"});
  EXPECT_EQ(outcome.results.at("gpu.ecc@nobody").status(), galen::v1::CheckResult::ERROR);
  EXPECT_THAT(outcome.results.at("gpu.ecc@nobody").message(), HasSubstr("galen-node"));
}

TEST_F(CheckRunnerTest, AnUnknownCheckIsRefusedBeforeAnyNodeIsAsked) {
  const NodeRegistry registry({{"n1", &honest_}}, {});
  const CheckRunner runner(registry, knowledge_, clock_, Options());
  EXPECT_THAT(Run(runner, {"gpu.ecc", "rm.rf"}, {"n1"}).status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rm.rf")));
  EXPECT_TRUE(honest_.calls.empty());
}

struct Lie {
  const char* what;
  std::function<void(galen::v1::CheckResult&)> tell;
  const char* noted;
};

TEST_F(CheckRunnerTest, ANodeThatLiesIsNotBelievedAndSpeaksForNobodyElse) {
  const Lie lies[] = {
      {"another node's result", [](auto& r) { r.set_node("other"); }, "node other"},
      {"a check nobody asked for", [](auto& r) { r.set_check("gpu.ecc2"); }, "gpu.ecc2"},
      {"a forged evidence id", [](auto& r) { r.set_id("gpu.ecc@other"); }, "evidence id"},
      {"no status", [](auto& r) { r.clear_status(); }, "status"},
      {"a finding about another node",
       [](auto& r) { r.add_findings()->mutable_subject()->set_node("other"); }, "node other"},
      {"a flood of findings",
       [](auto& r) {
         for (int i = 0; i <= 10000; ++i) r.add_findings();
       },
       "10,000"},
  };
  for (const Lie& lie : lies) {
    FakeNodeClient liar([&](const node::v1::RunChecksRequest& request, auto& on_result) {
      galen::v1::CheckResult result = Result("gpu.ecc", request.node());
      lie.tell(result);
      on_result(result);
      return absl::OkStatus();
    });
    const NodeRegistry registry({{"liar", &liar}}, {});
    const CheckRunner runner(registry, knowledge_, clock_, Options());
    const Outcome outcome = Run(runner, {"gpu.ecc"}, {"liar"});
    ASSERT_EQ(outcome.results.size(), 1u) << lie.what;
    EXPECT_EQ(outcome.results.at("gpu.ecc@liar").status(), galen::v1::CheckResult::ERROR)
        << lie.what;
    EXPECT_THAT(outcome.results.at("gpu.ecc@liar").message(), HasSubstr(lie.noted)) << lie.what;
  }
}

TEST_F(CheckRunnerTest, ANodeCannotFloodAReportWithItsWords) {
  const std::string flood(std::size_t{3} << 20, 'x');
  FakeNodeClient liar([&](const node::v1::RunChecksRequest& request, auto& on_result) {
    galen::v1::CheckResult result = Result("gpu.ecc", request.node());
    result.set_message(flood);
    result.set_excerpt("\x1b[2J");
    on_result(result);
    on_result(Result(flood, request.node()));
    return absl::OkStatus();
  });
  const NodeRegistry registry({{"liar", &liar}}, {});
  const CheckRunner runner(registry, knowledge_, clock_, Options());
  const Outcome outcome = Run(runner, {"gpu.ecc", "system.memory"}, {"liar"});
  EXPECT_THAT(outcome.results.at("gpu.ecc@liar").message(), ::testing::SizeIs(1024));
  EXPECT_EQ(outcome.results.at("gpu.ecc@liar").excerpt(), "");
  EXPECT_LT(outcome.results.at("system.memory@liar").message().size(), 1024u);
}

TEST_F(CheckRunnerTest, ASecondResultOfTheSameCheckIsDropped) {
  FakeNodeClient repeating([](const node::v1::RunChecksRequest& request, auto& on_result) {
    on_result(Result("gpu.ecc", request.node()));
    on_result(Result("gpu.ecc", request.node()));
    return absl::OkStatus();
  });
  const NodeRegistry registry({{"n1", &repeating}}, {});
  const CheckRunner runner(registry, knowledge_, clock_, Options());
  EXPECT_EQ(Run(runner, {"gpu.ecc"}, {"n1"}).results.size(), 1u);
}

TEST_F(CheckRunnerTest, ResolvesTheNodesOfABundleAndNamesTheOnesItLacks) {
  const NodeRegistry registry({{"live", &honest_}}, {&honest_});
  const CheckRunner runner(registry, knowledge_, clock_, Options());
  v1::ResolveNodesRequest request;
  EXPECT_THAT(runner.ResolveNodes(request)->nodes(), ElementsAre("live"));
  request.set_bundle("/bundles/x");
  EXPECT_THAT(runner.ResolveNodes(request)->nodes(), UnorderedElementsAre("b1", "b2"));
  request.add_nodes("b9");
  EXPECT_THAT(runner.ResolveNodes(request),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("b1, b2")));
}

TEST_F(CheckRunnerTest, WordsOfProgressPassAndTheResultStillFollows) {
  FakeNodeClient slow([](const node::v1::RunChecksRequest& request, auto& on_result) {
    galen::v1::CheckResult interim = Result("gpu.ecc", request.node());
    interim.set_status(galen::v1::CheckResult::RUNNING);
    interim.set_progress(0.5);
    on_result(interim);
    on_result(interim);
    return Honest(request, on_result);
  });
  const NodeRegistry registry({{"n1", &slow}}, {});
  const CheckRunner runner(registry, knowledge_, clock_, Options());
  v1::RunChecksRequest request;
  request.add_checks("gpu.ecc");
  request.add_nodes("n1");
  request.set_progress(true);
  std::vector<galen::v1::CheckResult::Status> statuses;
  runner.RunChecks(
      request, absl::InfiniteFuture(),
      [&](galen::v1::CheckResult result) { statuses.push_back(result.status()); },
      [](const absl::Status&) {});
  EXPECT_TRUE(slow.calls.at(0).progress());
  EXPECT_THAT(statuses, ElementsAre(galen::v1::CheckResult::RUNNING,
                                    galen::v1::CheckResult::RUNNING, galen::v1::CheckResult::PASS));
}

TEST_F(CheckRunnerTest, ADiagnosisThatAsksAgainDoesNotLoadTheNodeAgain) {
  const NodeRegistry registry({{"n1", &honest_}}, {});
  const CheckRunner runner(registry, knowledge_, clock_, Options());
  v1::RunChecksRequest request;
  request.add_checks("gpu.ecc");
  request.add_nodes("n1");
  request.set_diagnosis("diagnoses/1");
  int results = 0;
  const auto run = [&] {
    runner.RunChecks(
        request, absl::InfiniteFuture(), [&](galen::v1::CheckResult) { ++results; },
        [](const absl::Status& status) { EXPECT_THAT(status, IsOk()); });
  };
  run();
  run();
  EXPECT_EQ(results, 2);
  EXPECT_EQ(honest_.calls.size(), 1u);
  (*request.add_parameters()).set_check("gpu.ecc");
  (*request.mutable_parameters(0)->mutable_values())["seconds"] = "5";
  run();
  EXPECT_EQ(honest_.calls.size(), 2u) << "with another parameter it is another question";
  EXPECT_EQ(honest_.calls.at(1).parameters_size(), 1);
}

TEST_F(CheckRunnerTest, CancellingACallCancelsItsCallsToTheNodes) {
  FakeNodeClient other(Honest);
  const NodeRegistry registry({{"n1", &honest_}, {"n2", &other}}, {});
  const CheckRunner runner(registry, knowledge_, clock_, Options());
  v1::RunChecksRequest request;
  request.add_checks("gpu.ecc");
  request.add_nodes("n1");
  request.add_nodes("n2");
  const clients::Cancel cancel = runner.RunChecks(
      request, absl::InfiniteFuture(), [](galen::v1::CheckResult) {}, [](const absl::Status&) {});
  EXPECT_EQ(honest_.cancels + other.cancels, 0);
  cancel();
  cancel();
  EXPECT_EQ(honest_.cancels, 1);
  EXPECT_EQ(other.cancels, 1);
}

TEST_F(CheckRunnerTest, ACheckThatComparesNodesAnswersOnceAllHaveAnswered) {
  knowledge::v1::KnowledgeBase base = TwoChecks();
  knowledge::v1::Comparison& comparison = *base.mutable_checks(0)->add_comparisons();
  comparison.set_finding("differs");
  comparison.set_of("value");
  comparison.set_how("differs");
  const knowledge::Knowledge knowledge(base);
  const auto says = [](std::int64_t value) {
    return [value](const node::v1::RunChecksRequest& request, auto& on_result) {
      galen::v1::CheckResult result = Result("gpu.ecc", request.node());
      galen::v1::Finding& finding = *result.add_findings();
      finding.set_name("value");
      finding.set_int_value(value);
      on_result(std::move(result));
      return absl::OkStatus();
    };
  };
  FakeNodeClient same(says(1));
  FakeNodeClient other(says(2));
  FakeNodeClient dead([](const auto&, auto&) { return absl::UnavailableError("gone"); });
  const NodeRegistry registry({{"a", &same}, {"b", &same}, {"c", &other}, {"d", &dead}}, {});
  const CheckRunner runner(registry, knowledge, clock_, Options());
  const Outcome outcome = Run(runner, {"gpu.ecc"}, {"a", "b", "c", "d"});
  ASSERT_EQ(outcome.results.size(), 4u);
  EXPECT_FALSE(outcome.results.at("gpu.ecc@a").findings(1).bool_value());
  EXPECT_TRUE(outcome.results.at("gpu.ecc@c").findings(1).bool_value());
  EXPECT_EQ(outcome.results.at("gpu.ecc@d").status(), galen::v1::CheckResult::ERROR);

  // A call for a diagnosis that was interrupted, and is repeated for the node that did not answer.
  v1::RunChecksRequest request;
  request.set_diagnosis("tenants/t/diagnoses/d");
  request.add_checks("gpu.ecc");
  for (const char* node : {"a", "b", "c"}) request.add_nodes(node);
  const Outcome whole = Run(runner, request);
  request.clear_nodes();
  request.add_nodes("c");
  const Outcome rest = Run(runner, request);
  ASSERT_EQ(rest.results.size(), 1u);
  EXPECT_EQ(rest.results.at("gpu.ecc@c").DebugString(),
            whole.results.at("gpu.ecc@c").DebugString());
  EXPECT_TRUE(rest.results.at("gpu.ecc@c").findings(1).bool_value());
  request.set_diagnosis("tenants/t/diagnoses/other");
  EXPECT_FALSE(Run(runner, request).results.at("gpu.ecc@c").findings(1).has_bool_value())
      << "alone, it cannot be told";
}

}  // namespace
}  // namespace galen::execution
