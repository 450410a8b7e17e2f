#include "common/reasoner/llm/embedded_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/llm/http_client.h"
#include "common/llm/usage/usage.h"
#include "common/reasoner/llm/llm_reasoner.h"
#include "common/reasoner/retrieve.h"
#include "prompts_book.h"
#include "tests/testing/llm/scripted_endpoint.h"
#include "tests/testing/reasoner/fake_llm_client.h"
#include "tests/testing/reasoner/fake_reasoner.h"

namespace galen::reasoner::llm {
namespace {

using galen::testing::EmbeddingReply;
using galen::testing::ErrorReply;
using galen::testing::Hang;
using galen::testing::Recorded;
using galen::testing::Scripted;
using galen::testing::ScriptedEndpoint;
using galen::v1::Reasoned;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A question that shares no word with the past incident that it resembles.
constexpr char kQuestion[] = "thermal runaway";
constexpr int kPast = 24;

// A model's view: both texts are about heat. All texts have something in common.
std::vector<float> Meaning(const std::string& text) {
  if (absl::StrContains(text, "overheats") || absl::StrContains(text, "thermal")) return {1, 2, 0};
  return {1, 0, 2};
}

Scripted Embed(const Recorded& request) {
  const auto body = nlohmann::json::parse(request.body);
  std::vector<std::vector<float>> vectors;
  for (const auto& text : body["input"]) vectors.push_back(Meaning(text.get<std::string>()));
  return EmbeddingReply(vectors);
}

std::unique_ptr<const knowledge::Knowledge> TestKnowledge() {
  return PromptsBook([](knowledge::v1::KnowledgeBase& base) {
    for (int i = 0; i < kPast; ++i) {
      knowledge::v1::PastIncident& past = *base.add_incidents();
      past.set_id(absl::StrCat("past-", i));
      past.set_title(i == 7 ? "a card overheats" : absl::StrCat("mount ", i, " is stale"));
      past.set_label(i == 7 ? "GPU.MEMORY.ECC" : "NET.LINK.DOWN");
    }
  });
}

class EmbeddedHistoryTest : public ::testing::Test {
 protected:
  // A client of the endpoint at `url`, without retries and with a breaker that stays closed.
  std::unique_ptr<galen::llm::HttpClient> ClientOf(const std::string& url) {
    galen::llm::Endpoint endpoint;
    endpoint.url = url;
    endpoint.model = "chat";
    endpoint.proxy = "none";
    endpoint.retry.most = 0;
    endpoint.circuit.consecutive = 1000;
    endpoint.circuit.least = 1000;
    auto client = galen::llm::HttpClient::Make(endpoint);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  Embedding EmbeddingOf(galen::llm::LlmClient& client) {
    return {.client = &client,
            .model = "e",
            .dimensions = 3,
            .limit = absl::Seconds(20),  // of a loopback that is busy
            .vectors = &vectors_,
            .pause = absl::Milliseconds(1),
            .longest = absl::Milliseconds(1)};
  }
  std::optional<std::vector<incident_history::Hit>> Search(const EmbeddedHistory& history,
                                                           const std::string& text = kQuestion) {
    account_.Clear();
    return history.Search(text, 5, spending_, absl::InfiniteFuture(), account_);
  }

  const std::unique_ptr<const knowledge::Knowledge> book_ = TestKnowledge();
  store::MemoryAnswerCache vectors_{1000};
  galen::v1::Spending spending_;
  Reasoned account_;
};

TEST_F(EmbeddedHistoryTest, FindsWhatSharesNoWordWithTheQuestion) {
  ScriptedEndpoint endpoint(Embed);
  const auto client = ClientOf(endpoint.url());
  const EmbeddedHistory history(*book_, EmbeddingOf(*client));
  const auto hits = Search(history);
  ASSERT_TRUE(hits.has_value()) << account_.ShortDebugString();
  ASSERT_FALSE(hits->empty());
  EXPECT_EQ(hits->front().document.id, "past-7");
  EXPECT_GT(hits->front().similarity, 0.5);
  for (std::size_t i = 1; i < hits->size(); ++i) EXPECT_EQ((*hits)[i].similarity, 0);
  EXPECT_EQ(account_.question(), usage::kEmbedding);
  EXPECT_EQ(account_.model(), "e");
  EXPECT_EQ(account_.calls(), 1);
  EXPECT_EQ(account_.input_tokens(), 5);  // as the endpoint counts
  EXPECT_FALSE(account_.estimated());

  v1::HistoryQuestion question;
  question.set_max_causes(2);
  const auto causes = CausesOf(*book_, *hits, question);
  ASSERT_EQ(causes.causes_size(), 1);
  EXPECT_EQ(causes.causes(0).label(), "GPU.MEMORY.ECC");
}

TEST_F(EmbeddedHistoryTest, AsksForVectorsInFewRequestsAndForNoneTwice) {
  ScriptedEndpoint endpoint(Embed);
  const auto client = ClientOf(endpoint.url());
  {
    const EmbeddedHistory history(*book_, EmbeddingOf(*client));
    ASSERT_TRUE(Search(history).has_value());
    EXPECT_THAT(endpoint.requests(), SizeIs(3));  // 16 and 8 past incidents, and the question
    ASSERT_TRUE(Search(history).has_value());
    EXPECT_TRUE(account_.cached());
    EXPECT_EQ(account_.calls(), 0);
  }
  const EmbeddedHistory again(*book_, EmbeddingOf(*client));
  ASSERT_TRUE(Search(again, "another question").has_value());
  EXPECT_THAT(endpoint.requests(), SizeIs(4));
}

TEST_F(EmbeddedHistoryTest, TakesNoVectorOfAnotherModelOrSize) {
  ScriptedEndpoint endpoint(Embed);
  const auto client = ClientOf(endpoint.url());
  { ASSERT_TRUE(Search(EmbeddedHistory(*book_, EmbeddingOf(*client))).has_value()); }
  Embedding other = EmbeddingOf(*client);
  other.model = "another";
  {
    ASSERT_TRUE(Search(EmbeddedHistory(*book_, other)).has_value());
    EXPECT_THAT(endpoint.requests(), SizeIs(6));  // all are computed again
  }
  ScriptedEndpoint elsewhere(Embed);
  const auto second = ClientOf(elsewhere.url());
  ASSERT_TRUE(Search(EmbeddedHistory(*book_, EmbeddingOf(*second))).has_value());
  EXPECT_THAT(elsewhere.requests(), SizeIs(3));
}

TEST_F(EmbeddedHistoryTest, RefusesVectorsOfAnotherSizeThanIsSet) {
  ScriptedEndpoint endpoint(Embed);
  const auto client = ClientOf(endpoint.url());
  Embedding embedding = EmbeddingOf(*client);
  embedding.dimensions = 4;
  const EmbeddedHistory history(*book_, embedding);
  EXPECT_FALSE(Search(history).has_value());
  EXPECT_EQ(account_.fallback(), Reasoned::UNAVAILABLE);
  EXPECT_THAT(account_.detail(), HasSubstr("embedding: {dimensions: 3}"));
}

TEST_F(EmbeddedHistoryTest, SaysSoWhereTheEndpointIsDownFromTheStart) {
  std::string url;
  { url = ScriptedEndpoint(Embed).url(); }
  const auto client = ClientOf(url);
  const EmbeddedHistory history(*book_, EmbeddingOf(*client));
  EXPECT_FALSE(Search(history).has_value());
  EXPECT_EQ(account_.fallback(), Reasoned::UNAVAILABLE);
  EXPECT_THAT(account_.detail(), HasSubstr("past incidents are not embedded yet: llm http://"));
  EXPECT_EQ(account_.calls(), 0);
}

TEST_F(EmbeddedHistoryTest, IsMadeOnceTheEndpointIsThere) {
  std::atomic<bool> down = true;
  ScriptedEndpoint endpoint(
      [&](const Recorded& request) { return down ? ErrorReply(503, "not yet") : Embed(request); });
  const auto client = ClientOf(endpoint.url());
  const EmbeddedHistory history(*book_, EmbeddingOf(*client));
  EXPECT_FALSE(Search(history).has_value());
  down = false;
  while (!Search(history).has_value()) std::this_thread::yield();
  EXPECT_EQ(Search(history)->front().document.id, "past-7");
}

TEST_F(EmbeddedHistoryTest, FindsNothingWhileTheEndpointIsDead) {
  std::atomic<bool> down = false;
  ScriptedEndpoint endpoint([&](const Recorded& request) {
    return down ? ErrorReply(503, "going down") : Embed(request);
  });
  const auto client = ClientOf(endpoint.url());
  const EmbeddedHistory history(*book_, EmbeddingOf(*client));
  ASSERT_TRUE(Search(history).has_value());
  down = true;
  EXPECT_FALSE(Search(history, "asked when it is down").has_value());
  EXPECT_EQ(account_.fallback(), Reasoned::UNAVAILABLE);
  EXPECT_THAT(account_.detail(), HasSubstr("going down"));
  EXPECT_EQ(account_.calls(), 1);
  down = false;
  EXPECT_TRUE(Search(history, "asked when it is back").has_value());
}

TEST_F(EmbeddedHistoryTest, WaitsNoLongerThanItsLimit) {
  ScriptedEndpoint endpoint([](const Recorded& request) {
    return absl::StrContains(request.body, "slow question") ? Hang() : Embed(request);
  });
  const auto client = ClientOf(endpoint.url());
  {
    const EmbeddedHistory warm(*book_, EmbeddingOf(*client));
    ASSERT_TRUE(Search(warm).has_value());
  }
  Embedding embedding = EmbeddingOf(*client);  // the vectors are kept
  embedding.limit = absl::Milliseconds(200);
  const EmbeddedHistory history(*book_, embedding);
  while (!Search(history).has_value()) std::this_thread::yield();
  EXPECT_FALSE(Search(history, "slow question").has_value());
  EXPECT_EQ(account_.fallback(), Reasoned::OUT_OF_TIME);
}

TEST_F(EmbeddedHistoryTest, EndsThoughTheEndpointHangs) {
  ScriptedEndpoint endpoint([](const Recorded&) { return Hang(); });
  const auto client = ClientOf(endpoint.url());
  Embedding embedding = EmbeddingOf(*client);
  embedding.limit = absl::Milliseconds(1);
  const EmbeddedHistory history(*book_, embedding);
  endpoint.WaitForRequests(1);
  EXPECT_FALSE(Search(history).has_value());
}

TEST_F(EmbeddedHistoryTest, SpendsNothingBeyondTheBudget) {
  ScriptedEndpoint endpoint(Embed);
  const auto client = ClientOf(endpoint.url());
  const EmbeddedHistory history(*book_, EmbeddingOf(*client));
  ASSERT_TRUE(Search(history).has_value());
  const std::size_t before = endpoint.requests().size();
  for (const knowledge::v1::LlmBudget& budget : book_->base().llm_budgets()) {
    if (budget.scope() == "diagnosis") spending_.mutable_diagnosis()->set_calls(budget.calls());
  }
  ASSERT_GT(spending_.diagnosis().calls(), 0);
  EXPECT_FALSE(Search(history, "one question too many").has_value());
  EXPECT_EQ(account_.fallback(), Reasoned::BUDGET_SPENT);
  spending_.Clear();
  spending_.set_failures(usage::kMostFailures);  // nobody waits for more time limits than that
  EXPECT_FALSE(Search(history, "one question too many").has_value());
  EXPECT_EQ(account_.fallback(), Reasoned::GAVE_UP);
  EXPECT_THAT(endpoint.requests(), SizeIs(before));
}

TEST_F(EmbeddedHistoryTest, SendsACleanAndShortText) {
  ScriptedEndpoint endpoint(Embed);
  const auto client = ClientOf(endpoint.url());
  const EmbeddedHistory history(*book_, EmbeddingOf(*client));
  ASSERT_TRUE(Search(history).has_value());
  ASSERT_TRUE(Search(history, absl::StrCat("\xff\x1b[31m ", std::string(10'000, 'x'))).has_value());
  const auto body = nlohmann::json::parse(endpoint.requests().back().body);
  EXPECT_LE(body["input"][0].get<std::string>().size(), 1'500u);
  EXPECT_THAT(body["input"][0].get<std::string>(), ::testing::Not(HasSubstr("\x1b")));
}

TEST_F(EmbeddedHistoryTest, SpeaksBesideTheRulesAndNotInTheirPlace) {
  std::atomic<bool> down = false;
  ScriptedEndpoint endpoint([&](const Recorded& request) {
    return down ? ErrorReply(503, "going down") : Embed(request);
  });
  const auto client = ClientOf(endpoint.url());
  const Embedding embedding = EmbeddingOf(*client);
  galen::testing::FakeLlmClient chat(galen::testing::AnswerTheDraft);
  galen::testing::FakeReasoner rules;
  rules.history->add_causes()->set_label("NET.LINK.DOWN");
  const LlmReasoner reasoner(*book_, rules, {.client = &chat, .embedding = &embedding});
  v1::HistoryQuestion question;
  question.mutable_incident()->set_description(kQuestion);
  question.set_max_causes(2);
  auto answer = reasoner.ProposeFromHistory(question, absl::InfiniteFuture());
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->causes_size(), 1);
  EXPECT_EQ(answer->causes(0).label(), "GPU.MEMORY.ECC");
  EXPECT_EQ(answer->embedded().fallback(), Reasoned::NONE);

  down = true;
  question.mutable_incident()->set_description("thermal runaway, again");
  answer = reasoner.ProposeFromHistory(question, absl::InfiniteFuture());
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->causes_size(), 1);
  EXPECT_EQ(answer->causes(0).label(), "NET.LINK.DOWN");
  EXPECT_EQ(answer->embedded().fallback(), Reasoned::UNAVAILABLE);
  // It is not a failure of the model that answers.
  galen::v1::Spending spending;
  usage::Add(answer->embedded(), spending);
  EXPECT_EQ(spending.failures(), 0);
  EXPECT_EQ(spending.diagnosis().calls(), 1);
}

TEST_F(EmbeddedHistoryTest, LeavesTheSitesOwnHistoryItsPlace) {
  ScriptedEndpoint endpoint(Embed);
  const auto client = ClientOf(endpoint.url());
  const Embedding embedding = EmbeddingOf(*client);
  galen::testing::FakeLlmClient chat(galen::testing::AnswerTheDraft);
  galen::testing::FakeReasoner rules;
  std::string directory = ::testing::TempDir() + "galen-embedded-XXXXXX";
  const incident_history::HashedEmbedder hashed;
  const auto store = incident_history::Store::Open(::mkdtemp(directory.data()), hashed);
  ASSERT_TRUE(store.ok()) << store.status();
  knowledge::v1::PastIncident past;
  past.set_id("site-1");
  past.set_title(kQuestion);
  past.set_label("NET.LINK.DOWN");
  ASSERT_TRUE((*store)->Add(DocumentOf(past)).ok());
  const LlmReasoner reasoner(*book_, rules, {.client = &chat, .embedding = &embedding},
                             store->get());
  v1::HistoryQuestion question;
  question.mutable_incident()->set_description(kQuestion);
  question.set_max_causes(2);
  const auto answer = reasoner.ProposeFromHistory(question, absl::InfiniteFuture());
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->causes_size(), 2);
  std::vector<std::string> incidents;
  for (const auto& cause : answer->causes()) incidents.push_back(cause.incidents(0));
  EXPECT_THAT(incidents, ::testing::UnorderedElementsAre("site-1", "past-7"));
  std::filesystem::remove_all(directory);
}

TEST(LikenessOf, IsWhatStandsAboveTheFirstTenth) {
  std::vector<incident_history::Scored> cosines;
  for (int i = 0; i < 20; ++i) cosines.push_back({i, 0.5});
  cosines[0].score = 0.9;
  EXPECT_NEAR(LikenessOf(0.9, cosines, 20), 0.8, 1e-6);
  EXPECT_EQ(LikenessOf(0.5, cosines, 20), 0);
  EXPECT_EQ(LikenessOf(0.2, cosines, 20), 0);
  EXPECT_NEAR(LikenessOf(1, cosines, 20), 1, 1e-6);
  // Few past incidents do not show what is usual: the nearest is then only the nearest.
  EXPECT_NEAR(LikenessOf(0.9, cosines, 9), 0, 1e-6);
  EXPECT_EQ(LikenessOf(0.5, {}, 0), 0.5);
}

}  // namespace
}  // namespace galen::reasoner::llm
