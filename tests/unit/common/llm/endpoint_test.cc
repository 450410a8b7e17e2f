#include "common/llm/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/testing/status_matchers.h"

namespace galen::llm {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

constexpr absl::string_view kLeast = "url: http://127.0.0.1:8000/v1\nmodel: m\n";

absl::StatusOr<Endpoint> Parse(absl::string_view more) {
  return ParseEndpoint(std::string(kLeast) + std::string(more), "llm.yaml");
}

TEST(EndpointFile, NeedsAnAddressAndAModelOnly) {
  const auto endpoint = ParseEndpoint(kLeast, "llm.yaml");
  ASSERT_THAT(endpoint, IsOk());
  EXPECT_EQ(endpoint->url, "http://127.0.0.1:8000/v1");
  EXPECT_EQ(endpoint->model, "m");
  EXPECT_EQ(endpoint->structured, Structured::kJsonSchema);
  EXPECT_EQ(endpoint->hedge_after, absl::ZeroDuration());
  EXPECT_THAT(ReadKey(*endpoint), IsOk());
  EXPECT_TRUE(ReadKey(*endpoint)->empty());
}

TEST(EndpointFile, SaysAll) {
  const auto endpoint = ParseEndpoint(R"(
url: https://models.example.org/v1/
key_environment: MODEL_KEY
authorization: api-key
model: big
temperature: none
seed: 7
max_tokens: 300
max_tokens_field: max_completion_tokens
structured: guided_json
stream: true
agents:
  planning: {model: small, temperature: 0.5}
  presume: {max_tokens: 50}
embedding: {model: vectors, dimensions: 384, limit: 500ms}
timeouts: {connect: 1s, first_byte: 2s, total: 1m}
retries: {most: 1, base: 10ms, longest: 20ms}
circuit: {consecutive: 2, rate: 0.25, least: 4, window: 10s, cool_down: 3s, longest: 9s}
concurrency: 2
hedge_after: 1s
most_bytes: 4096
proxy: http://proxy.example.org:3128
tls: {ca_file: /ca.pem, certificate_file: /me.pem, certificate_key_file: /me.key}
)",
                                      "llm.yaml");
  ASSERT_THAT(endpoint, IsOk());
  EXPECT_EQ(endpoint->url, "https://models.example.org/v1");
  EXPECT_EQ(endpoint->authorization, Authorization::kApiKey);
  EXPECT_THAT(endpoint->temperature, Eq(std::nullopt));
  EXPECT_THAT(endpoint->seed, Optional(7));
  EXPECT_TRUE(endpoint->completion_tokens_field);
  EXPECT_EQ(endpoint->structured, Structured::kGuidedJson);
  EXPECT_TRUE(endpoint->stream);
  EXPECT_EQ(endpoint->embedding_dimensions, 384);
  EXPECT_EQ(endpoint->total, absl::Minutes(1));
  EXPECT_EQ(endpoint->retry.longest, absl::Milliseconds(20));
  EXPECT_EQ(endpoint->circuit.consecutive, 2);
  EXPECT_EQ(endpoint->hedge_after, absl::Seconds(1));
  EXPECT_EQ(endpoint->most_bytes, 4096u);
  EXPECT_EQ(endpoint->proxy, "http://proxy.example.org:3128");
  EXPECT_EQ(endpoint->certificate_key_file, "/me.key");
}

TEST(EndpointFile, CanKeepASeedBack) {
  EXPECT_TRUE(Parse("")->sends_seed);
  EXPECT_TRUE(Parse("seed: 3\n")->sends_seed);
  EXPECT_FALSE(Parse("seed: none\n")->sends_seed);
}

TEST(EndpointFile, GivesAQuestionItsAgentsSettingsAndItsOwnOverThem) {
  const auto endpoint = Parse(R"(
temperature: 0.1
agents:
  planning: {model: small, temperature: 0.5}
  presume: {max_tokens: 50, temperature: none}
)");
  ASSERT_THAT(endpoint, IsOk());
  const Settings rank = SettingsFor(*endpoint, "presume");
  EXPECT_EQ(rank.model, "small");
  EXPECT_THAT(rank.temperature, Optional(0.5));
  EXPECT_EQ(rank.max_tokens, 50);
  EXPECT_EQ(SettingsFor(*endpoint, "planning").model, "small");
  EXPECT_EQ(SettingsFor(*endpoint, "investigate").model, "m");
  EXPECT_THAT(SettingsFor(*endpoint, "investigate").temperature, Optional(0.1));
}

