// A language model that investigates: its inputs, the verdicts that count, and the end of the
// investigation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/cause_in_words.h"
#include "common/curation/confirmed.h"
#include "common/reasoner/llm/json.h"
#include "common/store/sqlite_event_log.h"
#include "tests/testing/reasoner/fake_llm_client.h"
#include "world.h"

namespace galen::cli {
namespace {

using ::galen::testing::DraftOf;
using ::galen::testing::FakeLlmClient;
using reasoner::llm::Dump;
using Ordered = reasoner::llm::Json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kLine[] = "rank 3: step time 9.4 s is above 2.1 s";

struct Call {
  std::string tool;
  std::string of;
  std::string text;
  std::string node;
  int line = 0;
};
std::string Asking(const std::vector<Call>& calls) {
  Ordered json = {{"calls", Ordered::array()}, {"verdicts", Ordered::array()}};
  for (const Call& call : calls) {
    json["calls"].push_back(Ordered{{"tool", call.tool},
                                    {"of", call.of},
                                    {"node", call.node},
                                    {"text", call.text},
                                    {"line", call.line}});
  }
  return Dump(json);
}

struct Said {
  std::string label;
  std::string verdict;
  std::string of;
  int line = 1;
  std::string quote;
};
std::string Concluding(const std::vector<Said>& verdicts, const std::string& explanation = "") {
  Ordered json = {{"calls", Ordered::array()},
                  {"verdicts", Ordered::array()},
                  {"explanation", explanation},
                  {"suggestions", Ordered::array()}};
  for (const Said& said : verdicts) {
    Ordered citations = Ordered::array();
    citations.push_back(Ordered{{"of", said.of}, {"line", said.line}, {"quote", said.quote}});
    json["verdicts"].push_back(Ordered{{"label", said.label},
                                       {"citations", std::move(citations)},
                                       {"reason", "the line says so"},
                                       {"verdict", said.verdict},
                                       {"node", "n1"},
                                       {"device", ""}});
  }
  return Dump(json);
}

// Answers the turns of an investigation in their order, the last one again and again, and every
// other question by its draft.
FakeLlmClient::Answer Turns(std::vector<std::string> turns) {
  return [turns = std::move(turns)](const llm::ChatRequest& request) -> std::string {
    if (request.purpose != "investigate") return DraftOf(request.messages[1].content);
    // A turn is two messages: the model's request, and the answer to it.
    const std::size_t turn = (request.messages.size() - 2) / 2;
    return turns[std::min(turn, turns.size() - 1)];
  };
}

// The dust of the filter was not checked, so that nothing proves or excludes it; the fan turns.
World::Options Undecided(FakeLlmClient& client) {
  World::Options options;
  options.model = reasoner::llm::Model{.client = &client};
  options.fan = 900;
  options.dust_known = false;
  return options;
}

const v1::ModelVerdict* VerdictOn(const v1::Diagnosis& diagnosis, absl::string_view label) {
  for (const v1::ModelVerdict& each : diagnosis.report().model_verdicts()) {
    if (each.label() == label) return &each;
  }
  return nullptr;
}

std::vector<v1::InvestigationTurn> TurnsOf(const World::Outcome& outcome) {
  std::vector<v1::InvestigationTurn> turns;
  for (const v1::DiagnosisEvent& event : outcome.events) {
    if (event.has_investigated()) {
      v1::InvestigationTurn& turn = turns.emplace_back();
      *turn.mutable_calls() = event.investigated().calls();
      for (int i = 0; i < turn.calls_size(); ++i) turn.add_results();
    }
    if (event.has_looked()) {
      for (const auto& answer : event.looked().answers()) {
        *turns.back().mutable_results(answer.call()) = answer.result();
      }
    }
  }
  // The first one is Galen's own: it runs before the model is asked.
  EXPECT_FALSE(turns.empty());
  EXPECT_TRUE(turns.empty() || turns.front().calls(0).has_read_lines());
  if (!turns.empty()) turns.erase(turns.begin());
  return turns;
}

TEST(Investigation, ShowsTheTextsBeforeTheFirstTurn) {
  FakeLlmClient client(Turns({Concluding({})}));
  World world(Undecided(client));
  v1::Incident incident = World::Incident();
  incident.mutable_logs(0)->set_content(absl::StrCat(kLine, "\nthe very last line of the job\n"));
  world.Diagnose(incident);
  for (const llm::ChatRequest& request : client.requests()) {
    if (request.purpose != "investigate") continue;
    EXPECT_EQ(request.messages.size(), 2u);
    EXPECT_THAT(request.messages[1].content, HasSubstr("2: the very last line of the job"));
    EXPECT_THAT(request.messages[1].content, HasSubstr("job.log 1: GPU.DUST"));
  }
}

// The model is informed once that checks confirm what it rejects; then the checks lead.
TEST(Investigation, ARejectionOfAConfirmedCauseIsContestedOnce) {
  FakeLlmClient client(
      Turns({Concluding({{"GPU.FAN_STUCK", "reject", "gpu.fan@n1", 2, "speed 0, abnormal"}})}));
  World::Options options = Undecided(client);
  options.fan = 0;
  World world(options);
  const v1::Diagnosis diagnosis = world.Diagnose(World::Incident()).diagnosis;
  int asked = 0;
  for (const llm::ChatRequest& request : client.requests()) {
    if (request.purpose != "investigate" || ++asked < 2) continue;
    EXPECT_THAT(request.messages.back().content, HasSubstr("checks confirm it"));
    EXPECT_THAT(request.messages.back().content, HasSubstr("[gpu.fan@n1]"));
  }
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(diagnosis.report().primary_cause().label(), "GPU.FAN_STUCK");
  EXPECT_EQ(diagnosis.report().outcome(), v1::Report::CAUSE_CONFIRMED);
}

TEST(Investigation, FindsNoFault) {
  Ordered said = Ordered::parse(Concluding({{"", "no_fault", "job.log", 1, kLine}}));
  FakeLlmClient client(Turns({Dump(said)}));
  World world(Undecided(client));
  const v1::Diagnosis diagnosis = world.Diagnose(World::Incident()).diagnosis;
  EXPECT_FALSE(diagnosis.report().has_presumed_cause());
  EXPECT_THAT(diagnosis.report().headline(), StartsWith("No fault found"));
}

TEST(Investigation, AVerdictThatStandsLeadsWhereNothingIsProven) {
  FakeLlmClient client(
      Turns({Concluding({{"GPU.DUST", "confirm", "job.log", 1, kLine}}, "Dust slows the card.")}));
  World world(Undecided(client));
  const v1::Diagnosis diagnosis = world.Diagnose(World::Incident()).diagnosis;
  const v1::Report& report = diagnosis.report();
  EXPECT_EQ(diagnosis.state(), v1::Diagnosis::AWAITING_FEEDBACK);  // it is not a conviction
  EXPECT_FALSE(report.has_primary_cause());
  EXPECT_EQ(report.presumed_cause().label(), "GPU.DUST");
  EXPECT_EQ(report.presumed_cause().judged_by(), "fake-1");
  ASSERT_EQ(report.presumed_cause().citations_size(), 1);
  EXPECT_EQ(report.presumed_cause().citations(0).quote(), kLine);
  EXPECT_EQ(report.presumed_cause().citations(0).artefact(), "job.log");
  EXPECT_NEAR(report.presumed_cause().probability(), 0.75, 1e-9);  // the model was not evaluated
  EXPECT_THAT(report.headline(), HasSubstr("judged by the model fake-1"));
  EXPECT_EQ(report.model_explanation(), "Dust slows the card.");
  EXPECT_EQ(VerdictOn(diagnosis, "GPU.DUST")->objection(), "");
}

TEST(Investigation, ADefiningFactLeadsWhateverTheModelSays) {
  FakeLlmClient client(
      Turns({Concluding({{"GPU.FAN_STUCK", "reject", "gpu.fan@n1", 2, "speed 0, abnormal"},
                         {"GPU.DUST", "confirm", "job.log", 1, kLine}})}));
  World::Options options = Undecided(client);
  options.fan = 0;
  World world(options);
  const v1::Diagnosis diagnosis = world.Diagnose(World::Incident()).diagnosis;
  EXPECT_EQ(diagnosis.state(), v1::Diagnosis::SUCCEEDED);
  EXPECT_EQ(diagnosis.report().primary_cause().label(), "GPU.FAN_STUCK");
  EXPECT_EQ(diagnosis.report().primary_cause().judged_by(), "");
  EXPECT_THAT(diagnosis.report().notes(), Contains(HasSubstr("The model fake-1 disagrees")));
}

TEST(Investigation, AnInventedQuoteGoesBackOnceAndThenCountsForNothing) {
  constexpr char kNowhere[] = "the filter is clogged with grey dust";
  FakeLlmClient client(Turns({Concluding({{"GPU.DUST", "confirm", "job.log", 1, kNowhere}},
                                         absl::StrCat("The log says \"", kNowhere, "\"."))}));
  World world(Undecided(client));
  const World::Outcome outcome = world.Diagnose(World::Incident());
  int asked = 0;
  for (const llm::ChatRequest& request : client.requests()) {
    if (request.purpose != "investigate" || ++asked < 2) continue;
    EXPECT_THAT(request.messages.back().content,
                HasSubstr("its quote 1, of line 1: it is not in the lines"));
  }
  EXPECT_EQ(asked, 2);
  const v1::Report& report = outcome.diagnosis.report();
  EXPECT_NE(report.presumed_cause().judged_by(), "fake-1");
  ASSERT_NE(VerdictOn(outcome.diagnosis, "GPU.DUST"), nullptr);
  EXPECT_NE(VerdictOn(outcome.diagnosis, "GPU.DUST")->objection(), "");
  EXPECT_THAT(report.DebugString(), Not(HasSubstr(kNowhere)));
  EXPECT_THAT(report.notes(), Contains(HasSubstr("does not stand and counts for nothing")));
}

TEST(Investigation, ACauseThatAFactExcludesIsNotNamed) {
  FakeLlmClient client(Turns({Concluding({{"NET.CABLE", "confirm", "job.log", 1, kLine}})}));
  World world(Undecided(client));
  const v1::Diagnosis diagnosis = world.Diagnose(World::Incident()).diagnosis;
  EXPECT_NE(diagnosis.report().presumed_cause().label(), "NET.CABLE");
  EXPECT_THAT(VerdictOn(diagnosis, "NET.CABLE")->objection(), HasSubstr("it is plugged"));
}

TEST(Investigation, ACauseBeyondTheTaxonomyIsShownAsSuch) {
  FakeLlmClient client(Turns({Concluding({{"", "confirm", "job.log", 1, kLine}})}));
  World world(Undecided(client));
  const v1::Diagnosis diagnosis = world.Diagnose(World::Incident()).diagnosis;
  ASSERT_NE(VerdictOn(diagnosis, ""), nullptr);
  EXPECT_EQ(VerdictOn(diagnosis, "")->text(), "the line says so");
  EXPECT_EQ(VerdictOn(diagnosis, "")->objection(), "");
  EXPECT_FALSE(diagnosis.report().has_primary_cause());
  // A person can confirm it, and so it becomes a proposal.
  const auto confirmed = world.Confirm(diagnosis.name(), std::string(kCauseInWords));
  ASSERT_TRUE(confirmed.ok()) << confirmed.status();
  EXPECT_EQ(ConfirmedCause(*confirmed), "\"the line says so\"");
  EXPECT_EQ(curation::ProposalOf(*confirmed)->kind, "label");
}

TEST(Investigation, ShowsWhatIsAskedForAndNothingElse) {
  FakeLlmClient client(Turns(
      {Asking({{"list_artefacts"}, {"search", "", "step time"}, {"show_check", "gpu.fan"}}),
       Asking({{"read_taxonomy", "GPU.DUST"},
               {"search_taxonomy", "", "a cable hangs loose"},
               {"search_history", "", "the cable was moved"}}),
       Asking({{"read_lines", "/etc/passwd", "", "", 1},
               {"read_lines", "../job.log", "", "", 1},
               {"show_check", "gpu.fan", "", "tenant-b-node"}}),
       Asking({{"search_playbooks", "", "the job makes no more steps"}}),
       Asking({{"run_checks", "gpu.burn"}, {"run_checks", "no.such"}, {"run_checks", "gpu.fan"}}),
       Concluding({})}));
  World world(Undecided(client));
  const World::Outcome outcome = world.Diagnose(World::Incident());
  const std::vector<v1::InvestigationTurn> turns = TurnsOf(outcome);
  ASSERT_EQ(turns.size(), 6u);
  EXPECT_THAT(turns[0].results(0).DebugString(), HasSubstr("job.log"));
  ASSERT_EQ(turns[0].results(1).lines_size(), 1);
  EXPECT_EQ(turns[0].results(1).lines(0).quote(), kLine);
  EXPECT_EQ(turns[0].results(2).lines(0).artefact(), "gpu.fan@n1");
  EXPECT_THAT(turns[1].results(0).text(), HasSubstr("the filter is clean"));
  EXPECT_THAT(turns[1].results(1).text(), StartsWith("NET.CABLE"));
  EXPECT_THAT(turns[1].results(1).text(), Not(HasSubstr("\n")));  // nothing else is like it
  EXPECT_THAT(turns[1].results(2).DebugString(), HasSubstr("NET.CABLE"));
  for (const v1::ToolResult& result : turns[2].results()) {
    EXPECT_TRUE(result.lines().empty()) << result.DebugString();
  }
  EXPECT_THAT(turns[3].results(0).text(), HasSubstr("hang: "));
  for (const v1::ToolCall& call : turns[4].calls()) EXPECT_NE(call.refused(), "");
  for (const node::v1::RunChecksRequest& request : world.node().requests()) {
    EXPECT_FALSE(request.allow_intrusive());
    EXPECT_THAT(request.checks(), Not(Contains("gpu.burn")));
    EXPECT_EQ(request.parameters_size(), 0);
  }
  // Every turn and every request is among the steps of the reasoning, in the log.
  std::set<std::string> steps;
  for (const v1::DiagnosisEvent& event : outcome.events) {
    for (const v1::Reasoned& reasoned : event.reasoned()) {
      for (const v1::ReasoningStep& step : reasoned.steps()) steps.insert(step.id());
    }
  }
  EXPECT_THAT(steps, Contains("look/1/2"));
  EXPECT_THAT(steps, Contains("look/4/1"));
}

TEST(Investigation, RunsAPassiveCheckThatHasNotRun) {
  FakeLlmClient client(Turns({Asking({{"run_checks", "gpu.fan, gpu.extra"}}), Concluding({})}));
  World::Options options = Undecided(client);
  options.extra_check = true;
  World world(options);
  const World::Outcome outcome = world.Diagnose(World::Incident());
  EXPECT_THAT(ChecksOf(outcome.diagnosis), Contains("gpu.extra@n1"));
  const std::vector<llm::ChatRequest> requests = client.requests();
  EXPECT_THAT(requests.back().messages.back().content, HasSubstr("of=\"gpu.extra@n1\""));
  // The case itself reads as it did before.
  EXPECT_EQ(requests[requests.size() - 2].messages[1].content, requests.back().messages[1].content);
}

struct Ending {
  const char* name;
  FakeLlmClient::Answer answer;
  const char* note;
};
class Endings : public ::testing::TestWithParam<Ending> {};

// A model that loops, dies, stalls or answers nonsense: the built-in answer is kept, and says so.
TEST_P(Endings, LeaveTheBuiltInAnswerAndSaySo) {
  FakeLlmClient client(GetParam().answer);
  World::Options options;
  options.model = reasoner::llm::Model{.client = &client};
  World world(options);
  World alone({});
  const v1::Diagnosis diagnosis = world.Diagnose(World::Incident()).diagnosis;
  const v1::Diagnosis rules = alone.Diagnose(World::Incident()).diagnosis;
  EXPECT_EQ(diagnosis.state(), v1::Diagnosis::SUCCEEDED);
  EXPECT_EQ(diagnosis.report().headline(), rules.report().headline());
  EXPECT_EQ(VerdictsOf(diagnosis), VerdictsOf(rules));
  EXPECT_THAT(diagnosis.report().notes(), Contains(HasSubstr(GetParam().note)));
  EXPECT_LE(client.requests().size(), 20u);
}

FakeLlmClient::Answer After(int good, FakeLlmClient::Answer then) {
  auto asked = std::make_shared<int>(0);
  return [=](const llm::ChatRequest& request) -> absl::StatusOr<std::string> {
    if (request.purpose != "investigate") return DraftOf(request.messages[1].content);
    if (++*asked <= good) return Asking({{"search", "", absl::StrCat("p", *asked)}});
    return then(request);
  };
}

INSTANTIATE_TEST_SUITE_P(
    Of, Endings,
    ::testing::Values(
        Ending{"loops", Turns({Asking({{"search", "", "the same"}})}), "The model fake-1"},
        Ending{"asks_for_ever",
               [](const llm::ChatRequest& request) -> absl::StatusOr<std::string> {
                 if (request.purpose != "investigate") return DraftOf(request.messages[1].content);
                 return Asking({{"search", "", absl::StrCat("p", request.messages.size())}});
               },
               "The investigation by the model ended before it had concluded"},
        Ending{"dies_at_once",
               After(0, [](const llm::ChatRequest&) { return absl::UnavailableError("down"); }),
               "failed again and again"},
        Ending{"dies_later",
               After(3, [](const llm::ChatRequest&) { return absl::UnavailableError("down"); }),
               "failed again and again"},
        Ending{
            "stalls",
            After(1, [](const llm::ChatRequest&) { return absl::DeadlineExceededError("late"); }),
            "failed again and again"},
        Ending{"rubbish", After(2, [](const llm::ChatRequest&) { return "lorem ipsum"; }),
               "failed again and again"}),
    [](const auto& of) { return of.param.name; });

TEST(Investigation, ByToolsOfTheProtocolIsTheSame) {
  FakeLlmClient client([](const llm::ChatRequest&) { return ""; });
  client.settings.tools = true;
  client.whole = [](const llm::ChatRequest& request) -> absl::StatusOr<llm::ChatAnswer> {
    llm::ChatAnswer answer;
    answer.usage = {true, 100, 0, 10};
    if (request.purpose != "investigate") {
      answer.text = DraftOf(request.messages[1].content);
    } else if (request.messages.size() == 2) {
      answer.tool_uses = {{"x", "search", R"({"artefact": "", "pattern": "step time"})"}};
    } else {
      Ordered said = Ordered::parse(Concluding({{"GPU.DUST", "confirm", "job.log", 1, kLine}}));
      said.erase("calls");
      answer.tool_uses = {{"y", "conclude", Dump(said)}};
    }
    return answer;
  };
  World world(Undecided(client));
  const v1::Diagnosis diagnosis = world.Diagnose(World::Incident()).diagnosis;
  EXPECT_EQ(diagnosis.report().presumed_cause().judged_by(), "fake-1");
  const llm::ChatRequest last = client.requests().back();
  EXPECT_FALSE(last.schema.has_value());
  ASSERT_EQ(last.messages.size(), 4u);
  EXPECT_EQ(last.messages[2].tool_uses.at(0).name, "search");
  EXPECT_EQ(last.messages[3].role, llm::Message::Role::kTool);
  EXPECT_EQ(last.messages[3].tool_use_id, last.messages[2].tool_uses.at(0).id);
  EXPECT_THAT(last.messages[3].content, HasSubstr(kLine));
}

// A crash after any single event: the diagnosis resumes, and no turn in the log is paid again.
TEST(Investigation, IsTakenUpAgainWithoutPayingTwice) {
  const std::vector<std::string> turns = {
      Asking({{"search", "", "step time"}, {"read_taxonomy", "GPU.DUST"}}),
      Concluding({{"GPU.DUST", "confirm", "job.log", 1, "invented"}}),
      Concluding({{"GPU.DUST", "confirm", "job.log", 1, kLine}})};
  FakeLlmClient undisturbed(Turns(turns));
  World first(Undecided(undisturbed));
  const World::Outcome whole = first.Diagnose(World::Incident());
  ASSERT_EQ(whole.diagnosis.report().presumed_cause().judged_by(), "fake-1");
  const std::string file =
      ::testing::TempDir() + absl::StrCat("galen-investigate-", getpid(), ".db");
  for (std::size_t count = 1; count < whole.events.size(); ++count) {
    SCOPED_TRACE(absl::StrCat("after ", count, " of ", whole.events.size(), " events"));
    std::size_t paid = 0;
    for (std::size_t i = 0; i < count; ++i) paid += whole.events[i].reasoned_size();
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix);
    {
      auto log = store::SqliteEventLog::Open(file);
      ASSERT_TRUE(log.ok()) << log.status();
      ASSERT_TRUE((*log)->Create(whole.events[0]).ok());
      const auto lease = (*log)->AcquireLease(whole.events[0].created().name(), "galen",
                                              absl::Now(), absl::Seconds(15));
      ASSERT_TRUE(lease.ok()) << lease.status();
      if (count > 1) {
        ASSERT_TRUE((*log)
                        ->Append(*lease, 1, absl::MakeConstSpan(whole.events).subspan(1, count - 1))
                        .ok());
      }
      ASSERT_TRUE((*log)->ReleaseLease(*lease).ok());
    }
    FakeLlmClient client(Turns(turns));
    World::Options options = Undecided(client);
    options.store = file;
    World world(options);
    const World::Outcome resumed = world.Follow(whole.diagnosis.name());
    EXPECT_EQ(client.requests().size(), undisturbed.requests().size() - paid);
    EXPECT_EQ(resumed.diagnosis.report().headline(), whole.diagnosis.report().headline());
    EXPECT_EQ(resumed.diagnosis.report().model_verdicts_size(),
              whole.diagnosis.report().model_verdicts_size());
    if (HasFailure()) break;
  }
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix);
}

}  // namespace
}  // namespace galen::cli
