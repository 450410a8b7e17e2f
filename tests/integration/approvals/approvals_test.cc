// For any caller, wording and order: a machine runs what a person with the approver's role approved
// for it, once and in time, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/remediation/proposals.h"
#include "galen/v1/action_service.pb.h"
#include "tests/integration/approvals/world.h"

namespace galen::approvals {
namespace {

using galen::v1::Action;
using nlohmann::json;

constexpr char kDiagnosis[] = "/v1/tenants/acme/diagnoses/d1";
constexpr char kRun[] = "galen-execution";

// An approval, as the person saw it.
struct Approval {
  std::string action;
  std::string node;
  std::string steps;  // the commands of the plan, in their order, a line each
  absl::Time until;
  bool taken = false;  // its warrant went out: it is good until it ends, and cannot be taken back
  bool used = false;
};

std::string StepsOf(const json& plan) {
  std::string steps;
  for (const std::string line : plan) {
    if (absl::StartsWith(line, "run: ")) absl::StrAppend(&steps, line.substr(5), "\n");
  }
  // (People read an argument with spaces in quotes.)
  return absl::StrReplaceAll(steps, {{"'", ""}});
}

// One history: many parties act in a random order, and each command that a machine runs is compared
// with the approvals.
class History {
 public:
  explicit History(std::uint32_t seed) : world_(seed) {}

  void Run(int moves) {
    for (int i = 0; i < moves && !::testing::Test::HasFailure(); ++i) {
      switch (world_.Below(10)) {
        case 0:
          world_.GoodReport();
          break;
        case 1:
          world_.InjectIntoReport();
          break;
        case 2:
          world_.clock.Advance(absl::Seconds(world_.Below(250)));
          break;
        case 3:
        case 4:
          Decide();
          break;
        case 5:
          AskForAnything();
          break;
        case 6:
        case 7:
          Execute();
          break;
        case 8:
          TryDry();
          break;
        default:
          Forge();
      }
      // Only a request to an executor runs anything; its steps are checked separately.
      for (auto& [node, machine] : world_.machines) {
        EXPECT_THAT(machine->TakeSteps(), ::testing::IsEmpty()) << node;
      }
    }
  }

  int approved = 0, refused_decisions = 0, carried_out = 0, refused_requests = 0;
  int dry_runs = 0, refused_dry_runs = 0, forged_dry_runs = 0;

 private:
  const std::string& SomeText() { return InjectedTexts()[world_.Below(InjectedTexts().size())]; }

  std::vector<json> Listed() {
    const auto [status, body] = world_.Ask("approver", "GET", absl::StrCat(kDiagnosis, "/actions"));
    if (status != 200) return {};
    const json listed = json::parse(body);
    return listed.value("actions", std::vector<json>());
  }

  // Somebody decides about an action: an approver about a listed one, or anybody in any way.
  void Decide() {
    const std::vector<json> listed = Listed();
    if (listed.empty()) return;
    const json action = listed[world_.Below(listed.size())];
    const std::vector<std::string> all = {"approver", "customer", "operator",
                                          "stranger", "",         "ana"};
    const bool honest = world_.Chance(0.6);
    const std::string who = honest ? "approver" : all[world_.Below(all.size())];
    std::string etag = action.value("etag", "");
    if (!honest && world_.Chance(0.3))
      etag = seen_etags_.empty() ? SomeText() : seen_etags_.front();
    if (world_.Chance(0.2)) seen_etags_.insert(seen_etags_.begin(), action.value("etag", ""));
    json body = {{"etag", etag}, {"reason", honest ? "seen" : SomeText()}};
    std::optional<int> seconds;
    if (world_.Chance(0.3))
      seconds = static_cast<int>(world_.Below(world_.Chance(0.3) ? 5000 : 500)) - 50;
    if (seconds) body["lifetime"] = absl::StrCat(*seconds, "s");
    const bool approve = world_.Chance(0.85);
    const absl::Time now = world_.clock.Now();
    const auto [status, answer] = world_.Ask(
        who, "POST",
        absl::StrCat("/v1/", std::string(action["name"]), approve ? ":approve" : ":reject"),
        body.dump());
    if (status != 200) {
      ++refused_decisions;
      return;
    }
    EXPECT_EQ(who, "approver") << answer;
    EXPECT_EQ(etag, action.value("etag", "")) << answer;
    const json decided = json::parse(answer);
    if (!approve) {  // taken back
      for (Approval& approval : approvals_) {
        approval.used = approval.used || (!approval.taken && approval.action == action["name"]);
      }
      return;
    }
    ++approved;
    const absl::Duration lifetime = absl::Seconds(seconds.value_or(15 * 60));
    EXPECT_GT(lifetime, absl::ZeroDuration());
    EXPECT_LE(lifetime, absl::Hours(1));
    if (decided.value("run", "").empty()) return;  // a person does it
    approvals_.push_back({decided["name"], decided["target"].value("node", ""),
                          StepsOf(decided["plan"]), now + lifetime});
  }

