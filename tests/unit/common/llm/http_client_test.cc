#include "common/llm/http_client.h"
#include "absl/time/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/fake_clock.h"
#include "tests/testing/llm/scripted_endpoint.h"
#include "tests/testing/status_matchers.h"

namespace galen::llm {
namespace {

using galen::testing::ChatReply;
using galen::testing::EmbeddingReply;
using galen::testing::ErrorReply;
using galen::testing::FakeClock;
using galen::testing::Hang;
using galen::testing::HugeReply;
using galen::testing::IsOk;
using galen::testing::ModelsReply;
using galen::testing::NotUtf8;
using galen::testing::Recorded;
using galen::testing::ResetMidStream;
using galen::testing::Scripted;
using galen::testing::ScriptedEndpoint;
using galen::testing::StatusIs;
using galen::testing::StreamReply;
using galen::testing::Throttled;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Code = absl::StatusCode;

ChatRequest Question(const std::string& text = "why?") {
  return {.purpose = "rank", .messages = {{Message::Role::kUser, text}}};
}

// A client of a scripted endpoint, whose pauses pass at once and are kept.
class HttpClientTest : public ::testing::Test {
 protected:
  HttpClientTest() {
    endpoint_.model = "m";
    endpoint_.proxy = "none";
    endpoint_.total = absl::Seconds(30);
  }

  std::unique_ptr<HttpClient> ClientOf(const std::string& url) {
    endpoint_.url = url;
    Dependencies dependencies;
    dependencies.clock = &clock_;
    dependencies.chance = [] { return 0.5; };
    dependencies.sleep = [this](absl::Duration duration, const Cancellation& cancellation) {
      const std::lock_guard<std::mutex> lock(mu_);
      pauses_.push_back(duration);
      return cancellation.cancelled();
    };
    auto client = HttpClient::Make(endpoint_, std::move(dependencies));
    EXPECT_THAT(client, IsOk());
    return *std::move(client);
  }

  Endpoint endpoint_;
  FakeClock clock_;
  std::mutex mu_;
  std::vector<absl::Duration> pauses_;
};

TEST_F(HttpClientTest, AsksAndUnderstands) {
  ScriptedEndpoint endpoint({ChatReply("because", {.prompt = 50, .cached = 48, .completion = 2})});
  const auto client = ClientOf(endpoint.url());
  const auto answer = client->Chat(Question(), {});
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->text, "because");
  EXPECT_EQ(answer->model, "scripted");
  EXPECT_EQ(answer->usage.cached_tokens, 48);
  EXPECT_EQ(answer->attempts, 1);
  const std::vector<Recorded> requests = endpoint.requests();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].target, "/v1/chat/completions");
  EXPECT_EQ(requests[0].headers.at("content-type"), "application/json");
  EXPECT_EQ(requests[0].headers.count("authorization"), 0u);
  EXPECT_EQ(nlohmann::json::parse(requests[0].body)["messages"][0]["content"], "why?");
  const Health health = client->health();
  EXPECT_EQ(health.calls, 1);
  EXPECT_EQ(health.answers, 1);
  EXPECT_EQ(health.attempts, 1);
  EXPECT_EQ(health.usage.prompt_tokens, 50);
  EXPECT_EQ(health.circuit, Health::Circuit::kClosed);
}

TEST_F(HttpClientTest, UsesAConnectionAgain) {
  ScriptedEndpoint endpoint({ChatReply("x")});
  const auto client = ClientOf(endpoint.url());
  for (int i = 0; i < 5; ++i) ASSERT_THAT(client->Chat(Question(), {}), IsOk());
  for (const Recorded& request : endpoint.requests()) EXPECT_EQ(request.connection, 0);
}

TEST_F(HttpClientTest, AsksAgainWhenTheConnectionIsReset) {
  Scripted reset;
  reset.no_head = true;
  reset.then = Scripted::Then::kReset;
  ScriptedEndpoint endpoint({reset, ChatReply("x")});
  const auto client = ClientOf(endpoint.url());
  const auto answer = client->Chat(Question(), {});
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(client->health().retries, answer->attempts - 1);
}

TEST_F(HttpClientTest, AsksAgainAfterAnErrorOfTheServer) {
  ScriptedEndpoint endpoint({ErrorReply(500, "oops"), ErrorReply(503, "busy"), ChatReply("x")});
  const auto client = ClientOf(endpoint.url());
  const auto answer = client->Chat(Question(), {});
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->attempts, 3);
  EXPECT_THAT(pauses_, ElementsAre(absl::Milliseconds(125), absl::Milliseconds(250)));
  EXPECT_EQ(client->health().unavailable, 2);
  EXPECT_EQ(client->health().retries, 2);
}

