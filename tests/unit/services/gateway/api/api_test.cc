#include "services/gateway/api/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/retry_hint.h"
#include "tests/unit/services/gateway/api/fakes.h"

namespace galen::gateway {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Each word is a key of its own.
class FakeAccess final : public Access {
 public:
  absl::StatusOr<Principal> Authenticate(const http::Request& request) override {
    const std::string key(request.headers.Get("Authorization"));
    const auto it = keys.find(key);
    if (it == keys.end()) return absl::UnauthenticatedError("not known");
    return it->second;
  }
  const std::vector<std::string> both{std::string(kScopeRead), std::string(kScopeWrite)};
  std::map<std::string, Principal> keys = {
      {"customer", {"1", "acme", UserRole::kCustomer, both}},
      {"operator", {"2", "*", UserRole::kOperator, both}},
      {"reader", {"3", "acme", UserRole::kCustomer, {std::string(kScopeRead)}}},
      {"writer", {"4", "acme", UserRole::kCustomer, {std::string(kScopeWrite)}}},
      {"forged", {"5", "*", UserRole::kCustomer, both}},
  };
};

class FakeRates final : public RateLimiter {
 public:
  void Take(const std::string& tenant, bool starts,
            absl::AnyInvocable<void(absl::StatusOr<Allowance>) &&> done) override {
    taken.emplace_back(tenant, starts);
    std::move(done)(allowance);
  }
  Allowance allowance{absl::ZeroDuration(), 10, 9, absl::Milliseconds(100)};
  std::vector<std::pair<std::string, bool>> taken;
};

class ApiTest : public ::testing::Test {
 protected:
  // Like the program: open calls end while the Api still exists.
  ~ApiTest() override {
    upstream_.unanswered.clear();
    upstream_.streams.clear();
  }
  std::shared_ptr<FakeExchange> Begin(
      const std::string& method, const std::string& target, const std::string& key = "customer",
      const std::string& body = "",
      const std::vector<std::pair<std::string, std::string>>& headers = {}) {
    http::Request request;
    request.method = method;
    request.target = target;
    request.body = body;
    if (!key.empty()) request.headers.Add("Authorization", key);
    for (const auto& [name, value] : headers) request.headers.Add(name, value);
    auto exchange = std::make_shared<FakeExchange>();
    api_.Handle(std::move(request), exchange);
    return exchange;
  }
  template <typename... Arguments>
  http::Response Ask(const Arguments&... arguments) {
    return Begin(arguments...)->AwaitResponse();
  }
  static std::string ReasonOf(const http::Response& response) {
    return json::parse(response.body)["error"]["details"][0]["reason"];
  }
  // A path of the route that is about something of this tenant.
  static std::string PathOf(const Route& route, const std::string& tenant) {
    std::string path = route.path.text();
    for (const PathTemplate::Field& field : route.path.fields()) {
      std::string name = absl::StrReplaceAll(field.pattern, {{"tenants/*", "tenants/" + tenant}});
      name = absl::StrReplaceAll(name, {{"*", "x"}});
      path = absl::StrReplaceAll(path, {{"{" + field.name + "=" + field.pattern + "}", name}});
    }
    return path;
  }

  FakeUpstream upstream_;
  FakeAccess access_;
  FakeRates rates_;
  const CustomerRedactor redactor_ = *CustomerRedactor::Parse(
      "withhold galen.v1.Device.serial\nown galen.v1.Incident", "audience.txt");
  Api api_{PublicRoutes(), upstream_, access_, rates_, redactor_, "{\"openapi\":\"3.1.0\"}", {}};
};

constexpr char kOne[] = "/v1/tenants/acme/diagnoses/d";
constexpr char kAll[] = "/v1/tenants/acme/diagnoses";
constexpr char kIncident[] = R"({"incident": {"description": "slow"}})";

TEST_F(ApiTest, AnswersWithTheResourceAsJson) {
  upstream_.response.set_name("tenants/acme/diagnoses/d");
  upstream_.response.set_last_sequence(7);
  const http::Response response = Ask("GET", kOne);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.Get("Content-Type"), "application/json");
  EXPECT_EQ(json::parse(response.body),
            json::parse(R"({"name": "tenants/acme/diagnoses/d", "lastSequence": "7"})"));
  ASSERT_EQ(upstream_.calls.size(), 1u);
  EXPECT_EQ(upstream_.calls[0].resource, "tenants/acme/diagnoses/d");
  EXPECT_EQ(json::parse(Ask("GET", std::string(kOne) + "?fields=name").body).size(), 1u);
}