  // Somebody asks for a dry run: of a listed action by the API, or of a machine itself with any
  // earlier request, also one with a good warrant. It changes nothing: neither what machines ran or
  // have on their disks, nor which actions are decided, due or reported.
  void TryDry() {
    const std::string before = Everything();
    if (world_.Chance(0.5)) {
      const std::vector<json> listed = Listed();
      if (listed.empty()) return;
      const json action = listed[world_.Below(listed.size())];
      const std::vector<std::string> all = {"approver", "operator", "customer", "stranger", ""};
      const std::string who = all[world_.Below(all.size())];
      const json body = world_.Chance(0.8) ? json::object() : json({{"etag", SomeText()}});
      const auto [status, answer] = world_.Ask(
          who, "POST", absl::StrCat("/v1/", std::string(action["name"]), ":dryRun"), body.dump());
      if (status == 200) {
        ++dry_runs;
        EXPECT_TRUE(who == "approver" || who == "operator") << who << answer;
        const json told = json::parse(answer);
        // The dry run tries the proposed plan, or says that the plan differs.
        const bool same =
            told.value("plan", json::array()) == action.value("plan", json::array()) &&
            told.value("contentHash", "") == action.value("contentHash", "");
        EXPECT_EQ(told.value("samePlan", false), same) << answer << action;
        EXPECT_FALSE(told.value("wouldRun", false) && !same) << answer;
      } else {
        ++refused_dry_runs;
      }
    } else {
      node::v1::RepairRequest request;
      if (!captured_.empty()) request = captured_[world_.Below(captured_.size())];
      const auto due = world_.approvals.Due(world_.clock.Now());
      if (due.ok() && !due->actions.empty() && world_.Chance(0.5)) {
        *request.mutable_action() = due->actions[world_.Below(due->actions.size())];
      }
      if (world_.Chance(0.2)) request.mutable_action()->set_run(SomeText());
      if (world_.Chance(0.2)) request.set_warrant(SomeText());
      if (world_.Chance(0.5)) MakeItFit(*request.mutable_action());
      request.set_dry_run(true);
      for (auto& [node, machine] : world_.machines) {
        if (machine->Repair(request).ok()) ++forged_dry_runs;
      }
    }
    EXPECT_EQ(Everything(), before);
  }

  // All that a dry run must leave as it is.
  std::string Everything() {
    std::string all = world_.Ask("approver", "GET", absl::StrCat(kDiagnosis, "/actions")).second;
    for (auto& [node, machine] : world_.machines) {
      absl::StrAppend(&all, "\n", node, " ran ", absl::StrJoin(machine->TakeSteps(), "; "));
      for (const auto& [file, text] : machine->Disk()) absl::StrAppend(&all, "\n", file, text);
    }
    for (const auto& actions :
         {world_.approvals.Due(world_.clock.Now()), world_.approvals.UnacknowledgedResults()}) {
      EXPECT_TRUE(actions.ok()) << actions.status();
      for (const Action& action : actions->actions)
        absl::StrAppend(&all, action.SerializeAsString());
    }
    return all;
  }

