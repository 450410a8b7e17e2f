#include "services/gateway/mcp/mcp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "services/gateway/mcp/tools.h"
#include "tests/testing/fake_clock.h"

namespace galen::gateway::mcp {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kName[] = "tenants/acme/diagnoses/d1";

http::Response Json(const json& body, int status = 200) {
  http::Response response;
  response.status = status;
  response.body = body.dump();
  return response;
}

// The public API as the test has it.
class FakeApi final : public http::Handler {
 public:
  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) override {
    {
      const std::lock_guard lock(mu_);
      asked_.push_back(request);
    }
    if (request.headers.Get("Authorization") != "Bearer good") {
      return exchange->Respond(Json({{"error", {{"status", "UNAUTHENTICATED"}}}}, 401));
    }
    if (request.target == "/v1/whoami") return exchange->Respond(Json({{"tenant", tenant}}));
    if (absl::StrContains(request.target, ":watch")) return on_watch(exchange);
    exchange->Respond(answer(request));
  }
  http::HeadVerdict LookAtHead(const http::Request& head) override {
    // Another part of the gateway answers requests under other paths.
    EXPECT_TRUE(absl::StartsWith(head.target, "/v1/")) << head.target;
    if (head.headers.Get("Authorization") != "Bearer good") return {.refusal = Json({}, 401)};
    return {.payer = "tenant acme"};
  }
  http::Response Refuse(int status, const std::string& /*why*/) override {
    return Json({}, status);
  }

  std::vector<http::Request> asked() {
    const std::lock_guard lock(mu_);
    return asked_;
  }
  std::string tenant = "acme";
  std::function<http::Response(const http::Request&)> answer = [](const http::Request&) {
    return Json(
        {{"name", kName}, {"state", "SUCCEEDED"}, {"report", {{"headline", "GPU 1 has a fault"}}}});
  };
  std::function<void(const std::shared_ptr<http::Exchange>&)> on_watch = [](const std::shared_ptr<
                                                                             http::Exchange>&
                                                                                exchange) {
    http::Response head;
    head.body = "retry: 2000\n\n";
    exchange->OnHangUp([] {});
    exchange->Begin(std::move(head));
    exchange->Write(
        "id: 2\ndata: {\"sequence\":\"2\",\"checkCompleted\":{\"result\":{\"id\":\"gpu.ecc@n1\","
        "\"status\":\"FAIL\"}}}\n\n");
    exchange->Write(": still here\n\nid: 3\ndata: {\"sequence\":\"3\",\"concluded\":{}}\n\n");
    exchange->Write("event: end\ndata: {}\n\n");
    exchange->End();
  };

 private:
  std::mutex mu_;
  std::vector<http::Request> asked_;
};

struct Client final : http::Exchange {
  void Respond(http::Response response) override {
    const std::lock_guard lock(mu);
    answer = std::move(response);
    done = true;
    changed.notify_all();
  }
  void Begin(http::Response head) override {
    const std::lock_guard lock(mu);
    answer = std::move(head);
  }
  bool Write(std::string piece) override {
    const std::lock_guard lock(mu);
    if (room_for == 0) {
      refused = true;
      changed.notify_all();
      return false;
    }
    --room_for;
    text += piece;
    return true;
  }
  void End() override {
    const std::lock_guard lock(mu);
    done = true;
    changed.notify_all();
  }
  void OnRoom(absl::AnyInvocable<void()> told) override { room = std::move(told); }
  void OnHangUp(absl::AnyInvocable<void()> hang_up) override { gone = std::move(hang_up); }
  void HangUp() { std::exchange(gone, nullptr)(); }
  void HasRoom() {
    {
      const std::lock_guard lock(mu);
      room_for = 100;
    }
    room();
  }
  void AwaitRefused() {
    std::unique_lock lock(mu);
    changed.wait(lock, [this] { return refused; });
  }
  bool IsDone() {
    const std::lock_guard lock(mu);
    return done;
  }
  void Await() {
    std::unique_lock lock(mu);
    changed.wait(lock, [this] { return done; });
  }
  int Status() {
    Await();
    return answer.status;
  }
  json Message() {
    Await();
    return json::parse(answer.body);
  }
  // The messages of a stream.
  std::vector<json> Messages() {
    Await();
    std::vector<json> messages;
    for (std::size_t at = text.find("data: "); at != std::string::npos;
         at = text.find("data: ", at + 1)) {
      messages.push_back(json::parse(text.substr(at + 6, text.find('\n', at) - at - 6)));
    }
    return messages;
  }

