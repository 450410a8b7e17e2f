#include "services/cli/llm/llm_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "services/cli/llm/preview.h"
#include "tests/testing/llm/scripted_endpoint.h"

namespace galen::cli {
namespace {

using galen::testing::ChatReply;
using galen::testing::EmbeddingReply;
using galen::testing::ErrorReply;
using galen::testing::ModelsReply;
using galen::testing::Recorded;
using galen::testing::Scripted;
using galen::testing::ScriptedEndpoint;
using galen::testing::StreamReply;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kGood[] = R"({"verdict":"alpha-17"})";

// A server that knows response_format and nothing else of structured answers, as a llama.cpp
// server does; it answers `chat` where nothing holds it.
Scripted Serve(const Recorded& request, const std::string& chat) {
  if (request.method == "GET") return ModelsReply({"other", "m"});
  const json body = json::parse(request.body);
  if (body.contains("input")) return EmbeddingReply({{1, 0, 0}, {0, 1, 0}});
  if (body.value("stream", false)) return StreamReply({"one ", "two ", "three"});
  const std::string format =
      body.contains("response_format") ? body["response_format"]["type"].get<std::string>() : "";
  if (format == "json_schema") return ChatReply(kGood);
  if (body.contains("guided_json")) return ErrorReply(400, "guided_json: unknown field");
  return ChatReply(chat, {.prompt = 2000, .cached = request.number > 8 ? 1984 : 0});
}

class LlmCheck : public ::testing::Test {
 protected:
  ExitCode Check(const std::string& url, const std::string& more, bool as_json) {
    const std::string path =
        ::testing::TempDir() + "galen-llm-check-" + std::to_string(getpid()) + ".yaml";
    std::ofstream(path) << "url: " << url << "\nmodel: m\nproxy: none\n" << more;
    out_.str("");
    err_.str("");
    Console console{in_, out_, err_, {}, false};
    return CheckLlm({.file = path, .json = as_json}, console);
  }
  json AbilityOf(const std::string& name) const {
    const json report = json::parse(out_.str());
    for (const json& ability : report["abilities"]) {
      if (ability["ability"] == name) return ability;
    }
    return {};
  }

  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(LlmCheck, SaysWhatAnEndpointCanDo) {
  ScriptedEndpoint endpoint([](const Recorded& request) { return Serve(request, "The sea."); });
  EXPECT_EQ(Check(endpoint.url(), "embedding: {model: e, dimensions: 3}\n", true), kOk);
  const json report = json::parse(out_.str());
  EXPECT_EQ(report["usable"], true);
  EXPECT_EQ(report["best_structured"], "json_schema");
  EXPECT_EQ(report["advice"], "");
  EXPECT_EQ(AbilityOf("models")["state"], "yes");
  EXPECT_EQ(AbilityOf("chat")["state"], "yes");
  EXPECT_EQ(AbilityOf("structured: json_schema")["detail"], "enforced");
  // The server ignores the field silently: only the answer shows it.
  EXPECT_EQ(AbilityOf("structured: structured_outputs")["state"], "no");
  EXPECT_THAT(AbilityOf("structured: guided_json")["detail"].get<std::string>(),
              HasSubstr("unknown field"));
  EXPECT_EQ(AbilityOf("streaming")["state"], "yes");
  EXPECT_THAT(AbilityOf("streaming")["detail"].get<std::string>(), HasSubstr("3 pieces"));
  EXPECT_EQ(AbilityOf("prefix cache")["state"], "yes");
  EXPECT_EQ(AbilityOf("embeddings")["detail"], "3 dimensions");
  EXPECT_EQ(AbilityOf("chat")["prompt_tokens"], 2000);
}

TEST_F(LlmCheck, LinesItsTableUp) {
  ScriptedEndpoint endpoint([](const Recorded& request) { return Serve(request, "The sea."); });
  EXPECT_EQ(Check(endpoint.url(), "", false), kOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr(endpoint.url() + ", model m"), HasSubstr("ABILITY"),
                                HasSubstr("embeddings"), HasSubstr("no model is set for them"),
                                HasSubstr("usable as it is configured")));
}

TEST_F(LlmCheck, SaysWhichWayOfStructuredAnswersWorks) {
  ScriptedEndpoint endpoint([](const Recorded& request) { return Serve(request, "The sea."); });
  EXPECT_EQ(Check(endpoint.url(), "structured: guided_json\n", false), kBadInput);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("set structured: json_schema"), Not(HasSubstr("usable"))));
}