  // Requests of all kinds that are not decisions, with texts that ask for one.
  void AskForAnything() {
    const std::vector<std::string> paths = {kDiagnosis,
                                            absl::StrCat(kDiagnosis, ":submitFeedback"),
                                            absl::StrCat(kDiagnosis, ":escalate"),
                                            absl::StrCat(kDiagnosis, "/actions"),
                                            absl::StrCat(kDiagnosis, "/actions/", "0:approve"),
                                            absl::StrCat(kDiagnosis, "/actions/..:approve"),
                                            "/v1/tenants/acme/diagnoses",
                                            absl::StrCat(kDiagnosis, "/actions/", "0:dryRun"),
                                            "/galen.v1.ActionService/ApproveAction",
                                            "/galen.node.v1.NodeService/Repair"};
    const std::vector<std::string> verbs = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    const std::vector<std::string> all = {"approver", "customer", "operator", ""};
    json body = {{"text", SomeText()}, {"description", SomeText()}, {"reason", SomeText()}};
    if (world_.Chance(0.5)) body = {{"text", SomeText()}};
    if (world_.Chance(0.2)) body = {{"incident", {{"description", SomeText()}}}};
    world_.Ask(all[world_.Below(all.size())], verbs[world_.Below(verbs.size())],
               paths[world_.Below(paths.size())], body.dump());
  }

  // Acts as galen-execution: takes due actions and sends each to its machine.
  void Execute() {
    const auto due = world_.approvals.Due(world_.clock.Now());
    if (!due.ok()) return;
    for (const Action& action : due->actions) {
      const auto taken =
          world_.approvals.Consume(action.name(), action.content_hash(), kRun, world_.clock.Now());
      if (!taken.ok()) continue;
      const auto warrant = world_.approvals.WarrantOf(action.name(), kRun);
      if (!warrant.ok()) continue;
      node::v1::RepairRequest request;
      *request.mutable_action() = *taken;
      request.set_warrant(*warrant);
      captured_.push_back(request);
      for (Approval& approval : approvals_) {
        approval.taken = approval.taken || approval.action == action.name();
      }
      // Some are held back on their way, and sent later by the attacker.
      const bool done = world_.Chance(0.6) && Bring(action.target().node(), request);
      if (world_.Chance(0.9)) {
        const absl::Status finished =
            world_.approvals.Finish(action.name(), kRun, {done, done, "said"});
        EXPECT_TRUE(finished.ok()) << finished;
      }
    }
  }

  // An attacker who controls the network, and perhaps galen-execution, sends an earlier request, or
  // one like it, to any machine; and without any person, requests that nobody approved.
  void Forge() {
    node::v1::RepairRequest request;
    if (!captured_.empty()) request = captured_[world_.Below(captured_.size())];
    if (captured_.empty() || world_.Chance(0.3)) {
      const auto listed = world_.approvals.List(world_.diagnosis, world_.clock.Now());
      if (listed.ok() && !listed->empty()) {
        *request.mutable_action() = (*listed)[world_.Below(listed->size())];
      }
    }
    Action& action = *request.mutable_action();
    switch (world_.Below(9)) {
      case 0:
        action.mutable_target()->set_node(world_.Chance(0.5) ? "gpu-02" : SomeText());
        break;
      case 1:
        action.mutable_target()->set_pci_address(world_.Chance(0.5) ? "0000:0f:00.0" : SomeText());
        break;
      case 2:
        action.set_run(SomeText());
        break;
      case 3:
        if (action.plan_size() > 0) action.set_plan(0, SomeText());
        action.set_text(SomeText());
        break;
      case 4:
        action.set_name(absl::StrCat(kDiagnosis + 4, "/actions/", SomeText()));
        break;
      case 5:
        if (!request.warrant().empty()) {
          (*request.mutable_warrant())[world_.Below(request.warrant().size())] ^=
              static_cast<char>(1 + world_.Below(255));
        }
        break;
      case 6:
        request.set_warrant(SomeText());
        break;
      case 7:
        if (!captured_.empty()) {
          request.set_warrant(captured_[world_.Below(captured_.size())].warrant());
        }
        break;
      default:
        break;  // as it was: a replay
    }
    if (world_.Chance(0.7)) MakeItFit(action);
    auto machine = world_.machines.begin();
    std::advance(machine, static_cast<std::ptrdiff_t>(world_.Below(world_.machines.size())));
    if (world_.Chance(0.1)) machine->second->Restart();
    const bool right = world_.Chance(0.7) && world_.machines.count(action.target().node()) > 0;
    if (!Bring(right ? action.target().node() : machine->first, request)) ++refused_requests;
  }