  std::mutex mu;
  std::condition_variable changed;
  http::Response answer;
  std::string text;
  bool done = false;
  int room_for = 1000;  // pieces
  bool refused = false;
  absl::AnyInvocable<void()> room;
  absl::AnyInvocable<void()> gone;
};

class McpTest : public ::testing::Test {
 protected:
  using Headers = std::vector<std::pair<std::string, std::string>>;
  static json Meta() {
    return {{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
            {"io.modelcontextprotocol/clientCapabilities", json::object()}};
  }
  std::shared_ptr<Client> Post(const std::string& body, const Headers& headers = {},
                               const std::shared_ptr<Client>& client = std::make_shared<Client>()) {
    http::Request request;
    request.method = "POST";
    request.target = "/mcp";
    request.body = body;
    request.headers.Add("Authorization", "Bearer good");
    request.headers.Add("Accept", "application/json, text/event-stream");
    for (const auto& [name, value] : headers) request.headers.Set(name, value);
    mcp_.Handle(std::move(request), client);
    return client;
  }
  std::shared_ptr<Client> Modern(
      const std::string& method, json params = json::object(), Headers headers = {},
      const std::shared_ptr<Client>& client = std::make_shared<Client>()) {
    json meta = Meta();
    if (params.contains("_meta")) meta.update(params["_meta"]);
    params["_meta"] = meta;
    headers.insert(headers.begin(),
                   {{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", method}});
    if (params.contains("name")) headers.insert(headers.begin(), {"Mcp-Name", params["name"]});
    return Post(json{{"jsonrpc", "2.0"}, {"id", 7}, {"method", method}, {"params", params}}.dump(),
                headers, client);
  }
  std::shared_ptr<Client> Legacy(const std::string& method, const json& params = json::object()) {
    return Post(
        json{{"jsonrpc", "2.0"}, {"id", "a"}, {"method", method}, {"params", params}}.dump(),
        {{"MCP-Protocol-Version", "2025-11-25"}});
  }
  std::shared_ptr<Client> Tool(const std::string& name, const json& arguments) {
    return Modern("tools/call", {{"name", name}, {"arguments", arguments}});
  }
  std::vector<std::string> Targets() {
    std::vector<std::string> targets;
    for (const http::Request& request : api_.asked()) {
      targets.push_back(request.method + " " + request.target.substr(0, request.target.find('?')));
    }
    return targets;
  }

  FakeApi api_;
  testing::FakeClock clock_;
  Timers timers_{[this] { return clock_.Now(); }};
  ThreadPool executor_{2, 100};
  Mcp mcp_{api_, executor_, timers_, {.origins = {"https://ops.example.com"}}};
};

TEST_F(McpTest, SpeaksBothErasOnOneEndpoint) {
  const json modern = Modern("server/discover")->Message()["result"];
  EXPECT_EQ(modern["supportedVersions"][0], "2026-07-28");
  EXPECT_EQ(modern["resultType"], "complete");
  EXPECT_TRUE(modern["capabilities"].contains("tools"));
  const json legacy =
      Post(
          R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}})")
          ->Message()["result"];
  EXPECT_EQ(legacy["protocolVersion"], "2025-06-18");
  EXPECT_FALSE(legacy.contains("resultType"));
  EXPECT_EQ(legacy["serverInfo"]["name"], "galen");
  const auto initialized = Post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
                                {{"MCP-Protocol-Version", "2025-11-25"}});
  EXPECT_EQ(initialized->Status(), 202);
  EXPECT_EQ(initialized->answer.body, "");
  EXPECT_EQ(Legacy("ping")->Message()["result"], json::object());
}

TEST_F(McpTest, ListsItsToolsWithoutAKey) {
  for (const json& tools :
       {Modern("tools/list")->Message()["result"], Legacy("tools/list")->Message()["result"]}) {
    std::vector<std::string> names;
    for (const json& tool : tools["tools"]) {
      names.push_back(tool["name"]);
      EXPECT_EQ(tool["inputSchema"]["additionalProperties"], false);
      EXPECT_NE(tool["annotations"].value("destructiveHint", false), true);
    }
    EXPECT_THAT(names,
                ElementsAre("diagnose", "wait_for_diagnosis", "get_diagnosis", "list_diagnoses",
                            "get_evidence", "submit_feedback", "list_checks", "run_checks"));
  }
  EXPECT_TRUE(api_.asked().empty());
}

TEST_F(McpTest, DiagnosesWatchesAndReadsInTheNameOfWhoeverAsks) {
  const auto client = Modern("tools/call", {{"name", "diagnose"},
                                            {"arguments",
                                             {{"description", "NCCL timeout"},
                                              {"nodes", {"n1"}},
                                              {"logs", {{{"name", "train.log"}, {"text", "boom"}}}},
                                              {"requestId", "r-1"}}},
                                            {"_meta", {{"progressToken", "p"}}}});
  const std::vector<json> messages = client->Messages();
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0]["params"]["message"], "gpu.ecc@n1: FAIL");
  EXPECT_EQ(messages[0]["params"]["progressToken"], "p");
  EXPECT_LT(messages[0]["params"]["progress"], messages[1]["params"]["progress"]);
  const json& result = messages[2]["result"];
  EXPECT_EQ(messages[2]["id"], 7);
  EXPECT_EQ(result["isError"], false);
  EXPECT_EQ(result["structuredContent"]["headline"], "GPU 1 has a fault");
  EXPECT_EQ(json::parse(result["content"][0]["text"].get<std::string>()),
            result["structuredContent"]);
  EXPECT_THAT(Targets(), ElementsAre("GET /v1/whoami", "POST /v1/tenants/acme/diagnoses",
                                     "GET /v1/tenants/acme/diagnoses/d1:watch",
                                     "GET /v1/tenants/acme/diagnoses/d1"));
  const http::Request create = api_.asked()[1];
  EXPECT_EQ(create.headers.Get("Idempotency-Key"), "r-1");
  EXPECT_EQ(json::parse(create.body)["incident"]["logs"][0]["content"], "Ym9vbQ==");
}