TEST_F(ApiTest, AConfirmationSaysWhoseKeyItIs) {
  constexpr char kFeedback[] = "/v1/tenants/acme/diagnoses/d:submitFeedback";
  const auto by = [&](const std::string& body) {
    upstream_.calls.clear();
    EXPECT_EQ(Ask("POST", kFeedback, "customer", body).status, 200);
    return static_cast<const galen::v1::SubmitFeedbackRequest&>(*upstream_.calls.at(0).request)
        .confirmed_by();
  };
  const std::string said = by(
      R"json({"confirmedLabel": "A.B.C", "confirmedBy": "NAME, principal engineer (approved)"})json");
  EXPECT_THAT(said, StartsWith("key/"));
  EXPECT_THAT(said, HasSubstr(" (customer): NAME, principal engineer (approved)"));
  EXPECT_EQ(by(R"json({"text": "it is hot", "confirmedBy": "me"})json"), "me");  // confirms nothing
}

TEST_F(ApiTest, ACauseThatIsNoneIsRefusedAtOnce) {
  Api api(PublicRoutes(), upstream_, access_, rates_, redactor_, "{}",
          {.is_cause = [](absl::string_view label) { return label == "A.B.C"; }});
  for (const auto& [label, status] : {std::pair{"A.B.C", 200}, std::pair{"NO.SUCH.CAUSE", 400}}) {
    http::Request request;
    request.method = "POST";
    request.target = "/v1/tenants/acme/diagnoses/d:submitFeedback";
    request.body = absl::StrCat(R"({"confirmedLabel": ")", label, R"(", "confirmedBy": "ana"})");
    request.headers.Add("Authorization", "customer");
    const auto exchange = std::make_shared<FakeExchange>();
    api.Handle(std::move(request), exchange);
    EXPECT_EQ(exchange->AwaitResponse().status, status) << label;
  }
}

TEST_F(ApiTest, WhoHasNoKeyIsRefusedBeforeItsBodyIsRead) {
  http::Request head;
  head.method = "POST";
  head.target = kAll;
  ASSERT_TRUE(api_.LookAtHead(head).refusal.has_value());
  EXPECT_EQ(api_.LookAtHead(head).refusal->status, 401);
  head.headers.Add("Authorization", "customer");
  EXPECT_FALSE(api_.LookAtHead(head).refusal.has_value());
  EXPECT_EQ(api_.LookAtHead(head).payer, "tenant acme");
}

TEST_F(ApiTest, PassesOnWhatTheMeshSaysOfARequest) {
  upstream_.status = WithRetryAfter(absl::ResourceExhaustedError("too many"), absl::Seconds(3));
  const http::Response response = Ask("POST", kAll, "customer", kIncident);
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.headers.Get("Retry-After"), "3");
  EXPECT_EQ(json::parse(response.body)["error"]["message"], "too many");
}

// Every method there is, so also those that are yet to come.
TEST_F(ApiTest, NoMethodTellsACustomerAnythingOfAnotherTenant) {
  for (const Route& route : PublicRoutes()) {
    for (const char* key : {"customer", "forged"}) {
      const http::Response other =
          Ask(route.verb, PathOf(route, "victim"), key, route.body.empty() ? "" : "{}");
      EXPECT_EQ(other.status, 404) << route.name;
      EXPECT_EQ(ReasonOf(other), "NOT_FOUND") << route.name;
    }
  }
  EXPECT_TRUE(upstream_.calls.empty());
  EXPECT_TRUE(upstream_.streams.empty());
  // Not even how much it asks for.
  EXPECT_TRUE(rates_.taken.empty());
}

