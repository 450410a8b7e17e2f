// The prompts of an investigation, and the places that a model names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/reasoner/llm/lines.h"
#include "common/reasoner/llm/llm_reasoner.h"
#include "prompts_book.h"
#include "tests/testing/reasoner/fake_llm_client.h"
#include "tests/testing/reasoner/fake_reasoner.h"

namespace galen::reasoner::llm {
namespace investigation_text_test {

using galen::testing::AnswerTheDraft;
using galen::testing::FakeLlmClient;
using galen::testing::FakeReasoner;
using galen::v1::CheckResult;
using galen::v1::Verdict;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

CheckResult& AddResult(v1::InvestigateQuestion& question, const std::string& check,
                       const std::string& node, CheckResult::Status status) {
  CheckResult& result = *question.mutable_evidence()->add_results();
  result.set_check(check);
  result.set_node(node);
  result.set_id(absl::StrCat(check, "@", node));
  result.set_status(status);
  return result;
}

void AddCount(CheckResult& result, const std::string& name, int value,
              const std::string& device = "") {
  galen::v1::Finding& finding = *result.add_findings();
  finding.set_name(name);
  finding.set_int_value(value);
  finding.mutable_subject()->set_device(device);
}

std::unique_ptr<const knowledge::Knowledge> BookWithRule() {
  return PromptsBook([](knowledge::v1::KnowledgeBase& base) {
    for (const char* name : {"rdma.link", "rdma.other"}) {
      knowledge::v1::Check& check = *base.add_checks();
      check.set_name(name);
      check.set_kind(knowledge::v1::Check::EXTRACT);
    }
    for (knowledge::v1::Label& label : *base.mutable_labels()) {
      if (label.label() != "NET.LINK.DOWN") continue;
      knowledge::v1::Rule& rule = *label.add_confirm();
      rule.set_check("rdma.link");
      rule.set_finding("replays");
      rule.set_op(knowledge::v1::Rule::GT);
      rule.set_value("0");
    }
  });
}

// The first prompt of an investigation; the link is the likeliest cause for the built-in reasoner.
std::string PromptOf(const v1::InvestigateQuestion& question, double link = 0.9) {
  const auto book = BookWithRule();
  FakeReasoner rules;
  Verdict verdict;
  verdict.set_label("NET.LINK.DOWN");
  verdict.set_probability(link);
  galen::v1::Reason& reason = *verdict.add_reasons();
  reason.set_direction(galen::v1::Reason::SUPPORTS);
  reason.set_text("the port flaps");
  reason.add_evidence_ids("signal/flap@train.log");
  rules.verdicts["NET.LINK.DOWN"] = verdict;
  FakeLlmClient client(AnswerTheDraft);
  const LlmReasoner reasoner(*book, rules, {&client});
  const auto answer = reasoner.Investigate(question, absl::InfiniteFuture());
  EXPECT_TRUE(answer.ok()) << answer.status();
  return client.requests().empty() ? "" : client.requests().at(0).messages.at(1).content;
}

v1::InvestigateQuestion Reported(const std::string& words) {
  v1::InvestigateQuestion question;
  question.mutable_incident()->set_description(words);
  return question;
}

TEST(CaseOf, ShowsParagraphsWhole) {
  const std::string end = "and that is all.";
  const std::string prompt = PromptOf(Reported(std::string(1500, 'w') + " " + end));
  EXPECT_THAT(prompt, HasSubstr(end));
}

TEST(CaseOf, SaysWhichPartsWereCutOutOfTheReport) {
  v1::InvestigateQuestion question = Reported("Environment of box A:");
  galen::v1::Artefact& part = *question.mutable_incident()->add_artefacts();
  part.set_first_line(7);
  part.set_last_line(12);
  part.set_source("issue.md");
  part.set_title("variables of the job");
  EXPECT_THAT(PromptOf(question), HasSubstr("lines 7-12 of issue.md: variables of the job"));
}

TEST(CaseOf, ShowsWhatWasLookedAtFirstWithItsGapsAndWhatItsMessagesTellOf) {
  v1::InvestigateQuestion question = Reported("It hangs.");
  question.mutable_incident()->mutable_start_time()->set_seconds(1'000'000);
  galen::v1::InvestigationTurn& turn = *question.add_transcript();
  turn.add_calls()->mutable_read_lines();
  galen::v1::ToolResult& shown = *turn.add_results();
  const auto add = [&](int number, const char* text, std::int64_t seconds) {
    galen::v1::Citation& line = *shown.add_lines();
    line.set_artefact("train.log");
    line.set_line(number);
    line.set_quote(text);
    line.mutable_time()->set_seconds(seconds);
  };
  add(4, "link flaps", 1'000'000);
  add(8, "link is down", 1'000'000);
  add(1, "started long ago", 1'000'000 - 200'000);
  galen::v1::Signal& signal = *question.mutable_evidence()->mutable_summary()->add_signals();
  signal.set_id("signal/flap@train.log");
  signal.set_signal("flap");
  signal.set_source("train.log");
  signal.set_first_line(4);
  signal.set_excerpt("link flaps");
  signal.set_strength(galen::v1::STRONG);
  signal.add_labels("NET.LINK.DOWN");
  galen::v1::Signal old = signal;
  old.set_id("signal/start@train.log");
  old.set_signal("start");
  old.set_first_line(1);
  old.mutable_last_time()->set_seconds(1'000'000 - 200'000);
  galen::v1::Signal bare = signal;
  bare.set_id("signal/down@train.log");
  bare.set_signal("down");
  bare.set_first_line(8);
  bare.clear_labels();
  *question.mutable_evidence()->mutable_summary()->add_signals() = old;
  *question.mutable_evidence()->mutable_summary()->add_signals() = bare;
  const std::string prompt = PromptOf(question);
  EXPECT_THAT(prompt, HasSubstr("begins: 1970-01-12T13:46:40Z"));
  EXPECT_THAT(prompt, HasSubstr("<log of=\"train.log\">4: link flaps\n[3 lines]\n8: link is down"));
  EXPECT_THAT(prompt, HasSubstr("<log of=\"train.log\" older="));
  EXPECT_THAT(prompt, HasSubstr("train.log 4: NET.LINK.DOWN (strong)"));
  EXPECT_THAT(prompt, Not(HasSubstr("train.log 1: ")));
  EXPECT_THAT(prompt, Not(HasSubstr("train.log 8: ")));
  // The line occurs once, and the reason of the likeliest cause refers to it.
  EXPECT_EQ(prompt.find("link flaps"), prompt.rfind("link flaps"));
  EXPECT_THAT(prompt, HasSubstr("NET.LINK.DOWN, for: the port flaps [train.log line 4]"));
}

TEST(CaseOf, TellsWhatTheLikeliestCausesAskOfChecksThatPassed) {
  v1::InvestigateQuestion question = Reported("It hangs.");
  CheckResult& passed = AddResult(question, "rdma.link", "n1", CheckResult::PASS);
  AddCount(passed, "other", 1);
  AddCount(passed, "replays", 48211);
  AddCount(AddResult(question, "rdma.other", "n1", CheckResult::PASS), "replays", 7);
  AddResult(question, "rdma.link", "n2", CheckResult::FAIL).set_message("down");
  AddResult(question, "rdma.link", "n3", CheckResult::SKIPPED);
  const std::string prompt = PromptOf(question);
  EXPECT_THAT(prompt, HasSubstr("<formula of=\"rdma.link@n1\" status=\"passed\">3: replays 48211"));
  EXPECT_THAT(prompt, Not(HasSubstr("replays 7")));
  EXPECT_THAT(prompt, HasSubstr("rdma.link on n1"));
  EXPECT_THAT(prompt, HasSubstr("1 failed (1 shown above), 1 without an answer (those about the "
                                "causes below: rdma.link)."));
}

TEST(CaseOf, TellsAResultOfSeveralNodesOnce) {
  v1::InvestigateQuestion question = Reported("It hangs.");
  for (const char* node : {"n1", "n2", "n3"}) {
    AddResult(question, "rdma.link", node, CheckResult::FAIL).set_message("port 1 is down");
  }
  const std::string prompt = PromptOf(question);
  EXPECT_THAT(prompt, HasSubstr("<formula of=\"rdma.link@n1\" also=\"n2, n3\">"));
  EXPECT_THAT(prompt, Not(HasSubstr("rdma.link@n2")));
}

TEST(CaseOf, CitesALongNameByItsHandle) {
  v1::InvestigateQuestion question = Reported("It hangs.");
  galen::v1::InvestigationTurn& turn = *question.add_transcript();
  turn.add_calls()->mutable_read_lines();
  galen::v1::Citation& line = *turn.add_results()->add_lines();
  line.set_artefact("n1: ibstat --very-long-list");
  line.set_handle("#m1.2");
  line.set_line(4);
  line.set_quote("link is down");
  galen::v1::Signal& signal = *question.mutable_evidence()->mutable_summary()->add_signals();
  signal.set_source("n1: ibstat --very-long-list");
  signal.set_first_line(4);
  signal.set_strength(galen::v1::DECISIVE);
  signal.set_count(3);
  signal.add_labels("NET.LINK.DOWN");
  const std::string prompt = PromptOf(question);
  EXPECT_THAT(prompt,
              HasSubstr("<code of=\"#m1.2\" name=\"n1: ibstat --very-long-list\">4: link is down"));
  EXPECT_THAT(prompt, HasSubstr("#m1.2 4: NET.LINK.DOWN (decisive, 3 times)"));
}

TEST(CaseOf, NamesAFileOfTheReportWithoutItsFolders) {
  v1::InvestigateQuestion question = Reported("Environment of box A:");
  question.mutable_incident()->add_artefacts()->set_source("/home/somebody/issue.md");
  EXPECT_THAT(PromptOf(question), HasSubstr(" of issue.md: "));
  EXPECT_THAT(PromptOf(question), Not(HasSubstr("somebody")));
}

TEST(Tools, RunChecksOnlyWhereOneCanRun) {
  v1::InvestigateQuestion question = Reported("It hangs.");
  EXPECT_THAT(PromptOf(question), Not(HasSubstr("run_checks:")));
  EXPECT_THAT(PromptOf(question), HasSubstr("No check can run for this incident."));
  question.mutable_incident()->add_nodes("n1");
  EXPECT_THAT(PromptOf(question), HasSubstr("run_checks:"));
  // They were tried, and nothing answered.
  AddResult(question, "rdma.other", "n1", CheckResult::SKIPPED);
  EXPECT_THAT(PromptOf(question), Not(HasSubstr("run_checks:")));
  AddResult(question, "rdma.link", "n1", CheckResult::PASS);
  EXPECT_THAT(PromptOf(question), HasSubstr("run_checks:"));
  for (const char* tool : {"list_artefacts: ", "read_lines: ", "search_playbooks: "}) {
    EXPECT_THAT(PromptOf(question), HasSubstr(tool));
  }
}

TEST(CausesText, OffersThoseWithAShareAndAtLeastThree) {
  const std::string prompt = PromptOf(Reported("It hangs."));
  const std::size_t begin = prompt.find("likeliest causes by the built-in reasoner");
  const std::string list = prompt.substr(begin, prompt.find("</rule>", begin) - begin);
  EXPECT_EQ(std::count(list.begin(), list.end(), '%'), 3);
  EXPECT_THAT(list, HasSubstr("NET.LINK.DOWN: title of NET.LINK.DOWN (90.0 %"));
}

TEST(LinesOfResult, PutsWhatIsWrongAndWhatDiffersFirstAndCountsTheUnknown) {
  CheckResult result;
  result.set_status(CheckResult::PASS);
  AddCount(result, "index", 3, "nic:0");
  AddCount(result, "index", 3, "nic:1");
  AddCount(result, "mtu", 1500, "nic:0");
  AddCount(result, "mtu", 9000, "nic:1");
  result.add_findings()->set_name("kind");
  result.add_findings()->set_name("owner");
  AddCount(result, "errors", 9);
  result.mutable_findings(6)->set_abnormal(true);
  EXPECT_THAT(LinesOfResult(result),
              ElementsAre("PASS", "errors 9, abnormal", "mtu 1500, of nic:0", "mtu 9000, of nic:1",
                          "index 3, of nic:0, nic:1", "not known: 2 findings: kind, owner"));
}

// The verdict of a model that names these machines and cites that line.
std::string NodesOf(v1::InvestigateQuestion question, const std::string& of,
                    const std::string& quote, const std::vector<std::string>& nodes,
                    const std::string& verdict = "confirm") {
  Json said = {{"label", "NET.LINK.DOWN"}, {"citations", Json::array()},
               {"reason", "so it is"},     {"verdict", verdict},
               {"nodes", nodes},           {"devices", Json::array()}};
  said["citations"].push_back(Json{{"of", of}, {"line", 1}, {"quote", quote}});
  Json turn = {{"calls", Json::array()},
               {"verdicts", Json::array()},
               {"explanation", ""},
               {"suggestions", Json::array()}};
  turn["verdicts"].push_back(std::move(said));
  const std::string answer = Dump(turn);
  const auto book = BookWithRule();
  FakeReasoner rules;
  FakeLlmClient client([&](const galen::llm::ChatRequest&) { return answer; });
  const LlmReasoner reasoner(*book, rules, {&client});
  const auto taken = reasoner.Investigate(question, absl::InfiniteFuture());
  EXPECT_TRUE(taken.ok()) << taken.status();
  if (!taken.ok() || taken->verdicts().empty()) return "(no verdict)";
  EXPECT_EQ(taken->verdicts(0).objection(), "");
  return taken->verdicts(0).node();
}

TEST(Places, AreMachinesOfTheIncidentOrNamedInItAndAnyOtherIsLeftOut) {
  v1::InvestigateQuestion question =
      Reported("The link of a port is down on gpunode-77 since noon.");
  question.mutable_incident()->add_nodes("mobil");
  const std::string quote = "The link of a port is down on gpunode-77";
  EXPECT_EQ(NodesOf(question, "report", quote, {"gpunode-77", "tenant-b-node9", "mobil"}),
            "gpunode-77, mobil");
  EXPECT_EQ(NodesOf(question, "report", quote, {"gpunode-7", "noon"}), "");
}

TEST(Places, AreThoseWhereACitedCheckFails) {
  v1::InvestigateQuestion question = Reported("It hangs.");
  for (const char* node : {"n1", "n2"}) {
    AddResult(question, "rdma.link", node, CheckResult::FAIL).set_message("port 1 is down");
  }
  AddResult(question, "rdma.link", "n3", CheckResult::PASS);
  EXPECT_EQ(NodesOf(question, "rdma.link@n1", "FAIL: port 1 is down", {"n1", "n2", "n3"}),
            "n1, n2");
}

TEST(Citations, ACheckWithOneResultIsCitedByItsNameAlone) {
  v1::InvestigateQuestion question = Reported("It hangs.");
  AddResult(question, "rdma.link", "n1", CheckResult::FAIL).set_message("port 1 is down");
  AddResult(question, "rdma.link_more", "n1", CheckResult::FAIL).set_message("port 1 is down");
  EXPECT_EQ(NodesOf(question, "rdma.link", "FAIL: port 1 is down", {"n1"}), "n1");
}

TEST(Verdicts, ARejectionThatNothingSpeaksForIsLeftOut) {
  v1::InvestigateQuestion question = Reported("The badge printer is blue.");
  const std::string quote = "The badge printer is blue.";
  EXPECT_EQ(NodesOf(question, "report", quote, {}, "reject"), "(no verdict)");
}

}  // namespace investigation_text_test
}  // namespace galen::reasoner::llm