TEST_F(McpTest, WithoutAProgressTokenThereIsOneAnswer) {
  const json message = Tool("wait_for_diagnosis", {{"name", kName}})->Message();
  EXPECT_EQ(message["result"]["structuredContent"]["state"], "SUCCEEDED");
}

// A watch on which nothing comes.
class SilentWatch {
 public:
  explicit SilentWatch(FakeApi& api) {
    api.on_watch = [this](const std::shared_ptr<http::Exchange>& exchange) {
      exchange->OnHangUp([this] { Note(hung_up_); });
      exchange->Begin(http::Response());
      exchange_ = exchange;
      Note(watching_);
    };
  }
  void AwaitWatch() { Await(watching_); }
  void AwaitHangUp() { Await(hung_up_); }

 private:
  void Note(bool& what) {
    const std::lock_guard lock(mu_);
    what = true;
    changed_.notify_all();
  }
  void Await(const bool& what) {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return what; });
  }
  std::mutex mu_;
  std::condition_variable changed_;
  bool watching_ = false;
  bool hung_up_ = false;
  std::shared_ptr<http::Exchange> exchange_;
};

TEST_F(McpTest, AWaitThatIsOverTellsHowFarItIsThoughNothingCame) {
  SilentWatch watch(api_);
  api_.answer = [](const http::Request&) { return Json({{"name", kName}, {"state", "RUNNING"}}); };
  const auto client = Tool("wait_for_diagnosis", {{"name", kName}, {"waitSeconds", 7}});
  watch.AwaitWatch();
  clock_.Advance(absl::Seconds(6));
  timers_.RunDue();
  EXPECT_FALSE(client->IsDone());
  // (When it is noted is up to the thread that asked.)
  while (!client->IsDone()) {
    clock_.Advance(absl::Seconds(1));
    timers_.RunDue();
    std::this_thread::yield();
  }
  EXPECT_EQ(client->Message()["result"]["structuredContent"]["state"], "RUNNING");
  watch.AwaitHangUp();
}

