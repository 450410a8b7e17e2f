// Whole diagnoses against an endpoint, a real HTTP server, that fails in every way an endpoint can.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/llm/endpoint.h"
#include "common/llm/http_client.h"
#include "common/observability/metrics/registry.h"
#include "common/reasoner/llm/asker.h"
#include "common/reasoner/llm/model_metrics.h"
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

// An endpoint's answer that agrees with the rules.
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
  llm::Dependencies dependencies;
  dependencies.sleep = [](absl::Duration, const Cancellation& c) { return c.cancelled(); };
  auto client = llm::HttpClient::Make(endpoint, dependencies);
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

// Diagnoses with that client, and expects the same diagnosis as without a model.
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
    metrics::Registry registry;
    registry.Add(std::make_shared<const reasoner::llm::ModelMetrics>(client, nullptr, counters));
    text = registry.Text();
  }
  // The value of this series in /metrics since the client was created; -1 if it is missing.
  double Metric(const std::string& series) const {
    const std::size_t at = text.find(absl::StrCat("\n", series, " "));
    double value = -1;
    if (at == std::string::npos) return value;
    const std::size_t begin = at + series.size() + 2;
    EXPECT_TRUE(absl::SimpleAtod(text.substr(begin, text.find('\n', begin) - begin), &value));
    return value;
  }
  std::int64_t Fallbacks(Reasoned::Fallback fallback) const {
    const auto found = counts.fallbacks.find(fallback);
    return found == counts.fallbacks.end() ? 0 : found->second;
  }

  reasoner::llm::AskCounters counters;
  World::Outcome outcome;
  std::string note;
  reasoner::llm::AskCounts counts;
  std::string text;  // of the metrics
};

TEST(Endpoint, ThatAnswersIsTaken) {
  ScriptedEndpoint endpoint(TheDraft);
  const auto client = ClientOf(EndpointAt(endpoint.url()));
  const Trial run(*client);
  EXPECT_TRUE(run.counts.fallbacks.empty()) << run.note;
  EXPECT_EQ(run.counts.answered, run.counts.asked);
  EXPECT_THAT(run.note, HasSubstr(absl::StrCat("The model scripted answered ", run.counts.asked)));
  EXPECT_EQ(run.Metric("galen_llm_answers_total{use=\"chat\"}"), run.counts.asked);
  EXPECT_EQ(run.Metric("galen_llm_answer_seconds_count{use=\"chat\"}"), run.counts.asked);
  EXPECT_EQ(run.Metric("galen_llm_tokens_total{use=\"chat\",kind=\"input\"}"),
            100 * run.counts.asked);
  EXPECT_EQ(run.counts.spent.input_tokens(), 100 * run.counts.asked);
}

struct Fault {
  std::string name;
  std::function<Scripted(const Recorded&)> reply;
  Reasoned::Fallback fallback;
  std::string note;     // part of the report's line
  std::string outcome;  // of the question, in the metrics
  std::string kind;     // of the failure of requests, in the metrics; "": they were answered
};

class Faults : public ::testing::TestWithParam<Fault> {};

TEST_P(Faults, EndInASoundDiagnosisThatTellsOfThem) {
  const Fault& fault = GetParam();
  ScriptedEndpoint endpoint(fault.reply);
  llm::Endpoint where = EndpointAt(endpoint.url());
  if (fault.name == "slow") where.total = absl::Milliseconds(700);
  if (fault.name == "reset_streamed") where.stream = true;
  const auto client = ClientOf(where);
  const Trial run(*client);
  EXPECT_GE(run.Fallbacks(fault.fallback), 1) << run.note;
  EXPECT_EQ(run.counts.answered, 0);
  EXPECT_THAT(run.note,
              HasSubstr("The model scripted answered 0 questions; the built-in reasoner"));
  EXPECT_THAT(run.note, HasSubstr(fault.note));
  EXPECT_GE(run.Metric(absl::StrCat("galen_llm_questions_total{outcome=\"", fault.outcome, "\"}")),
            1);
  EXPECT_EQ(run.Metric("galen_llm_questions_total{outcome=\"answered\"}"), 0);
  for (const char* kind :
       {"unavailable", "throttled", "late", "bad_answer", "denied", "rejected"}) {
    const double count =
        run.Metric(absl::StrCat("galen_llm_failures_total{use=\"chat\",kind=\"", kind, "\"}"));
    if (kind == fault.kind) {
      EXPECT_GE(count, 1) << kind;
    } else {
      EXPECT_EQ(count, 0) << kind;
    }
  }
  EXPECT_EQ(run.Metric("galen_llm_answers_total{use=\"chat\"}") > 0, fault.kind.empty());
}

