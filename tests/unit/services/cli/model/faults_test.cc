// Whole diagnoses against an endpoint, a real HTTP server, that fails in every way an endpoint can.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/llm/endpoint.h"
#include "common/llm/http_client.h"
#include "common/reasoner/llm/asker.h"
#include "nlohmann/json.hpp"
#include "tests/testing/llm/scripted_endpoint.h"
#include "tests/testing/reasoner/fake_llm_client.h"
#include "world.h"

namespace galen::cli {
namespace {

using ::galen::testing::Authority;
using ::galen::testing::ChatReply;
using ::galen::testing::DraftOf;
using ::galen::testing::Recorded;
using ::galen::testing::Scripted;
using ::galen::testing::ScriptedEndpoint;
using ::testing::HasSubstr;
using v1::Reasoned;

// What an endpoint says that agrees with the rules.
Scripted TheDraft(const Recorded& request) {
  const auto body = nlohmann::json::parse(request.body, nullptr, false);
  std::string prompt;
  for (const auto& message : body["messages"]) {
    if (message["role"] == "user" && prompt.empty()) prompt = message["content"];
  }
  return ChatReply(DraftOf(prompt));
}

llm::Endpoint EndpointAt(const std::string& url) {
  llm::Endpoint endpoint;
  endpoint.url = url;
  endpoint.model = "scripted";
  endpoint.proxy = "none";
  // Long enough for a loopback that is busy, short enough that what hangs is waited for.
  endpoint.connect = absl::Seconds(2);
  endpoint.total = absl::Seconds(3);
  return endpoint;
}

std::unique_ptr<llm::HttpClient> ClientOf(const llm::Endpoint& endpoint) {
  llm::Surroundings surroundings;
  surroundings.sleep = [](absl::Duration, const Cancellation& c) { return c.cancelled(); };
  auto client = llm::HttpClient::Make(endpoint, surroundings);
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

// Diagnoses with that client, and looks that the diagnosis is what it is without a model.
struct Trial {
  explicit Trial(llm::LlmClient& client) {
    World world({.model = reasoner::llm::Model{
                     .client = &client, .cache = nullptr, .counters = &counters}});
    outcome = world.Diagnose(World::Incident());
    World rules({});
    const World::Outcome alone = rules.Diagnose(World::Incident());
    EXPECT_EQ(outcome.diagnosis.state(), v1::Diagnosis::SUCCEEDED);
    EXPECT_EQ(outcome.diagnosis.report().headline(), alone.diagnosis.report().headline());
    EXPECT_EQ(VerdictsOf(outcome.diagnosis), VerdictsOf(alone.diagnosis));
    EXPECT_EQ(ChecksOf(outcome.diagnosis), ChecksOf(alone.diagnosis));
    for (const v1::DiagnosisEvent& event : outcome.events) {
      // Every agent answered within its deadline.
      EXPECT_FALSE(event.has_call_failed()) << event.ShortDebugString();
    }
    note = ModelNoteOf(outcome.diagnosis);
    counts = counters.counts();
  }
  std::int64_t Fallbacks(Reasoned::Fallback fallback) const {
    const auto found = counts.fallbacks.find(fallback);
    return found == counts.fallbacks.end() ? 0 : found->second;
  }

  reasoner::llm::AskCounters counters;
  World::Outcome outcome;
  std::string note;
  reasoner::llm::AskCounts counts;
};

TEST(Endpoint, ThatAnswersIsTaken) {
  ScriptedEndpoint endpoint(TheDraft);
  const auto client = ClientOf(EndpointAt(endpoint.url()));
  const Trial run(*client);
  EXPECT_TRUE(run.counts.fallbacks.empty()) << run.note;
  EXPECT_EQ(run.counts.answered, run.counts.asked);
  EXPECT_THAT(run.note, HasSubstr(absl::StrCat("The model scripted answered ", run.counts.asked)));
  EXPECT_EQ(client->health().answers, run.counts.asked);
  EXPECT_EQ(run.counts.spent.input_tokens(), 100 * run.counts.asked);
}

struct Fault {
  std::string name;
  std::function<Scripted(const Recorded&)> reply;
  Reasoned::Fallback fallback;
  std::string note;                              // part of the report's line
  std::function<bool(const llm::Health&)> seen;  // in the metrics
};

class Faults : public ::testing::TestWithParam<Fault> {};

TEST_P(Faults, EndInASoundDiagnosisThatTellsOfThem) {
  const Fault& fault = GetParam();
  ScriptedEndpoint endpoint(fault.reply);
  llm::Endpoint where = EndpointAt(endpoint.url());
  if (fault.name == "slow") where.total = absl::Milliseconds(700);
  const auto client = ClientOf(where);
  const Trial run(*client);
  EXPECT_GE(run.Fallbacks(fault.fallback), 1) << run.note;
  EXPECT_EQ(run.counts.answered, 0);
  EXPECT_THAT(run.note,
              HasSubstr("The model scripted answered 0 questions; the built-in reasoner"));
  EXPECT_THAT(run.note, HasSubstr(fault.note));
  EXPECT_TRUE(fault.seen(client->health()));
}

Scripted Text(std::string text) { return ChatReply(text); }

INSTANTIATE_TEST_SUITE_P(
    Of, Faults,
    ::testing::Values(
        Fault{"slow", [](const Recorded&) { return ::galen::testing::Hang(); },
              Reasoned::OUT_OF_TIME, "out of time",
              [](const llm::Health& h) { return h.late > 0; }},
        Fault{"throttled", [](const Recorded&) { return ::galen::testing::Throttled("1"); },
              Reasoned::UNAVAILABLE, "it could not be asked",
              [](const llm::Health& h) { return h.throttled > 0; }},
        Fault{"error", [](const Recorded&) { return ::galen::testing::ErrorReply(500, "oops"); },
              Reasoned::UNAVAILABLE, "it could not be asked",
              [](const llm::Health& h) { return h.unavailable > 0; }},
        Fault{"reset", [](const Recorded&) { return ::galen::testing::ResetMidStream(); },
              Reasoned::UNAVAILABLE, "it could not be asked",
              [](const llm::Health& h) { return h.unavailable > 0; }},
        Fault{"no_json", [](const Recorded&) { return Text("It is the fan."); },
              Reasoned::BAD_ANSWER, "is not JSON",
              [](const llm::Health& h) { return h.answers > 0; }},
        Fault{"wrong_schema", [](const Recorded&) { return Text(R"({"root_cause": ["fan"]})"); },
              Reasoned::BAD_ANSWER, "is missing",
              [](const llm::Health& h) { return h.answers > 0; }},
        Fault{"label_outside",
              [](const Recorded&) {
                return Text(R"({"text": "x", "failure_class": "EVIL", "keywords": [],
                                "causes": [{"label": "EVIL.X", "reason": ""}],
                                "ranked": [{"label": "EVIL", "reason": ""}],
                                "labels": ["EVIL.X"], "remarks": [],
                                "summary": "x", "evidence": ["c99"]})");
              },
              Reasoned::BAD_ANSWER, "was not offered",
              [](const llm::Health& h) { return h.answers > 0; }},
        Fault{"empty", [](const Recorded&) { return Text(""); }, Reasoned::BAD_ANSWER,
              "could not be used", [](const llm::Health& h) { return h.bad_answers > 0; }},
        Fault{"huge", [](const Recorded&) { return ::galen::testing::HugeReply(10 << 20, false); },
              Reasoned::BAD_ANSWER, "could not be used",
              [](const llm::Health& h) { return h.bad_answers > 0; }},
        Fault{"huge_announced",
              [](const Recorded&) { return ::galen::testing::HugeReply(10 << 20, true); },
              Reasoned::BAD_ANSWER, "could not be used",
              [](const llm::Health& h) { return h.bad_answers > 0; }},
        Fault{"not_utf8", [](const Recorded&) { return ::galen::testing::NotUtf8(); },
              Reasoned::BAD_ANSWER, "could not be used",
              [](const llm::Health& h) { return h.bad_answers > 0; }}),
    [](const auto& of) { return of.param.name; });

TEST(Endpoint, OfACertificateThatNobodyTrustsIsNotAsked) {
  const Authority stranger("a stranger");
  ScriptedEndpoint endpoint(TheDraft, stranger.Issue("127.0.0.1"));
  const auto client = ClientOf(EndpointAt(endpoint.url()));
  const Trial run(*client);
  EXPECT_GE(run.Fallbacks(Reasoned::UNAVAILABLE), 1);
  EXPECT_THAT(run.note, HasSubstr("certificate"));
  EXPECT_GT(client->health().rejected, 0);
  EXPECT_TRUE(endpoint.requests().empty());
}

TEST(Endpoint, ThatIsDownFromTheStartIsAskedOnceByADiagnosis) {
  std::string url;
  {
    const ScriptedEndpoint gone(TheDraft);
    url = gone.url();
  }
  const auto client = ClientOf(EndpointAt(url));
  for (int i = 0; i < 3; ++i) {
    const Trial run(*client);
    EXPECT_EQ(run.Fallbacks(Reasoned::UNAVAILABLE), 1) << run.note;
    EXPECT_GE(run.Fallbacks(Reasoned::GAVE_UP), 1) << run.note;
    EXPECT_THAT(run.note, HasSubstr("it had failed before"));
  }
  // One call each: what a diagnosis is delayed by is one time limit, and nothing once the breaker
  // is open.
  EXPECT_EQ(client->health().calls, 3);
  EXPECT_EQ(client->health().circuit, llm::Health::Circuit::kOpen);
  EXPECT_GE(client->health().refused, 1);
}

TEST(Endpoint, ThatDiesHalfWayIsDoneWithout) {
  for (int good = 1; good <= 3; ++good) {
    int asked = 0;
    ScriptedEndpoint endpoint([&](const Recorded& request) {
      return ++asked <= good ? TheDraft(request) : ::galen::testing::ErrorReply(503, "going down");
    });
    const auto client = ClientOf(EndpointAt(endpoint.url()));
    const Trial run(*client);
    EXPECT_EQ(run.counts.answered, good) << run.note;
    EXPECT_EQ(run.Fallbacks(Reasoned::UNAVAILABLE), 1) << run.note;
    EXPECT_EQ(client->health().calls, good + 1);
  }
}

}  // namespace
}  // namespace galen::cli