TEST_F(McpTest, TheResultWaitsForAClientThatHasNoRoom) {
  api_.on_watch = [](const std::shared_ptr<http::Exchange>& exchange) {
    exchange->OnHangUp([] {});
    exchange->Begin(http::Response());
    exchange->Write(
        "id: 2\ndata: {\"sequence\":\"2\",\"concluded\":{}}\n\nevent: end\ndata: {}\n\n");
    exchange->End();
  };
  const auto client = std::make_shared<Client>();
  client->room_for = 1;
  Modern("tools/call",
         {{"name", "wait_for_diagnosis"},
          {"arguments", {{"name", kName}}},
          {"_meta", {{"progressToken", "p"}}}},
         {}, client);
  client->AwaitRefused();
  EXPECT_FALSE(client->IsDone());
  client->HasRoom();
  const std::vector<json> messages = client->Messages();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[1]["result"]["structuredContent"]["state"], "SUCCEEDED");
}

TEST_F(McpTest, WhoeverHangsUpIsNotWaitedFor) {
  SilentWatch watch(api_);
  const auto client = Tool("wait_for_diagnosis", {{"name", kName}});
  watch.AwaitWatch();
  client->HangUp();
  watch.AwaitHangUp();
}

TEST_F(McpTest, AToolThatFailsIsAResultThatSaysWhy) {
  api_.answer = [](const http::Request&) {
    return Json(
        {{"error", {{"status", "NOT_FOUND"}, {"message", "there is nothing of that name"}}}}, 404);
  };
  const json result = Tool("get_diagnosis", {{"name", kName}})->Message()["result"];
  EXPECT_EQ(result["isError"], true);
  EXPECT_EQ(result["content"][0]["text"], "NOT_FOUND: there is nothing of that name");
}

TEST_F(McpTest, ACredentialThatIsNotGoodIsRefusedAsHttpDoes) {
  const auto client = Post(
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_diagnosis","arguments":{"name":"tenants/acme/diagnoses/d1"}}})",
      {{"MCP-Protocol-Version", "2025-11-25"}, {"Authorization", "Bearer bad"}});
  client->Await();
  EXPECT_EQ(client->Status(), 401);
}