Scripted Text(std::string text) { return ChatReply(text); }

constexpr char kOutside[] = R"({"calls": [], "explanation": "", "suggestions": [], "verdicts": [
    {"label": "EVIL.X", "citations": [], "reason": "x", "verdict": "confirm",
     "nodes": [], "devices": []}]})";
constexpr char kAsks[] = R"({"calls": [
    {"tool": "list_artefacts", "of": "", "node": "", "text": "", "line": 0}], "verdicts": []})";

INSTANTIATE_TEST_SUITE_P(
    Of, Faults,
    ::testing::Values(
        Fault{"slow", [](const Recorded&) { return ::galen::testing::Hang(); },
              Reasoned::OUT_OF_TIME, "out of time", "out_of_time", "late"},
        Fault{"throttled", [](const Recorded&) { return ::galen::testing::Throttled("1"); },
              Reasoned::UNAVAILABLE, "HTTP 429", "unavailable", "throttled"},
        Fault{"throttled_for_long",
              [](const Recorded&) { return ::galen::testing::Throttled("3600"); },
              Reasoned::UNAVAILABLE, "to be asked again in 1h, after the deadline", "unavailable",
              "throttled"},
        Fault{"error", [](const Recorded&) { return ::galen::testing::ErrorReply(500, "oops"); },
              Reasoned::UNAVAILABLE, "HTTP 500", "unavailable", "unavailable"},
        Fault{"reset", [](const Recorded&) { return ::galen::testing::ResetMidStream(); },
              Reasoned::UNAVAILABLE, "it could not be asked", "unavailable", "unavailable"},
        Fault{"reset_streamed", [](const Recorded&) { return ::galen::testing::ResetMidStream(); },
              Reasoned::UNAVAILABLE, "it could not be asked", "unavailable", "unavailable"},
        Fault{"no_json", [](const Recorded&) { return Text("It is the fan."); },
              Reasoned::BAD_ANSWER, "is not JSON", "bad_answer", ""},
        Fault{"wrong_schema", [](const Recorded&) { return Text(R"({"root_cause": ["fan"]})"); },
              Reasoned::BAD_ANSWER, "is missing", "bad_answer", ""},
        Fault{"label_outside", [](const Recorded&) { return Text(kOutside); }, Reasoned::BAD_ANSWER,
              "is not a root cause", "bad_answer", ""},
        Fault{"empty", [](const Recorded&) { return Text(""); }, Reasoned::BAD_ANSWER,
              "could not be used", "bad_answer", "bad_answer"},
        Fault{"huge", [](const Recorded&) { return ::galen::testing::HugeReply(10 << 20, false); },
              Reasoned::BAD_ANSWER, "could not be used", "bad_answer", "bad_answer"},
        Fault{"huge_announced",
              [](const Recorded&) { return ::galen::testing::HugeReply(10 << 20, true); },
              Reasoned::BAD_ANSWER, "could not be used", "bad_answer", "bad_answer"},
        Fault{"not_utf8", [](const Recorded&) { return ::galen::testing::NotUtf8(); },
              Reasoned::BAD_ANSWER, "could not be used", "bad_answer", "bad_answer"}),
    [](const auto& of) { return of.param.name; });

TEST(Endpoint, OfACertificateThatNobodyTrustsIsNotAsked) {
  const Authority stranger("a stranger");
  ScriptedEndpoint endpoint(TheDraft, stranger.Issue("127.0.0.1"));
  const auto client = ClientOf(EndpointAt(endpoint.url()));
  const Trial run(*client);
  EXPECT_GE(run.Fallbacks(Reasoned::UNAVAILABLE), 1);
  EXPECT_THAT(run.note, HasSubstr("certificate"));
  EXPECT_GT(run.Metric("galen_llm_failures_total{use=\"chat\",kind=\"denied\"}"), 0);
  EXPECT_GT(run.Metric("galen_llm_questions_total{outcome=\"unavailable\"}"), 0);
  EXPECT_TRUE(endpoint.requests().empty());
}

