#include "common/llm/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace galen::llm {
namespace wire_test {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using nlohmann::json;
using ::testing::_;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kSchema[] = R"({"type":"object","properties":{"b":{"type":"string"},"a":{}}})";

Endpoint Local() {
  Endpoint endpoint;
  endpoint.url = "http://127.0.0.1:8000/v1";
  endpoint.model = "m";
  return endpoint;
}

ChatRequest Question(const std::string& text) {
  return {.purpose = "rank",
          .messages = {{Message::Role::kSystem, "be exact"}, {Message::Role::kUser, text}},
          .schema = JsonSchema{"rank", kSchema},
          .max_tokens = 64};
}

json BodyOf(const Endpoint& endpoint, const ChatRequest& request, bool stream = false) {
  const auto body = ChatBody(endpoint, request, stream);
  EXPECT_THAT(body, IsOk());
  return json::parse(*body);
}

TEST(ChatBody, AsksAsTheProtocolSays) {
  const json body = BodyOf(Local(), Question("why?"));
  EXPECT_EQ(body, json::parse(R"({"model":"m","max_tokens":64,"temperature":0.0,
    "response_format":{"type":"json_schema","json_schema":{"name":"rank","strict":true,"schema":
      {"type":"object","properties":{"b":{"type":"string"},"a":{}}}}},
    "messages":[{"role":"system","content":"be exact"},{"role":"user","content":"why?"}]})"));
}

TEST(ChatBody, HoldsNoSecretOfWhoeverWroteTheTexts) {
  const std::string token = absl::StrCat("ghp_", std::string(36, 'q'));
  ChatRequest request = Question(absl::StrCat("log: git clone https://u:", token, "@host\n",
                                              "export AWS_SECRET_ACCESS_KEY=", token, "ää"));
  request.messages.push_back({Message::Role::kAssistant, absl::StrCat("you said ", token)});
  const auto body = ChatBody(Local(), request, false);
  ASSERT_THAT(body, IsOk());
  EXPECT_THAT(*body, Not(HasSubstr("qqqqqqqq")));
  EXPECT_THAT(*body, HasSubstr("AWS_SECRET_ACCESS_KEY=[redacted]"));
}

TEST(EmbedBody, HoldsNoSecretOfWhoeverWroteTheTexts) {
  const std::string token = absl::StrCat("ghp_", std::string(36, 'q'));
  const auto body = EmbedBody({.texts = {absl::StrCat("password: ", token), token}}, "m");
  ASSERT_THAT(body, IsOk());
  EXPECT_THAT(*body, Not(HasSubstr("qqqqqqqq")));
}

TEST(ChatBody, KeepsTheOrderInWhichTheSchemaIsWritten) {
  EXPECT_THAT(*ChatBody(Local(), Question("why?"), false), HasSubstr(kSchema));
}

TEST(ChatBody, SaysTheSchemaAsEachServerTakesIt) {
  Endpoint endpoint = Local();
  endpoint.structured = Structured::kGuidedJson;
  EXPECT_EQ(BodyOf(endpoint, Question("?"))["guided_json"], json::parse(kSchema));
  endpoint.structured = Structured::kStructuredOutputs;
  EXPECT_EQ(BodyOf(endpoint, Question("?"))["structured_outputs"]["json"], json::parse(kSchema));
  endpoint.structured = Structured::kJsonObject;
  EXPECT_EQ(BodyOf(endpoint, Question("?"))["response_format"]["type"], "json_object");
  endpoint.structured = Structured::kWords;
  EXPECT_FALSE(BodyOf(endpoint, Question("?")).contains("response_format"));
}

// The text about the schema comes before everything from an incident.
TEST(ChatBody, SaysTheSchemaInWordsInTheInstructions) {
  Endpoint endpoint = Local();
  for (const Structured structured : {Structured::kJsonObject, Structured::kWords}) {
    endpoint.structured = structured;
    const json messages = BodyOf(endpoint, Question("why?"))["messages"];
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_THAT(messages[0]["content"].get<std::string>(),
                ::testing::AllOf(StartsWith("be exact"), HasSubstr(kSchema)));
    EXPECT_EQ(messages[1]["content"], "why?");
    ChatRequest bare = Question("why?");
    bare.messages.erase(bare.messages.begin());
    EXPECT_EQ(BodyOf(endpoint, bare)["messages"][0]["role"], "system");
  }
}

TEST(ChatBody, SaysWhatTheRequestSaysInsteadOfTheConfiguration) {
  Endpoint endpoint = Local();
  endpoint.completion_tokens_field = true;
  endpoint.temperature.reset();
  endpoint.seed = 5;
  ChatRequest request = Question("?");
  json body = BodyOf(endpoint, request, /*stream=*/true);
  EXPECT_FALSE(body.contains("temperature"));
  EXPECT_FALSE(body.contains("max_tokens"));
  EXPECT_EQ(body["max_completion_tokens"], 64);
  EXPECT_EQ(body["seed"], 5);
  EXPECT_EQ(body["stream"], true);
  EXPECT_EQ(body["stream_options"]["include_usage"], true);
  request.temperature = 0.25;
  request.seed = 9;
  request.model = "other";
  body = BodyOf(endpoint, request);
  EXPECT_EQ(body["temperature"], 0.25);
  EXPECT_EQ(body["seed"], 9);
  EXPECT_EQ(body["model"], "other");
  EXPECT_FALSE(body.contains("stream"));
  endpoint.sends_seed = false;
  EXPECT_FALSE(BodyOf(endpoint, request).contains("seed"));
}

// Servers cache their work for the beginning of a prompt, and can only reuse it if the beginning is
// the same.
TEST(ChatBody, BeginsWithTheSameBytesWhenTheFirstMessagesAreTheSame) {
  for (const Structured structured : {Structured::kJsonSchema, Structured::kWords}) {
    Endpoint endpoint = Local();
    endpoint.structured = structured;
    const std::string first = *ChatBody(endpoint, Question("an incident"), false);
    const std::string second = *ChatBody(endpoint, Question("something else"), false);
    const auto [end, ignored] = std::mismatch(first.begin(), first.end(), second.begin());
    EXPECT_THAT(std::string(first.begin(), end), EndsWith(R"({"role":"user","content":")"));
    EXPECT_EQ(first, *ChatBody(endpoint, Question("an incident"), false));
  }
}

TEST(ChatBody, RefusesWhatIsNoQuestion) {
  ChatRequest request = Question("?");
  request.schema->schema = "[1]";
  EXPECT_THAT(ChatBody(Local(), request, false), StatusIs(absl::StatusCode::kInvalidArgument, _));
  request.schema->schema = "{";
  EXPECT_THAT(ChatBody(Local(), request, false), StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(ChatBody(Local(), Question("\xff"), false),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("UTF-8")));
  EXPECT_THAT(ChatBody(Local(), {}, false), StatusIs(absl::StatusCode::kInvalidArgument, _));
}

TEST(Urls, AreThoseOfOpenAiAndOfAzure) {
  Endpoint endpoint = Local();
  EXPECT_EQ(ChatUrl(endpoint, "m"), "http://127.0.0.1:8000/v1/chat/completions");
  EXPECT_EQ(EmbeddingsUrl(endpoint, "m"), "http://127.0.0.1:8000/v1/embeddings");
  EXPECT_EQ(ModelsUrl(endpoint), "http://127.0.0.1:8000/v1/models");
  endpoint.api = Api::kAzure;
  endpoint.url = "https://me.openai.azure.com";
  endpoint.api_version = "2024-10-21";
  EXPECT_EQ(ChatUrl(endpoint, "a/b"),
            "https://me.openai.azure.com/openai/deployments/a%2Fb/chat/completions"
            "?api-version=2024-10-21");
  EXPECT_EQ(ModelsUrl(endpoint),
            "https://me.openai.azure.com/openai/models?api-version=2024-10-21");
}

std::string Answer(const std::string& content, const std::string& more = "") {
  return absl::StrCat(R"({"model":"m-2","choices":[{"message":{"role":"assistant","content":)",
                      json(content).dump(), R"(},"finish_reason":"stop"}])", more, "}");
}

TEST(ChatAnswers, HoldTextAndTokens) {
  const auto answer =
      ParseChatAnswer(Answer("yes", R"(,"usage":{"prompt_tokens":90,"completion_tokens":3,
                        "prompt_tokens_details":{"cached_tokens":64}})"),
                      false);
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->text, "yes");
  EXPECT_EQ(answer->model, "m-2");
  EXPECT_EQ(answer->finish, Finish::kStop);
  EXPECT_TRUE(answer->usage.reported);
  EXPECT_EQ(answer->usage.prompt_tokens, 90);
  EXPECT_EQ(answer->usage.cached_tokens, 64);
  EXPECT_EQ(answer->usage.completion_tokens, 3);
}