TEST_F(LlmCheck, SaysThatAModelThatOnlyListensIsNotHeld) {
  // It follows instructions, but no setting for structured output has an effect.
  ScriptedEndpoint endpoint([](const Recorded& request) {
    if (request.method == "GET") return ModelsReply({"m"});
    const bool asked = request.body.find("answer in JSON") != std::string::npos;
    return ChatReply(asked ? std::string("```json\n") + kGood + "\n```" : "The sea is wide.");
  });
  EXPECT_EQ(Check(endpoint.url(), "", true), kBadInput);
  EXPECT_EQ(json::parse(out_.str())["best_structured"], "json_object");
  EXPECT_EQ(AbilityOf("structured: json_schema")["state"], "no");
  EXPECT_EQ(AbilityOf("structured: words")["detail"], "kept, not enforced");
  EXPECT_EQ(AbilityOf("streaming")["state"], "no");
  EXPECT_EQ(AbilityOf("prefix cache")["state"], "no");
}

TEST_F(LlmCheck, SaysWhatIsWrong) {
  ScriptedEndpoint refusing([](const Recorded&) { return ErrorReply(401, "who are you?"); });
  EXPECT_EQ(Check(refusing.url(), "", false), kBadInput);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("the key is refused"), Not(HasSubstr("usable"))));

  std::string gone;
  {
    const ScriptedEndpoint endpoint({ChatReply("x")});
    gone = endpoint.url();
  }
  EXPECT_EQ(Check(gone, "", true), kUnreachable);
  EXPECT_EQ(AbilityOf("chat")["state"], "failed");

  EXPECT_EQ(Check(gone, "mistake: 1\n", true), kBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("mistake: is not known here"));
  Console console{in_, out_, err_, {}, false};
  EXPECT_EQ(CheckLlm({}, console), kBadInput);
  EXPECT_EQ(CheckLlm({.file = "/nowhere/llm.yaml"}, console), kBadInput);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("--llm FILE"), HasSubstr("/nowhere/llm.yaml")));
}

TEST_F(LlmCheck, SaysWhichToolsAndWhichFormAnEndpointCanDo) {
  ScriptedEndpoint endpoint([](const Recorded& request) {
    if (request.method != "GET" && json::parse(request.body).contains("tools")) {
      Scripted reply = ChatReply("");
      json answer = json::parse(reply.body);
      answer["choices"][0]["message"] = {
          {"role", "assistant"},
          {"content", nullptr},
          {"tool_calls",
           {{{"id", "a"},
             {"type", "function"},
             {"function", {{"name", "show_check"}, {"arguments", R"({"check":"gpu.ecc"})"}}}}}}};
      reply.body = answer.dump();
      return reply;
    }
    return Serve(request, "The sea.");
  });
  EXPECT_EQ(Check(endpoint.url(), "context: 8192\n", true), kOk);
  EXPECT_EQ(AbilityOf("tool calls")["state"], "yes");
  EXPECT_EQ(AbilityOf("schema bounds")["state"], "yes");
  EXPECT_THAT(AbilityOf("prompts")["detail"].get<std::string>(), HasSubstr("the short form"));
  ScriptedEndpoint without([](const Recorded& request) { return Serve(request, "The sea."); });
  EXPECT_EQ(Check(without.url(), "", true), kOk);
  EXPECT_EQ(AbilityOf("tool calls")["state"], "no");
}

TEST(LlmPreview, PrintsWhatWouldBeSentWithSecretsMaskedAndSendsNothing) {
  ScriptedEndpoint endpoint([](const Recorded&) { return ErrorReply(500, "was asked"); });
  const std::string path =
      ::testing::TempDir() + "galen-llm-preview-" + std::to_string(getpid()) + ".yaml";
  std::ofstream(path) << "url: " << endpoint.url() << "\nmodel: m\nproxy: none\n";
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  Console console{in, out, err, {}, false};
  LlmArguments arguments;
  arguments.file = path;
  arguments.json = true;
  arguments.bundle = std::string(GALEN_SOURCE_DIR) + "/docs/examples/cublas-ecc";
  arguments.knowledge = {std::string(GALEN_SOURCE_DIR) + "/knowledge"};
  arguments.words = {
      "Since noon training fails, HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345 was set."};
  EXPECT_EQ(PreviewLlm(arguments, console), kOk) << err.str();
  EXPECT_TRUE(endpoint.requests().empty());
  EXPECT_THAT(out.str(), Not(HasSubstr("hf_abcdefgh")));
  EXPECT_THAT(out.str(), HasSubstr("[redacted]"));
  std::istringstream lines(out.str());
  std::vector<std::string> questions;
  for (std::string line; std::getline(lines, line);) {
    const json body = json::parse(line);
    questions.push_back(body["response_format"]["json_schema"]["name"]);
    EXPECT_EQ(body["model"], "m");
  }
  EXPECT_EQ(questions, (std::vector<std::string>{"investigate"}));
}

}  // namespace
}  // namespace galen::cli