TEST_F(HttpClientTest, GivesUpAfterSoManyTries) {
  ScriptedEndpoint endpoint({ErrorReply(500, "oops")});
  endpoint_.retry.most = 2;
  const auto client = ClientOf(endpoint.url());
  EXPECT_THAT(client->Chat(Question(), {}),
              StatusIs(Code::kUnavailable,
                       AllOf(HasSubstr(endpoint.url()), HasSubstr("HTTP 500"), HasSubstr("oops"))));
  EXPECT_THAT(endpoint.requests(), SizeIs(3));
}

TEST_F(HttpClientTest, WaitsAsLongAsItIsTold) {
  ScriptedEndpoint endpoint({Throttled("7"), ChatReply("x")});
  const auto client = ClientOf(endpoint.url());
  ASSERT_THAT(client->Chat(Question(), {}), IsOk());
  EXPECT_THAT(pauses_, ElementsAre(absl::Milliseconds(7125)));
  EXPECT_EQ(client->health().throttled, 1);
}

TEST_F(HttpClientTest, WaitsUntilTheDateItIsTold) {
  const std::string date = absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT",
                                            absl::Now() + absl::Seconds(10), absl::UTCTimeZone());
  ScriptedEndpoint endpoint({Throttled(date), ChatReply("x")});
  const auto client = ClientOf(endpoint.url());
  ASSERT_THAT(client->Chat(Question(), {}), IsOk());
  ASSERT_THAT(pauses_, SizeIs(1));
  EXPECT_GT(pauses_[0], absl::Seconds(1));
  EXPECT_LT(pauses_[0], absl::Seconds(11));
}

TEST_F(HttpClientTest, DoesNotWaitBeyondTheDeadline) {
  ScriptedEndpoint endpoint({Throttled("3600")});
  const auto client = ClientOf(endpoint.url());
  EXPECT_THAT(client->Chat(Question(), {}),
              StatusIs(Code::kResourceExhausted, HasSubstr("asked again in 1h")));
  EXPECT_THAT(pauses_, IsEmpty());
  EXPECT_THAT(endpoint.requests(), SizeIs(1));
}

TEST_F(HttpClientTest, DoesNotRepeatWhatWillFailAgain) {
  struct Row {
    Scripted reply;
    Code code;
  };
  for (const auto& [reply, code] : {
           Row{ErrorReply(400, "context too long"), Code::kInvalidArgument},
           Row{ErrorReply(401, "bad key"), Code::kPermissionDenied},
           Row{ErrorReply(403, "no"), Code::kPermissionDenied},
           Row{ErrorReply(404, "no such model"), Code::kInvalidArgument},
           Row{ErrorReply(422, "what?"), Code::kInvalidArgument},
           Row{ErrorReply(501, "not here"), Code::kInvalidArgument},
           Row{ErrorReply(307, ""), Code::kInvalidArgument},
           Row{ChatReply(""), Code::kDataLoss},
           Row{NotUtf8(), Code::kDataLoss},
           Row{HugeReply(10 << 20, /*announced=*/true), Code::kDataLoss},
           Row{HugeReply(10 << 20, /*announced=*/false), Code::kDataLoss},
           Row{{.body = "{\"choices\": ["}, Code::kDataLoss},
           Row{{.raw_head = "SSH-2.0-OpenSSH_9.2\r\n\r\n"}, Code::kDataLoss},
       }) {
    ScriptedEndpoint endpoint({reply});
    const auto client = ClientOf(endpoint.url());
    EXPECT_THAT(client->Chat(Question(), {}), StatusIs(code, HasSubstr(endpoint.url())))
        << reply.code;
    EXPECT_THAT(endpoint.requests(), SizeIs(1)) << reply.code;
    const Health health = client->health();
    EXPECT_EQ(health.denied + health.rejected + health.bad_answers, 1);
  }
}

TEST_F(HttpClientTest, FollowsNobodyElsewhere) {
  ScriptedEndpoint other({ChatReply("gotcha")});
  Scripted away;
  away.code = 302;
  away.headers = {{"Location", other.url() + "/chat/completions"}};
  ScriptedEndpoint endpoint({away});
  EXPECT_THAT(ClientOf(endpoint.url())->Chat(Question(), {}),
              StatusIs(Code::kInvalidArgument, HasSubstr("leads elsewhere")));
  EXPECT_THAT(other.requests(), IsEmpty());
}