TEST(ChatAnswers, WithoutACountAreNotCounted) {
  EXPECT_FALSE(ParseChatAnswer(Answer("yes"), false)->usage.reported);
  EXPECT_FALSE(ParseChatAnswer(Answer("yes", R"(,"usage":null)"), false)->usage.reported);
}

TEST(ChatAnswers, WithAbsurdCountsAreBounded) {
  const auto answer = ParseChatAnswer(
      Answer("yes", R"(,"usage":{"prompt_tokens":18446744073709551615,"completion_tokens":-4,
                        "prompt_tokens_details":{"cached_tokens":1e300}})"),
      false);
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->usage.prompt_tokens, 1'000'000'000);
  EXPECT_EQ(answer->usage.completion_tokens, 0);
  EXPECT_EQ(answer->usage.cached_tokens, 0);
}

TEST(ChatAnswers, ThatAreNoneAreRefused) {
  for (const std::string& body :
       {std::string(), std::string("null"), std::string("[]"), std::string("{}"),
        std::string("<html>"), std::string(R"({"choices":[]})"), std::string(R"({"choices":[{}]})"),
        std::string(R"({"choices":[{"message":null}]})"),
        std::string(R"({"choices":[{"message":{"content":null}}]})"), Answer(""), Answer(" \n"),
        std::string(100000, '['), Answer("cut").substr(0, 40),
        Answer("bad ~").replace(Answer("bad ~").find('~'), 1, "\xff")}) {
    EXPECT_THAT(ParseChatAnswer(body, false), StatusIs(absl::StatusCode::kDataLoss, _)) << body;
  }
}

