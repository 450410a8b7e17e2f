#include "services/gateway/webhooks/sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/gateway/webhooks/payload_parser.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/webhooks/senders.h"

namespace galen::gateway::webhooks {
namespace {

using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::string_view kSmall = R"(sender: own
title: our own monitor
schemes:
  - {scheme: shared, kind: token, header: X-Own}
incident: [/id]
rules:
  - {when: [{at: /state, is: [bad]}], do: open}
opens: {title: "{/what} on {/host}"}
)";

TEST(SenderTest, ANewSenderIsAFile) {
  std::vector<knowledge::Problem> problems;
  const auto sender = ParseSender(kSmall, "own.yaml", problems);
  ASSERT_THAT(problems, IsEmpty());
  Endpoint endpoint = EndpointOf("alertmanager");
  endpoint.sender = &*sender;
  const auto reading =
      ParseDelivery(endpoint, Post(R"({"id": 7, "state": "bad", "what": "Xid 79", "host": "n1"})"));
  ASSERT_TRUE(reading.ok());
  EXPECT_THAT(reading->events.at(0).request().diagnosis().incident().description(),
              HasSubstr("Xid 79 on n1"));
}

TEST(SenderTest, SaysFileAndLineOfWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"sender: x\n", "own.yaml:1: error: a sender without \"title\""},
      {"sender: x\ntitle: t\nscheems: []\n", "did you mean \"schemes\""},
      {"sender: x\ntitle: t\nschemes:\n  - {scheme: a, kind: hmac-sha257, header: X}\n",
       "own.yaml:4: error: \"kind\" is \"hmac-sha257\""},
      {"sender: x\ntitle: t\nschemes:\n  - {scheme: a, kind: hmac-sha256, header: X, signs: "
       "\"{id}\"}\n",
       "leaves out {body}"},
      {"sender: x\ntitle: t\nincident: [id]\n", "begins with \"/\""},
      {"sender: x\ntitle: t\nopens:\n  title: \"{/a\"\n", "own.yaml:4: error: "},
      {"sender: x\ntitle: t\nrules:\n  - {when: [{at: /a}], do: open}\n", "asks for nothing"},
      {"sender: x\ntitle: t\nrules:\n  - {do: explode}\n", "\"do\" is \"explode\""},
      {"sender: x\ntitle: t\noverload: 500\n", "does not ask senders to retry"},
      {"sender: x\ntitle: t\npoll: {url: \"http://x/\"}\n", "use {since}"},
      {"- a\n", "own.yaml:1: error: a sender is written as keys and values"},
  };
  for (const auto& [text, message] : wrong) {
    std::vector<knowledge::Problem> problems;
    EXPECT_FALSE(ParseSender(text, "own.yaml", problems).has_value());
    std::string all;
    for (const knowledge::Problem& problem : problems) all += knowledge::ToString(problem) + "\n";
    EXPECT_THAT(all, HasSubstr(message)) << text;
  }
}

TEST(SenderTest, WhoNeverSendsAgainIsLookedAtAndOverloadIs503) {
  std::vector<std::string> never;
  for (const auto& [name, sender] : ShippedSenders()) {
    EXPECT_EQ(sender.overload, 503) << name;
    if (sender.retries) continue;
    never.push_back(name);
    EXPECT_TRUE(sender.poll.has_value()) << name;
  }
  EXPECT_THAT(never, ElementsAre("github", "servicenow"));
  EXPECT_EQ(ShippedSenders().size(), 13U);
}

TEST(SenderTest, DirectoriesThatAreNotThereHaveNoSenders) {
  EXPECT_TRUE(LoadSenders({"/nowhere"})->empty());
}

TEST(SelectorTest, FindsWhatPointersSay) {
  const auto body =
      Document::FromJson(R"({"a":{"b/c":[1,2.5,true,null,{"d":"x"}]},"e":"","~":"t"})");
  const Event event{*body, {}};
  const auto texts = [&](const std::string& selector) {
    return Selector::Parse(selector).value().Texts(event);
  };
  EXPECT_THAT(texts("/a/b~1c/*"), ElementsAre("1", "2.5", "true"));
  EXPECT_THAT(texts("/a/b~1c/4/d"), ElementsAre("x"));
  EXPECT_THAT(texts("/a/*/0"), ElementsAre("1"));
  EXPECT_THAT(texts("/~0"), ElementsAre("t"));
  EXPECT_THAT(texts("/e | /nothing | /~0"), ElementsAre("t"));
  EXPECT_THAT(texts("/a/b~1c/99"), IsEmpty());
  EXPECT_THAT(texts("header:X"), IsEmpty());
  EXPECT_THAT(Selector::Parse("a"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/")));
}

TEST(TemplateTest, LeavesOutALineWhoseSelectorsFindNothing) {
  const Event event{*Document::FromJson(R"({"a":["x","y"]})"), {}};
  const auto fill = [&](const std::string& text) {
    return Template::Parse(text).value().Fill(event, 100);
  };
  EXPECT_EQ(fill("a: {/a/*}"), "a: x, y");
  EXPECT_EQ(fill("b: {/b}"), "");
  EXPECT_EQ(fill("{{b: {/a/0}"), "{b: x");
  EXPECT_EQ(fill("plain"), "plain");
  EXPECT_FALSE(Template::Parse("{/a").ok());
}

}  // namespace
}  // namespace galen::gateway::webhooks