TEST(Endpoint, ThatIsDownFromTheStartIsAskedTwiceByADiagnosis) {
  std::string url;
  {
    const ScriptedEndpoint gone(TheDraft);
    url = gone.url();
  }
  const auto client = ClientOf(EndpointAt(url));
  for (int i = 0; i < 3; ++i) {
    const Trial run(*client);
    EXPECT_EQ(run.Fallbacks(Reasoned::UNAVAILABLE), 2) << run.note;
    EXPECT_EQ(run.Fallbacks(Reasoned::GAVE_UP), 1) << run.note;
    EXPECT_THAT(run.note, HasSubstr("it had failed before"));
    EXPECT_THAT(run.outcome.diagnosis.report().notes(),
                ::testing::Contains(HasSubstr("The investigation by the model ended")));
  }
  // Two calls each: the delay of a diagnosis is two time limits, and nothing once the breaker is
  // open.
  EXPECT_EQ(client->health().calls, 6);
  EXPECT_EQ(client->health().circuit, llm::Health::Circuit::kOpen);
  EXPECT_GE(client->health().refused, 1);
}

// An endpoint that hangs costs a diagnosis two time limits, and all diagnoses together five: then
// the breaker is open, and diagnoses run without a model.
TEST(Endpoint, ThatHangsFromTheStartIsWaitedForUntilTheBreakerOpens) {
  ScriptedEndpoint endpoint([](const Recorded&) { return ::galen::testing::Hang(); });
  llm::Endpoint where = EndpointAt(endpoint.url());
  where.total = absl::Milliseconds(300);
  where.circuit.cool_down = absl::Hours(1);
  const auto client = ClientOf(where);
  const int most = where.circuit.consecutive;
  for (int i = 1; i <= 4; ++i) {
    const Trial run(*client);
    EXPECT_EQ(run.counts.answered, 0);
    EXPECT_EQ(endpoint.requests().size(), static_cast<std::size_t>(std::min(2 * i, most)));
    EXPECT_EQ(run.Metric("galen_llm_circuit_state{use=\"chat\",state=\"open\"}"),
              2 * i >= most ? 1 : 0);
    if (2 * (i - 1) >= most) {
      EXPECT_THAT(run.note, HasSubstr("its circuit is open"));
    }
  }
}

TEST(Endpoint, ThatDiesHalfWayIsDoneWithout) {
  int asked = 0;
  ScriptedEndpoint endpoint([&](const Recorded&) {
    return ++asked <= 1 ? Text(kAsks) : ::galen::testing::ErrorReply(503, "going down");
  });
  const auto client = ClientOf(EndpointAt(endpoint.url()));
  const Trial run(*client);
  EXPECT_EQ(run.counts.answered, 1) << run.note;
  EXPECT_EQ(run.Fallbacks(Reasoned::UNAVAILABLE), 2) << run.note;
  EXPECT_EQ(client->health().calls, 3);
}

// One failure is not a reason to continue without a model for the rest of a diagnosis.
TEST(Endpoint, ThatFailsOnceIsAskedAgain) {
  int asked = 0;
  ScriptedEndpoint endpoint([&](const Recorded& request) {
    return ++asked == 1 ? ::galen::testing::Hang() : TheDraft(request);
  });
  llm::Endpoint where = EndpointAt(endpoint.url());
  where.total = absl::Seconds(1);
  const auto client = ClientOf(where);
  const Trial run(*client);
  EXPECT_EQ(run.Fallbacks(Reasoned::OUT_OF_TIME), 1) << run.note;
  EXPECT_EQ(run.Fallbacks(Reasoned::GAVE_UP), 0) << run.note;
  EXPECT_EQ(run.counts.answered, 1) << run.note;
}

}  // namespace
}  // namespace galen::cli