TEST(EndpointFile, OfAzureNeedsAVersion) {
  EXPECT_THAT(Parse("api: azure\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("api_version")));
  const auto azure = Parse("api: azure\napi_version: 2024-10-21\n");
  ASSERT_THAT(azure, IsOk());
  EXPECT_EQ(azure->authorization, Authorization::kApiKey);
}

struct Mistake {
  absl::string_view text;
  absl::string_view says;
};

TEST(EndpointFile, NamesTheLineAndWhatToDo) {
  const Mistake mistakes[] = {
      {"modle: x\n", "llm.yaml:3: modle: is not known here"},
      {"key: sk-123456\n", "llm.yaml:3: key: a key does not belong into this file"},
      {"timeouts: {total: soon}\n", "total: is not a time"},
      {"timeouts: {total: 0s}\n", "total: is not a time"},
      {"timeouts: {totl: 1s}\n", "totl: is not known here"},
      {"concurrency: 0\n", "concurrency: is not a whole number from 1"},
      {"temperature: nan\n", "temperature: is not a number"},
      {"structured: yes please\n", "structured: is none of json_schema, structured_outputs"},
      {"agents: {palnning: {model: x}}\n", "palnning: is neither an agent nor a question"},
      {"agents: [planning]\n", "agents: is not a map"},
      {"embedding: {model: x}\n", "model and dimensions go together"},
      {"proxy: 10.0.0.1:3128\n", "proxy: is not an address"},
      {"proxy: http://me:secret@proxy\n", "holds a user or password"},
      {"tls: {certificate_file: x}\n", "go together"},
      {"key_file: a\nkey_environment: B\n", "keep one of them"},
      {"api: azure\napi_version: '2024&x=1'\n", "api_version: is not a version"},
  };
  for (const Mistake& mistake : mistakes) {
    EXPECT_THAT(Parse(mistake.text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(std::string(mistake.says)), Not(HasSubstr("sk-123456")),
                               Not(HasSubstr("secret")))))
        << mistake.text;
  }
}

TEST(EndpointFile, RefusesAddressesThatAreNone) {
  for (const char* url :
       {"", "127.0.0.1:8000", "ftp://x/v1", "http://", "http:///v1", "http://me:secret@host/v1",
        "http://host/v1?key=1", "http://ho st/v1", "http://host/v1#x", "http://h\xC3\xB6st/v1"}) {
    const auto endpoint = ParseEndpoint("model: m\nurl: \"" + std::string(url) + "\"\n", "f");
    EXPECT_THAT(endpoint, StatusIs(absl::StatusCode::kInvalidArgument,
                                   AllOf(HasSubstr("url"), Not(HasSubstr("secret")))))
        << url;
  }
}

TEST(EndpointFile, KeepsAKeyOffNetworksInTheClear) {
  const auto with_key = [](const std::string& url, const std::string& more) {
    return ParseEndpoint("model: m\nkey_file: /k\nurl: " + url + "\n" + more, "f");
  };
  EXPECT_THAT(with_key("http://10.0.0.5:8000/v1", ""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("in the clear")));
  EXPECT_THAT(with_key("http://127.0.0.1.example.org/v1", ""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("in the clear")));
  EXPECT_THAT(with_key("http://10.0.0.5:8000/v1", "plain_http: true\n"), IsOk());
  EXPECT_THAT(with_key("https://10.0.0.5:8000/v1", ""), IsOk());
  EXPECT_THAT(with_key("http://localhost:8000/v1", ""), IsOk());
  EXPECT_THAT(with_key("http://[::1]:8000/v1", ""), IsOk());
}

class Key : public ::testing::Test {
 protected:
  std::string Write(absl::string_view text) const {
    const std::string path = ::testing::TempDir() + "galen-key-" + std::to_string(getpid()) + "-" +
                             ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
};

TEST_F(Key, IsTheFileWithoutTheSpaceAroundIt) {
  Endpoint endpoint;
  endpoint.key_file = Write("  sk-abc\r\n");
  const auto key = ReadKey(endpoint);
  ASSERT_THAT(key, IsOk());
  EXPECT_EQ(key->Reveal(), "sk-abc");
}

TEST_F(Key, OfTheEnvironmentIsItsVariable) {
  Endpoint endpoint;
  endpoint.key_environment = "GALEN_TEST_MODEL_KEY";
  unsetenv("GALEN_TEST_MODEL_KEY");
  EXPECT_THAT(ReadKey(endpoint),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("GALEN_TEST_MODEL_KEY: the variable is not set")));
  setenv("GALEN_TEST_MODEL_KEY", "sk-env", 1);
  EXPECT_EQ(ReadKey(endpoint)->Reveal(), "sk-env");
  unsetenv("GALEN_TEST_MODEL_KEY");
}

TEST_F(Key, ThatCouldSmuggleAHeaderIsRefusedAndNotTold) {
  Endpoint endpoint;
  for (const char* text : {"sk-hidden\r\nHost: evil", "sk-hidden two", "", "\n", "sk-h\xff"}) {
    endpoint.key_file = Write(text);
    EXPECT_THAT(ReadKey(endpoint), StatusIs(absl::StatusCode::kFailedPrecondition,
                                            AllOf(HasSubstr("key"), Not(HasSubstr("sk-h")))))
        << text;
  }
  endpoint.key_file = "/nowhere/at/all";
  EXPECT_THAT(ReadKey(endpoint),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/nowhere/at/all")));
}

}  // namespace
}  // namespace galen::llm