TEST(ChatAnswers, SayWhenAFilterWithheldThem) {
  EXPECT_THAT(
      ParseChatAnswer(
          R"({"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]})", false),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("content filter")));
}

TEST(UnwrapJson, TakesOffThoughtsAndFences) {
  EXPECT_EQ(UnwrapJson("{\"a\":1}"), "{\"a\":1}");
  EXPECT_EQ(UnwrapJson(" ```json\n{\"a\":1}\n``` "), "{\"a\":1}");
  EXPECT_EQ(UnwrapJson("<think>\nhm\n</think>\n\n{\"a\":1}"), "{\"a\":1}");
  EXPECT_EQ(UnwrapJson("<think>hm</think>```\n{\"a\":1}\n```"), "{\"a\":1}");
  EXPECT_EQ(UnwrapJson("<think>never ends"), "<think>never ends");
  EXPECT_EQ(UnwrapJson("```\n```"), "");
  for (const char* text : {"```", "``````", "```\n", "`````\n"}) UnwrapJson(text);
}

std::string Event(const std::string& data) { return absl::StrCat("data: ", data, "\n\n"); }
std::string Delta(const std::string& text) {
  return Event(absl::StrCat(R"({"choices":[{"delta":{"content":)", json(text).dump(), "}}]}"));
}

TEST(StreamedAnswers, AreHandedOnPieceByPiece) {
  std::vector<std::string> pieces;
  StreamedAnswer stream(1000, [&](absl::string_view piece) {
    pieces.emplace_back(piece);
    return true;
  });
  ASSERT_THAT(stream.Take(Delta("one ") + Delta("") + Delta("two")), IsOk());
  EXPECT_TRUE(stream.started());
  ASSERT_THAT(stream.Take(Event(R"({"choices":[{"delta":{},"finish_reason":"length"}]})") +
                          Event(R"({"choices":[],"usage":{"prompt_tokens":7}})") + Event("[DONE]")),
              IsOk());
  const auto answer = std::move(stream).Finish(false);
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(pieces, ElementsAre("one ", "two"));
  EXPECT_EQ(answer->text, "one two");
  EXPECT_EQ(answer->finish, Finish::kLength);
  EXPECT_EQ(answer->usage.prompt_tokens, 7);
}