TEST_F(HttpClientTest, ReadsOfAnAnswerThatIsTooLargeNoMoreThanItMay) {
  // More than the buffers of any socket: it is only sent completely if it is read.
  ScriptedEndpoint endpoint({HugeReply(64 << 20, /*announced=*/false)});
  endpoint_.most_bytes = 64 << 10;
  EXPECT_THAT(ClientOf(endpoint.url())->Chat(Question(), {}),
              StatusIs(Code::kDataLoss, HasSubstr("65536")));
}

TEST_F(HttpClientTest, IsNotHeldByAnEndpointThatHangs) {
  ScriptedEndpoint endpoint({Hang()});
  endpoint_.total = absl::Milliseconds(50);
  const auto client = ClientOf(endpoint.url());
  EXPECT_THAT(client->Chat(Question(), {}), StatusIs(Code::kDeadlineExceeded, _));
  EXPECT_EQ(client->health().late, 1);
}

TEST_F(HttpClientTest, IsNotHeldByAnAnswerThatStopsHalfWay) {
  Scripted half = ChatReply("half");
  half.body.resize(20);
  half.then = Scripted::Then::kHang;
  ScriptedEndpoint endpoint({half});
  const auto client = ClientOf(endpoint.url());
  EXPECT_THAT(client->Chat(Question(), {.deadline = absl::Now() + absl::Milliseconds(50)}),
              StatusIs(Code::kDeadlineExceeded, _));
}

TEST_F(HttpClientTest, SendsNothingAfterTheDeadline) {
  ScriptedEndpoint endpoint({ChatReply("x")});
  const auto client = ClientOf(endpoint.url());
  EXPECT_THAT(client->Chat(Question(), {.deadline = absl::Now() - absl::Seconds(1)}),
              StatusIs(Code::kDeadlineExceeded, _));
  EXPECT_THAT(endpoint.requests(), IsEmpty());
  EXPECT_EQ(client->health().circuit, Health::Circuit::kClosed);
}

TEST_F(HttpClientTest, EndsWhenItIsCancelled) {
  ScriptedEndpoint endpoint({Hang()});
  const auto client = ClientOf(endpoint.url());
  Cancellation cancellation;
  std::thread canceller([&] {
    endpoint.WaitForRequests(1);
    cancellation.Cancel();
  });
  EXPECT_THAT(client->Chat(Question(), {.cancellation = &cancellation}),
              StatusIs(Code::kCancelled, _));
  canceller.join();
}

TEST_F(HttpClientTest, SaysWhenNobodyListens) {
  std::string url;
  {
    const ScriptedEndpoint gone({ChatReply("x")});
    url = gone.url();
  }
  const auto client = ClientOf(url);
  EXPECT_THAT(client->Chat(Question(), {}), StatusIs(Code::kUnavailable, HasSubstr(url)));
  EXPECT_EQ(client->health().unavailable, 3);
}

TEST_F(HttpClientTest, StreamsToWhoeverListens) {
  ScriptedEndpoint endpoint({StreamReply({"be", "cause", " of \xC3\xB6"}, {.prompt = 11})});
  const auto client = ClientOf(endpoint.url());
  std::vector<std::string> pieces;
  CallOptions options;
  options.on_text = [&](absl::string_view piece) {
    pieces.emplace_back(piece);
    return true;
  };
  const auto answer = client->Chat(Question(), options);
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(pieces, ElementsAre("be", "cause", " of \xC3\xB6"));
  EXPECT_EQ(answer->text, "because of \xC3\xB6");
  EXPECT_EQ(answer->usage.prompt_tokens, 11);
  EXPECT_EQ(nlohmann::json::parse(endpoint.requests()[0].body)["stream"], true);
}

TEST_F(HttpClientTest, TakesAWholeAnswerFromAServerThatDoesNotStream) {
  ScriptedEndpoint endpoint({ChatReply("whole")});
  std::vector<std::string> pieces;
  CallOptions options;
  options.on_text = [&](absl::string_view piece) {
    pieces.emplace_back(piece);
    return true;
  };
  const auto answer = ClientOf(endpoint.url())->Chat(Question(), options);
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(pieces, ElementsAre("whole"));
}