TEST_F(McpTest, WrongArgumentsReachNobody) {
  const struct {
    const char* tool;
    json arguments;
    const char* says;
  } kCases[] = {
      {"diagnose", json::object(), "description: is missing"},
      {"diagnose", {{"description", 7}}, "description: is not of type string"},
      {"diagnose", {{"description", "x"}, {"nodes", "n1"}}, "nodes: is not of type array"},
      {"diagnose", {{"description", "x"}, {"nodes", {1}}}, "nodes: is not a list"},
      {"diagnose", {{"description", "x"}, {"logs", {{{"name", "a"}}}}}, "logs: each has"},
      {"diagnose", {{"description", "x"}, {"waitSeconds", 51}}, "waitSeconds: lies outside"},
      {"diagnose", {{"description", "x"}, {"tenant", "../globex"}}, "tenant: "},
      {"get_diagnosis", {{"name", "tenants/acme/diagnoses/d1/../../x"}}, "name: is not"},
      {"get_diagnosis", {{"name", "tenants/acme/diagnoses/d1?x=y"}}, "name: is not"},
      {"get_diagnosis", {{"name", kName}, {"more", 1}}, "more: there is no such argument"},
      {"run_checks", json::object(), "checks: is missing"},
      {"run_checks", {{"checks", {7}}}, "checks: is not a list"},
      {"get_diagnosis", json::array(), "arguments: is not an object"},
  };
  for (const auto& wrong : kCases) {
    const json result = Tool(wrong.tool, wrong.arguments)->Message()["result"];
    EXPECT_EQ(result["isError"], true) << wrong.arguments;
    EXPECT_THAT(result["content"][0]["text"].get<std::string>(), HasSubstr(wrong.says));
  }
  for (const std::string& target : Targets()) EXPECT_EQ(target, "GET /v1/whoami");
  const json unknown = Tool("reboot", json::object())->Message();
  EXPECT_EQ(unknown["error"]["code"], kInvalidParams);
}

TEST_F(McpTest, AKeyForAllTenantsNamesTheOneThatIsMeant) {
  api_.tenant = "*";
  EXPECT_EQ(Tool("list_diagnoses", json::object())->Message()["result"]["isError"], true);
  EXPECT_EQ(Tool("list_diagnoses", {{"tenant", "globex"}})->Message()["result"]["isError"], false);
  EXPECT_EQ(Targets().back(), "GET /v1/tenants/globex/diagnoses");
}

TEST_F(McpTest, ListsTheChecksThatReadAndRunsThem) {
  api_.answer = [](const http::Request& request) {
    if (request.method == "POST") return Json({{"results", {{{"id", "gpu.ecc@n1"}}}}});
    return Json({{"labels", {{{"label", "GPU"}}}},
                 {"checks",
                  {{{"name", "gpu.ecc"}, {"title", "ECC"}, {"needs", {"nvidia"}}},
                   {{"name", "gpu.stress"}, {"intrusive", true}},
                   {{"name", "telemetry.power"}, {"kind", "telemetry"}}}}});
  };
  const json listed = Tool("list_checks", json::object())->Message()["result"]["structuredContent"];
  ASSERT_EQ(listed["checks"].size(), 1U);
  EXPECT_EQ(listed["checks"][0]["name"], "gpu.ecc");
  const json ran = Tool("run_checks", {{"checks", {"gpu.ecc"}}, {"nodes", {"n1"}}})->Message();
  EXPECT_EQ(ran["result"]["structuredContent"]["results"][0]["id"], "gpu.ecc@n1");
  const http::Request asked = api_.asked().back();
  EXPECT_EQ(asked.target, "/v1/tenants/acme:runChecks");
  EXPECT_EQ(json::parse(asked.body), (json{{"checks", {"gpu.ecc"}}, {"nodes", {"n1"}}}));
}

TEST_F(McpTest, GivesTheRawTextBehindAPieceOfEvidence) {
  api_.answer = [](const http::Request&) {
    return Json(
        {{"name", kName},
         {"report", {{"evidence", {{{"id", "signal/x@train.log"}, {"excerpt", "Xid 79"}}}}}},
         {"checkResults", {{{"id", "gpu.ecc@n1"}, {"excerpt", "Volatile: 4"}}}}});
  };
  const auto excerpt = [&](const char* id) {
    return Tool("get_evidence", {{"name", kName}, {"id", id}})->Message()["result"];
  };
  EXPECT_EQ(excerpt("signal/x@train.log")["structuredContent"]["excerpt"], "Xid 79");
  EXPECT_EQ(excerpt("gpu.ecc@n1")["structuredContent"]["excerpt"], "Volatile: 4");
  EXPECT_EQ(excerpt("gpu.ecc@n2")["isError"], true);
}