TEST_F(ApiTest, EveryMethodServesTheOwnTenant) {
  std::size_t asked = 0;
  for (const Route& route : PublicRoutes()) {
    const std::string key = route.verb == "DELETE" ? "operator" : "customer";
    Begin(route.verb, PathOf(route, "acme"), key, route.body.empty() ? "" : "{}");
    EXPECT_EQ(upstream_.calls.size() + upstream_.streams.size(), ++asked) << route.name;
  }
}

TEST_F(ApiTest, AnOperatorDeletesADiagnosisAndACustomerDoesNot) {
  const http::Response refused = Ask("DELETE", kOne, "customer");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("ask an operator"));
  EXPECT_TRUE(upstream_.calls.empty());
  const auto exchange = Begin("DELETE", kOne, "operator");
  ASSERT_EQ(upstream_.calls.size(), 1u);
  EXPECT_EQ(upstream_.calls[0].method->name(), "DeleteDiagnosis");
  EXPECT_EQ(upstream_.calls[0].resource, "tenants/acme/diagnoses/d");
  EXPECT_FALSE(upstream_.calls[0].again);
  EXPECT_EQ(Ask("DELETE", kAll, "operator").status, 405);
}

TEST_F(ApiTest, AnOperatorOfAllTenantsActsForTheOneThatThePathNames) {
  EXPECT_EQ(Ask("GET", "/v1/tenants/victim/diagnoses/d", "operator").status, 200);
  EXPECT_EQ(upstream_.calls[0].resource, "tenants/victim/diagnoses/d");
}

TEST_F(ApiTest, EveryMethodAsksForAKey) {
  for (const Route& route : PublicRoutes()) {
    for (const char* key : {"", "rubbish"}) {
      const http::Response response = Ask(route.verb, PathOf(route, "acme"), key);
      EXPECT_EQ(response.status, 401) << route.name;
      EXPECT_EQ(response.headers.Get("WWW-Authenticate"), "Bearer");
    }
  }
  EXPECT_TRUE(upstream_.calls.empty());
}

TEST_F(ApiTest, EveryMethodAsksForItsScope) {
  for (const Route& route : PublicRoutes()) {
    const http::Response response =
        Ask(route.verb, PathOf(route, "acme"), route.writes() ? "reader" : "writer");
    EXPECT_EQ(response.status, 403) << route.name;
    EXPECT_EQ(ReasonOf(response), "MISSING_SCOPE");
  }
  EXPECT_TRUE(upstream_.calls.empty());
}