  // Words and hash as a machine would have them, who knows as much.
  void MakeItFit(Action& action) const {
    const remediation::NodeAction* const how = world_.offered.Find(action.run());
    if (how != nullptr) {
      const auto filled = remediation::Fill(*how->run, action.target());
      if (filled.ok()) {
        action.set_text(filled->text);
        action.clear_plan();
        for (const std::string& line : remediation::PlanOf(*how->run, *filled))
          action.add_plan(line);
      }
    }
    action.set_content_hash(remediation::ContentHash(action));
  }

  // Sends a request to a machine, and compares the commands that it runs with the approvals.
  // Whether it ran anything.
  bool Bring(const std::string& node, const node::v1::RepairRequest& request) {
    const auto machine = world_.machines.find(node);
    if (machine == world_.machines.end()) return false;
    const auto answered = machine->second->Repair(request);
    const std::vector<std::string> steps = machine->second->TakeSteps();
    if (steps.empty()) return false;
    const std::string ran = absl::StrCat(absl::StrJoin(steps, "\n"), "\n");
    for (Approval& approval : approvals_) {
      if (approval.used || approval.node != node || approval.steps != ran ||
          approval.until < world_.clock.Now()) {
        continue;
      }
      approval.used = true;
      ++carried_out;
      return true;
    }
    ADD_FAILURE() << node << " ran, and nobody approved it:\n"
                  << ran << (answered.ok() ? answered->ShortDebugString() : "") << "\n"
                  << request.action().ShortDebugString() << "\nof " << approvals_.size()
                  << " approvals, these are of its commands:" << OfSteps(ran);
    return true;
  }

  std::string OfSteps(const std::string& ran) {
    std::string all;
    for (const Approval& approval : approvals_) {
      if (approval.steps != ran) continue;
      absl::StrAppend(&all, "\n", approval.action, " on ", approval.node, ", ends in ",
                      absl::FormatDuration(approval.until - world_.clock.Now()),
                      approval.used ? ", used or taken back" : "");
    }
    return all;
  }

  World world_;
  std::vector<Approval> approvals_;
  std::vector<std::string> seen_etags_;
  std::vector<node::v1::RepairRequest> captured_;
};

TEST(Approvals, NoMachineRunsWhatNoPersonApprovedWhateverAnybodySaysOrSends) {
  int approved = 0, refused_decisions = 0, carried_out = 0, refused_requests = 0;
  int dry_runs = 0, refused_dry_runs = 0, forged_dry_runs = 0;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    History history(seed);
    history.Run(150);
    approved += history.approved;
    refused_decisions += history.refused_decisions;
    carried_out += history.carried_out;
    refused_requests += history.refused_requests;
    dry_runs += history.dry_runs;
    refused_dry_runs += history.refused_dry_runs;
    forged_dry_runs += history.forged_dry_runs;
    if (HasFailure()) return;
  }
  std::cout << "approved " << approved << ", decisions refused " << refused_decisions
            << ", carried out " << carried_out << ", requests to machines refused "
            << refused_requests << ", dry runs " << dry_runs << " and of machines "
            << forged_dry_runs << ", dry runs refused " << refused_dry_runs << std::endl;
  // Else it would have shown nothing.
  EXPECT_GT(approved, 100);
  EXPECT_GT(carried_out, 100);
  EXPECT_GT(refused_decisions, 100);
  EXPECT_GT(refused_requests, 500);
  EXPECT_GT(dry_runs, 30);
  EXPECT_GT(forged_dry_runs, 50);
  EXPECT_GT(refused_dry_runs, 50);
}

}  // namespace
}  // namespace galen::approvals