TEST_F(McpTest, WhatIsNoMessageIsRefused) {
  const std::string deep(5000, '[');
  const struct {
    std::string body;
    int code;
  } kCases[] = {
      {"", kParseError},
      {"{", kParseError},
      {deep + std::string(5000, ']'), kParseError},
      {"[]", kInvalidRequest},
      {R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])", kInvalidRequest},
      {R"({"id":1,"method":"ping"})", kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":1})", kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":{},"method":"ping"})", kInvalidRequest},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})", kInvalidRequest},
  };
  for (const auto& wrong : kCases) {
    const auto client = Post(wrong.body, {{"MCP-Protocol-Version", "2025-11-25"}});
    EXPECT_EQ(client->Message()["error"]["code"], wrong.code) << wrong.body.substr(0, 80);
    EXPECT_EQ(client->Status(), 400);
  }
}

TEST_F(McpTest, HeadersAndBodyMustAgree) {
  const auto other_name = Modern("tools/call", {{"name", "diagnose"}}, {{"Mcp-Name", "diagnos"}});
  EXPECT_EQ(other_name->Message()["error"]["code"], kHeaderMismatch);
  const auto encoded =
      Modern("tools/call", {{"name", "nothing"}}, {{"Mcp-Name", "=?base64?bm90aGluZw==?="}});
  EXPECT_EQ(encoded->Message()["error"]["code"], kInvalidParams);  // the tool, not the header
  const auto other_method = Modern("tools/list", json::object(), {{"Mcp-Method", "tools/call"}});
  EXPECT_EQ(other_method->Message()["error"]["code"], kHeaderMismatch);
  const auto version = Modern(
      "tools/list", {{"_meta", {{"io.modelcontextprotocol/protocolVersion", "1900-01-01"}}}});
  EXPECT_EQ(version->Message()["error"]["code"], kUnsupportedVersion);
  const auto bare = Post(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}})",
                         {{"MCP-Protocol-Version", "2026-07-28"}});
  EXPECT_EQ(bare->Message()["error"]["code"], kInvalidParams);
  const auto old = Post(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})",
                        {{"MCP-Protocol-Version", "2024-01-01"}});
  EXPECT_EQ(old->Message()["error"]["code"], kUnsupportedVersion);
  EXPECT_EQ(Modern("resources/list")->Status(), 404);
}

TEST_F(McpTest, APageOfAnotherSiteIsRefused) {
  const auto evil =
      Post(R"({"jsonrpc":"2.0","id":1,"method":"ping"})", {{"Origin", "https://evil.example"}});
  EXPECT_EQ(evil->Status(), 403);
  const auto good =
      Post(R"({"jsonrpc":"2.0","id":1,"method":"ping"})", {{"Origin", "https://ops.example.com"}});
  EXPECT_EQ(good->Status(), 200);
  http::Request get;
  get.method = "GET";
  const auto client = std::make_shared<Client>();
  mcp_.Handle(std::move(get), client);
  EXPECT_EQ(client->Status(), 405);
}

TEST_F(McpTest, OfStrangersLittleIsReadAndOfWrongCredentialsNothing) {
  http::Request head;
  head.method = "POST";
  head.target = "/mcp";
  const http::HeadVerdict stranger = mcp_.LookAtHead(head);
  EXPECT_FALSE(stranger.refusal.has_value());
  EXPECT_EQ(stranger.payer, "");
  EXPECT_LE(stranger.most_body, 64u << 10);
  head.headers.Set("Authorization", "Bearer good");
  EXPECT_EQ(mcp_.LookAtHead(head).payer, "tenant acme");
  head.headers.Set("Authorization", "Bearer wrong");
  ASSERT_TRUE(mcp_.LookAtHead(head).refusal.has_value());
  EXPECT_EQ(mcp_.LookAtHead(head).refusal->status, 401);
}

}  // namespace
}  // namespace galen::gateway::mcp