TEST_F(HttpClientTest, AsksAgainWhenAStreamBreaksOffThatNobodySaw) {
  ScriptedEndpoint endpoint({ResetMidStream(), StreamReply({"all"})});
  endpoint_.stream = true;
  const auto answer = ClientOf(endpoint.url())->Chat(Question(), {});
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->text, "all");
  EXPECT_EQ(answer->attempts, 2);
}

// For a client that saw the beginning before the reset; a reset can also overtake data sent before
// it.
TEST_F(HttpClientTest, NeverRepeatsWhatWasHandedOn) {
  Scripted broken = ResetMidStream();
  broken.then = Scripted::Then::kClose;  // a chunked body without its end
  ScriptedEndpoint endpoint({broken, StreamReply({"all"})});
  std::string seen;
  CallOptions options;
  options.on_text = [&](absl::string_view piece) {
    seen += std::string(piece);
    return true;
  };
  EXPECT_THAT(ClientOf(endpoint.url())->Chat(Question(), options), StatusIs(Code::kUnavailable, _));
  EXPECT_EQ(seen, "{\"order\": [");
  EXPECT_THAT(endpoint.requests(), SizeIs(1));
}

TEST_F(HttpClientTest, StopsAStreamWhenItsReaderHasEnough) {
  ScriptedEndpoint endpoint({StreamReply({"a", "b", "c"})});
  CallOptions options;
  options.on_text = [](absl::string_view) { return false; };
  EXPECT_THAT(ClientOf(endpoint.url())->Chat(Question(), options), StatusIs(Code::kCancelled, _));
}

TEST_F(HttpClientTest, GivesAStreamLittleTimeForItsFirstByte) {
  ScriptedEndpoint endpoint({Hang()});
  endpoint_.stream = true;
  endpoint_.first_byte = absl::Milliseconds(50);
  EXPECT_THAT(ClientOf(endpoint.url())->Chat(Question(), {}),
              StatusIs(Code::kDeadlineExceeded, HasSubstr("not a byte")));
}

TEST_F(HttpClientTest, OpensItsCircuitAndClosesItAgain) {
  bool healthy = false;
  ScriptedEndpoint endpoint(
      [&healthy](const Recorded&) { return healthy ? ChatReply("x") : ErrorReply(500, "oops"); });
  endpoint_.retry.most = 0;
  endpoint_.circuit.consecutive = 3;
  endpoint_.circuit.cool_down = absl::Seconds(10);
  const auto client = ClientOf(endpoint.url());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(client->Chat(Question(), {}).ok());
  EXPECT_EQ(client->health().circuit, Health::Circuit::kOpen);
  EXPECT_THAT(client->Chat(Question(), {}), StatusIs(Code::kUnavailable, HasSubstr("circuit")));
  EXPECT_THAT(endpoint.requests(), SizeIs(3));
  EXPECT_EQ(client->health().refused, 1);
  EXPECT_EQ(client->health().opened, 1);
  clock_.Advance(absl::Seconds(20));
  EXPECT_EQ(client->health().circuit, Health::Circuit::kHalfOpen);
  healthy = true;
  EXPECT_THAT(client->Chat(Question(), {}), IsOk());
  EXPECT_EQ(client->health().circuit, Health::Circuit::kClosed);
}

TEST_F(HttpClientTest, KeepsItsCircuitClosedForWhatIsNoFaultOfTheEndpoint) {
  ScriptedEndpoint endpoint({ErrorReply(400, "too long")});
  endpoint_.circuit.consecutive = 2;
  const auto client = ClientOf(endpoint.url());
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(client->Chat(Question(), {}), StatusIs(Code::kInvalidArgument, _));
  }
  EXPECT_EQ(client->health().circuit, Health::Circuit::kClosed);
}

TEST_F(HttpClientTest, RetriesEndWhenTheyOpenTheCircuit) {
  ScriptedEndpoint endpoint({ErrorReply(500, "oops")});
  endpoint_.retry.most = 10;
  endpoint_.circuit.consecutive = 2;
  EXPECT_THAT(ClientOf(endpoint.url())->Chat(Question(), {}),
              StatusIs(Code::kUnavailable, HasSubstr("HTTP 500")));
  EXPECT_THAT(endpoint.requests(), SizeIs(2));
}