TEST(StreamedAnswers, ThatBreakOffAreNone) {
  StreamedAnswer stream(1000, {});
  ASSERT_THAT(stream.Take(Delta("half an ans")), IsOk());
  EXPECT_THAT(std::move(stream).Finish(false), StatusIs(absl::StatusCode::kUnavailable, _));
}

TEST(StreamedAnswers, CanTellOfAnError) {
  StreamedAnswer stream(1000, {});
  EXPECT_THAT(stream.Take(Event(R"({"error":{"message":"out of memory"}})")),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("out of memory")));
}

TEST(StreamedAnswers, AreBounded) {
  StreamedAnswer stream(1000, {});
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) status = stream.Take(Delta(std::string(50, 'a')));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("1000")));
}

TEST(StreamedAnswers, EndWhenTheCallerHasEnough) {
  StreamedAnswer stream(1000, [](absl::string_view) { return false; });
  EXPECT_THAT(stream.Take(Delta("x")), StatusIs(absl::StatusCode::kCancelled, _));
}

TEST(StreamedAnswers, RefuseWhatIsNoEventOfAChat) {
  for (const char* data : {"", "null", "{}", "{\"choices\":{}}", "oops", "\xff"}) {
    StreamedAnswer stream(1000, {});
    EXPECT_THAT(stream.Take(Event(data)), StatusIs(absl::StatusCode::kDataLoss, _)) << data;
  }
}

TEST(EmbeddingAnswers, StandInTheOrderOfTheTexts) {
  const auto embeddings = ParseEmbeddings(
      R"({"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[0.5,-2e-3]}]})", 2);
  ASSERT_THAT(embeddings, IsOk());
  EXPECT_THAT(embeddings->vectors, ElementsAre(ElementsAre(0.5f, -0.002f), ElementsAre(0, 1)));
}

TEST(EmbeddingAnswers, ThatAreNoneAreRefused) {
  for (const char* body :
       {"", "{}", R"({"data":[]})", R"({"data":[{"embedding":[1]}]})",
        R"({"data":[{"embedding":[1]},{"embedding":[1,2]}]})",
        R"({"data":[{"embedding":[1]},{"embedding":[]}]})",
        R"({"data":[{"embedding":[1]},{"embedding":"AAAA"}]})",
        R"({"data":[{"embedding":[1]},{"embedding":[null]}]})",
        R"({"data":[{"embedding":[1]},{"embedding":[1e39]}]})",
        R"({"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]})",
        R"({"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]})",
        R"({"data":[{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}]})"}) {
    EXPECT_THAT(ParseEmbeddings(body, 2), StatusIs(absl::StatusCode::kDataLoss, _)) << body;
  }
}

TEST(ModelAnswers, AreNames) {
  EXPECT_THAT(*ParseModels(R"({"data":[{"id":"a"},{"id":7},{"id":"b\u001b[31m"}]})"),
              ElementsAre("a", "b"));
  EXPECT_THAT(ParseModels("{}"), StatusIs(absl::StatusCode::kDataLoss, _));
}

TEST(ErrorTexts, HoldNoPieceOfTheKeyWhereverTheyAreCut) {
  const http::Secret key("sk-7d41c0ffee");
  for (int before = 0; before < 220; ++before) {
    const std::string said = std::string(static_cast<std::size_t>(before), 'x') + key.Reveal();
    EXPECT_THAT(ErrorText(json{{"error", said}}.dump(), key), Not(HasSubstr("sk-")));
  }
}

TEST(ErrorTexts, AreFoundInTheFormsOfServers) {
  EXPECT_EQ(ErrorText(R"({"error":{"message":"no such model","code":404}})"), "no such model");
  EXPECT_EQ(ErrorText(R"({"object":"error","message":"too long"})"), "too long");
  EXPECT_EQ(ErrorText(R"({"detail":"Not Found"})"), "Not Found");
  EXPECT_EQ(ErrorText(R"({"error":"plain"})"), "plain");
  EXPECT_EQ(ErrorText("<html>502</html>"), "");
  EXPECT_EQ(ErrorText(R"({"error":{"message":"a\nb\u001b[2J"}})"), "a b");
  EXPECT_LE(ErrorText(absl::StrCat(R"({"error":")", std::string(9999, 'x'), "\"}")).size(), 200u);
}

}  // namespace wire_test
}  // namespace galen::llm
