// A key goes to the endpoint and nowhere else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "common/llm/http_client.h"
#include "tests/testing/llm/scripted_endpoint.h"
#include "tests/testing/status_matchers.h"

namespace galen::llm {
namespace {

using galen::testing::ChatReply;
using galen::testing::ErrorReply;
using galen::testing::Hang;
using galen::testing::IsOk;
using galen::testing::Recorded;
using galen::testing::ResetMidStream;
using galen::testing::Scripted;
using galen::testing::ScriptedEndpoint;
using galen::testing::Throttled;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kKey[] = "sk-7d41c0ffee-not-to-be-seen";

class Secrets : public ::testing::Test {
 protected:
  Secrets() : path_(::testing::TempDir() + "galen-secret-key-" + std::to_string(getpid())) {
    WriteKey(kKey);
    endpoint_.model = "m";
    endpoint_.proxy = "none";
    endpoint_.key_file = path_;
    endpoint_.retry.most = 0;
    endpoint_.total = absl::Milliseconds(200);
  }
  ~Secrets() override { std::remove(path_.c_str()); }

  void WriteKey(const std::string& key) { std::ofstream(path_) << key << '\n'; }

  absl::StatusOr<ChatAnswer> Ask(const ScriptedEndpoint& endpoint) {
    endpoint_.url = endpoint.url();
    const auto client = HttpClient::Make(endpoint_);
    EXPECT_THAT(client, IsOk());
    EXPECT_THAT((*client)->name(), Not(HasSubstr(kKey)));
    return (*client)->Chat({.messages = {{Message::Role::kUser, "why?"}}}, {});
  }

  const std::string path_;
  Endpoint endpoint_;
};

TEST_F(Secrets, GoToTheEndpointInOneHeader) {
  ScriptedEndpoint endpoint({ChatReply("x")});
  ASSERT_THAT(Ask(endpoint), IsOk());
  endpoint_.authorization = Authorization::kApiKey;
  ASSERT_THAT(Ask(endpoint), IsOk());
  const std::vector<Recorded> requests = endpoint.requests();
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[0].headers.at("authorization"), std::string("Bearer ") + kKey);
  EXPECT_EQ(requests[0].headers.count("api-key"), 0u);
  EXPECT_EQ(requests[1].headers.at("api-key"), kKey);
  EXPECT_EQ(requests[1].headers.count("authorization"), 0u);
  for (const Recorded& request : requests) {
    EXPECT_THAT(request.body, Not(HasSubstr(kKey)));
    EXPECT_THAT(request.target, Not(HasSubstr(kKey)));
  }
}

TEST_F(Secrets, StandInNoErrorWhateverTheEndpointSays) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  const std::string echo = std::string("Incorrect API key provided: ") + kKey;
  Scripted in_stream;
  in_stream.body = "data: {\"error\": {\"message\": \"" + echo + "\"}}\n\n";
  Scripted in_head;
  in_head.raw_head = "HTTP/1.1 " + echo + "\r\n\r\n";
  for (const Scripted& reply : {ErrorReply(400, echo), ErrorReply(401, echo), ErrorReply(403, echo),
                                ErrorReply(404, echo), ErrorReply(429, echo), ErrorReply(500, echo),
                                Throttled(echo), in_stream, in_head, Hang(), ResetMidStream()}) {
    ScriptedEndpoint endpoint({reply});
    for (const bool stream : {false, true}) {
      endpoint_.stream = stream;
      const auto answer = Ask(endpoint);
      ASSERT_FALSE(answer.ok());
      EXPECT_THAT(std::string(answer.status().ToString()), Not(HasSubstr("sk-7d41")));
      EXPECT_THAT(std::string(answer.status().ToString()), Not(HasSubstr("why?")));
    }
  }
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), Not(HasSubstr("sk-7d41")));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), Not(HasSubstr("sk-7d41")));
}

TEST_F(Secrets, AreNotSentWhereTheyAreNotSet) {
  endpoint_.key_file.clear();
  ScriptedEndpoint endpoint({ChatReply("x")});
  ASSERT_THAT(Ask(endpoint), IsOk());
  EXPECT_EQ(endpoint.requests()[0].headers.count("authorization"), 0u);
}

TEST_F(Secrets, AreReadAnewWhenTheyAreRefused) {
  ScriptedEndpoint endpoint([this](const Recorded& request) {
    if (request.headers.at("authorization") == "Bearer sk-new") return ChatReply("x");
    WriteKey("sk-new");  // rotated in the meantime
    return ErrorReply(401, "expired");
  });
  EXPECT_THAT(Ask(endpoint), IsOk());
  EXPECT_THAT(endpoint.requests(), SizeIs(2));
}

}  // namespace
}  // namespace galen::llm