TEST_F(HttpClientTest, HedgesOnlyWhenItIsToldTo) {
  ScriptedEndpoint endpoint({Hang(), ChatReply("second")});
  endpoint_.hedge_after = absl::Milliseconds(20);
  const auto client = ClientOf(endpoint.url());
  const auto answer = client->Chat(Question(), {});
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->text, "second");
  EXPECT_EQ(answer->attempts, 2);
  EXPECT_EQ(client->health().hedges, 1);

  ScriptedEndpoint other({Hang(), ChatReply("second")});
  endpoint_.hedge_after = absl::ZeroDuration();
  endpoint_.total = absl::Milliseconds(60);
  EXPECT_THAT(ClientOf(other.url())->Chat(Question(), {}), StatusIs(Code::kDeadlineExceeded, _));
  EXPECT_THAT(other.requests(), SizeIs(1));
}

TEST_F(HttpClientTest, HasNoMoreRequestsUnderWayThanItMay) {
  ScriptedEndpoint endpoint({ChatReply("x")});
  endpoint_.concurrency = 2;
  const auto client = ClientOf(endpoint.url());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) EXPECT_THAT(client->Chat(Question(), {}), IsOk());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(endpoint.requests(), SizeIs(40));
  for (const Recorded& request : endpoint.requests()) EXPECT_LT(request.connection, 2);
  EXPECT_EQ(client->health().answers, 40);
}

TEST_F(HttpClientTest, SaysWhenNoConnectionIsFree) {
  ScriptedEndpoint endpoint({Hang()});
  endpoint_.concurrency = 1;
  const auto client = ClientOf(endpoint.url());
  Cancellation cancellation;
  std::thread holder([&] {
    EXPECT_THAT(client->Chat(Question(), {.cancellation = &cancellation}),
                StatusIs(Code::kCancelled, _));
  });
  endpoint.WaitForRequests(1);
  EXPECT_THAT(client->Chat(Question(), {.deadline = absl::Now() + absl::Milliseconds(20)}),
              StatusIs(Code::kResourceExhausted, HasSubstr("raise concurrency")));
  cancellation.Cancel();
  holder.join();
}

TEST_F(HttpClientTest, AsksAzureAsAzureWantsIt) {
  ScriptedEndpoint endpoint({ChatReply("x")});
  endpoint_.api = Api::kAzure;
  endpoint_.api_version = "2024-10-21";
  const auto client = ClientOf(endpoint.url());
  ASSERT_THAT(client->Chat(Question(), {}), IsOk());
  EXPECT_EQ(endpoint.requests()[0].target,
            "/v1/openai/deployments/m/chat/completions?api-version=2024-10-21");
}

TEST_F(HttpClientTest, GoesThroughAProxy) {
  ScriptedEndpoint proxy({ChatReply("x")});
  endpoint_.proxy = proxy.url().substr(0, proxy.url().rfind('/'));
  ASSERT_THAT(ClientOf("http://models.invalid:8000/v1")->Chat(Question(), {}), IsOk());
  EXPECT_EQ(proxy.requests()[0].target, "http://models.invalid:8000/v1/chat/completions");
}

TEST_F(HttpClientTest, Embeds) {
  ScriptedEndpoint endpoint({EmbeddingReply({{1, 0}, {0, 1}})});
  endpoint_.embedding_model = "e";
  const auto client = ClientOf(endpoint.url());
  const auto embeddings = client->Embed({.texts = {"a", "b"}}, {});
  ASSERT_THAT(embeddings, IsOk());
  EXPECT_THAT(embeddings->vectors, ElementsAre(ElementsAre(1, 0), ElementsAre(0, 1)));
  const auto body = nlohmann::json::parse(endpoint.requests()[0].body);
  EXPECT_EQ(body["model"], "e");
  EXPECT_EQ(body["input"], nlohmann::json({"a", "b"}));
}

TEST_F(HttpClientTest, EmbedsNothingWithoutAModelForIt) {
  ScriptedEndpoint endpoint({EmbeddingReply({{1, 0}})});
  EXPECT_THAT(ClientOf(endpoint.url())->Embed({.texts = {"a"}}, {}),
              StatusIs(Code::kInvalidArgument, HasSubstr("embedding")));
  EXPECT_THAT(endpoint.requests(), IsEmpty());
}

TEST_F(HttpClientTest, ListsModels) {
  ScriptedEndpoint endpoint({ModelsReply({"a", "b"})});
  EXPECT_THAT(*ClientOf(endpoint.url())->Models({}), ElementsAre("a", "b"));
  EXPECT_EQ(endpoint.requests()[0].method, "GET");
}

}  // namespace
}  // namespace galen::llm