TEST_F(ApiTest, ACustomerNamesNoFileOfTheServer) {
  for (
      const char* body :
      {R"({"incident": {"description": "x", "bundle": "/etc"}})",
       R"({"incident": {"description": "x", "logs": [{"path": "/etc/passwd"}]}})",
       R"({"incident": {"description": "x", "logs": [{"path": "from:../passwd"}]}})",
       R"({"incident": {"description": "x", "logs": [{"path": "from:loki+http://a?query=b"}]}})"}) {
    const http::Response response = Ask("POST", kAll, "customer", body);
    EXPECT_EQ(response.status, 400);
    EXPECT_EQ(ReasonOf(response), "SERVER_PATH");
    EXPECT_EQ(Ask("POST", "/v1/tenants/acme/diagnoses", "operator", body).status, 200);
  }
}

TEST_F(ApiTest, ACustomerMayNameALogSourceOfTheSite) {
  EXPECT_EQ(Ask("POST", kAll, "customer",
                R"({"incident": {"description": "x", "logs": [{"path": "from:site-1"}]}})")
                .status,
            200);
}

TEST_F(ApiTest, ACustomerIsNotShownWhatConcernsTheProvider) {
  knowledge::v1::KnowledgeBase base;
  base.add_checks()->set_name("gpu.ecc");
  redactor_.Use(base);
  galen::v1::CheckResult& result = *upstream_.response.add_check_results();
  result.set_check("gpu.ecc");
  galen::v1::Device& device = *result.add_findings()->mutable_subject();
  device.set_device("gpu:1");
  device.set_serial("1652921000001");
  EXPECT_FALSE(absl::StrContains(Ask("GET", kOne).body, "1652921000001"));
  EXPECT_TRUE(absl::StrContains(Ask("GET", kOne, "operator").body, "1652921000001"));

  galen::v1::DiagnosisEvent event;
  *event.mutable_check_completed()->mutable_result() = upstream_.response.check_results(0);
  for (const auto& [key, shown] : {std::pair("customer", false), std::pair("operator", true)}) {
    const auto exchange = Begin("GET", absl::StrCat(kOne, ":watch"), key);
    upstream_.streams.back()->on_message(event);
    const std::string text = exchange->AwaitText("gpu:1");
    EXPECT_EQ(absl::StrContains(text, "1652921000001"), shown) << key << text;
  }
}

TEST_F(ApiTest, SaysHowMuchIsLeft) {
  const http::Response response = Ask("GET", kOne);
  EXPECT_EQ(response.headers.Get("RateLimit"), "\"tenant\";r=9;t=1");
  EXPECT_EQ(response.headers.Get("RateLimit-Policy"), "\"tenant\";q=10");
  EXPECT_EQ(response.headers.Get("X-RateLimit-Remaining"), "9");
}

TEST_F(ApiTest, RefusesWhatIsTooMuchAndSaysWhenToTryAgain) {
  rates_.allowance.wait = absl::Milliseconds(2500);
  const http::Response response = Ask("POST", kAll, "customer", kIncident);
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(ReasonOf(response), "RATE_LIMITED");
  EXPECT_EQ(response.headers.Get("Retry-After"), "3");
  EXPECT_TRUE(upstream_.calls.empty());
  EXPECT_EQ(rates_.taken, (std::vector<std::pair<std::string, bool>>{{"acme", true}}));
}

TEST_F(ApiTest, OnlyStartsOfDiagnosesCountAsSuch) {
  Ask("GET", kOne);
  Ask("POST", std::string(kOne) + ":cancel", "customer", "{}");
  Ask("DELETE", kOne, "customer");
  EXPECT_EQ(rates_.taken, (std::vector<std::pair<std::string, bool>>{
                              {"acme", false}, {"acme", false}, {"acme", false}}));
}

TEST_F(ApiTest, RefusesPathsAndMethodsThatThereAreNot) {
  EXPECT_EQ(Ask("GET", "/v1/nothing").status, 404);
  const http::Response response = Ask("PUT", kOne);
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.headers.Get("Allow"), "GET, DELETE");
  EXPECT_EQ(Ask("HEAD", kOne).status, 200);
}

TEST_F(ApiTest, ServesItsDescriptionAndItsHealthWithoutAKey) {
  EXPECT_THAT(Ask("GET", "/openapi.json", "").body, HasSubstr("3.1.0"));
  EXPECT_EQ(Ask("GET", "/healthz", "").status, 200);
}

TEST_F(ApiTest, EndsTheCallWhenTheClientHangsUp) {
  upstream_.answers = false;
  const auto exchange = Begin("GET", kOne);
  EXPECT_EQ(upstream_.cancelled, 0);
  exchange->HangUp();
  EXPECT_EQ(upstream_.cancelled, 1);
  std::move(upstream_.unanswered[0])(absl::CancelledError("cancelled"));
}

TEST_F(ApiTest, PutsALimitOnTheTimeOfACall) {
  upstream_.answers = false;
  const auto within = [this](const char* wanted) {
    Begin("GET", kOne, "customer", "", {{"X-Server-Timeout", wanted}});
    return upstream_.calls.back().deadline - absl::Now();
  };
  EXPECT_LE(within("5"), absl::Seconds(5));
  EXPECT_LE(within("1e30"), absl::Seconds(120));
  for (const char* bad : {"-1", "0", "soon", "nan"}) {
    EXPECT_EQ(Ask("GET", kOne, "customer", "",
                  std::vector<std::pair<std::string, std::string>>{{"X-Server-Timeout", bad}})
                  .status,
              400)
        << bad;
  }
}

TEST_F(ApiTest, OnlyWhatDoesNothingTwiceIsMadeAgain) {
  Ask("GET", kOne);
  EXPECT_TRUE(upstream_.calls.back().again);
  Ask("POST", kAll, "customer", kIncident);
  EXPECT_FALSE(upstream_.calls.back().again);
  Ask("POST", std::string(kAll) + "?requestId=r", "customer", kIncident);
  EXPECT_TRUE(upstream_.calls.back().again);
  Ask("POST", std::string(kOne) + ":cancel", "customer", "{}");
  EXPECT_FALSE(upstream_.calls.back().again);
}

TEST_F(ApiTest, AStreamGoesOnBehindTheLastEventThatWasSeen) {
  using Headers = std::vector<std::pair<std::string, std::string>>;
  const auto after = [this](const Headers& headers, const std::string& query = "") {
    Begin("GET", std::string(kOne) + ":watch" + query, "customer", "", headers);
    return dynamic_cast<const galen::v1::WatchDiagnosisRequest&>(
               *upstream_.streams.back()->call.request)
        .after_sequence();
  };
  EXPECT_EQ(after({}), 0);
  EXPECT_EQ(after({{"Last-Event-ID", "42"}}), 42);
  EXPECT_EQ(after({}, "?afterSequence=7"), 7);
  EXPECT_EQ(after({{"Last-Event-ID", "42"}}, "?afterSequence=7"), 42);
  // An id of another server, or an invalid one: beyond the end of every log, which is then sent
  // from its start.
  EXPECT_EQ(after({{"Last-Event-ID", "0xff"}}), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(after({{"Last-Event-ID", "-1"}}), std::numeric_limits<std::int64_t>::max());
}

TEST_F(ApiTest, AKeyHasSoManyStreamsOpenAndNoMore) {
  const std::string watch = std::string(kOne) + ":watch";
  std::vector<std::shared_ptr<FakeExchange>> open;
  for (int i = 0; i < 256; ++i) open.push_back(Begin("GET", watch));
  const http::Response refused = Ask("GET", watch);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(ReasonOf(refused), "TOO_MANY_STREAMS");
  EXPECT_EQ(upstream_.streams.size(), 256u);
  Begin("GET", watch, "operator");  // another key
  EXPECT_EQ(upstream_.streams.size(), 257u);
  open.back()->HangUp();
  Begin("GET", watch);
  EXPECT_EQ(upstream_.streams.size(), 258u);
}

TEST_F(ApiTest, WhatParsersDisagreeAboutIsNoBody) {
  for (const char* body :
       {R"({"incident": {"description": "slow", "description": "fast"}})",
        R"({"incident": {"description": "slow"}, "incident": {}})",
        R"({'incident': {'description': 'slow'}})", R"({incident: {description: "slow"}})"}) {
    const http::Response response = Ask("POST", kAll, "customer", body);
    EXPECT_EQ(response.status, 400) << body;
    EXPECT_EQ(ReasonOf(response), "INVALID_JSON") << body;
  }
  EXPECT_TRUE(upstream_.calls.empty());
}

TEST_F(ApiTest, CountsRequestsByMethodAndCode) {
  Ask("GET", kOne);
  Ask("GET", kOne, "rubbish");
  Ask("GET", "/v1/nothing");
  Begin("GET", std::string(kOne) + ":watch")->HangUp();
  std::map<std::pair<std::string, std::string>, double> counted;
  for (const prometheus::MetricFamily& family : api_.calls()->Collect()) {
    if (family.name != "galen_http_requests_total") continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      std::map<std::string, std::string> labels;
      for (const auto& label : metric.label) labels[label.name] = label.value;
      if (metric.counter.value == 0) continue;
      counted[{labels["rpc_method"], labels["code"]}] = metric.counter.value;
    }
  }
  EXPECT_EQ(counted, (std::map<std::pair<std::string, std::string>, double>{
                         {{"GetDiagnosis", "OK"}, 1},
                         {{"GetDiagnosis", "UNAUTHENTICATED"}, 1},
                         {{"(no method)", "NOT_FOUND"}, 1},
                         {{"WatchDiagnosis", "CANCELLED"}, 1}}));
}

}  // namespace
}  // namespace galen::gateway
