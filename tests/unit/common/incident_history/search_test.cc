#include "common/incident_history/search.h"

#include <gmock/gmock.h>

#include <set>

#include "common/incident_history/segment_builder.h"
#include "tests/testing/status_matchers.h"
#include "tickets.h"

namespace galen::incident_history {
namespace search_test {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Tickets;
using testing::Words;

View ViewOf(const std::vector<Document>& documents, const BuildOptions& options = {}) {
  const HashedEmbedder embedder;
  return View({*BuildInMemory(documents, embedder, options)}, {}, 0);
}

std::vector<Scored> BruteForce(const Segment& segment, const Vector& query, size_t most) {
  std::vector<Scored> all;
  for (std::uint32_t i = 0; i < segment.documents(); ++i) {
    std::int32_t product = 0;
    for (size_t k = 0; k < query.values.size(); ++k) {
      product += query.values[k] * segment.vectors()[i * segment.stride() + k];
    }
    const float score = static_cast<float>(product) * query.scale * segment.scales()[i];
    if (score > 0) all.push_back({0, i, score});
  }
  std::sort(all.begin(), all.end(), Better);
  if (all.size() > most) all.resize(most);
  return all;
}

std::vector<std::uint32_t> Numbers(const std::vector<Scored>& all) {
  std::vector<std::uint32_t> numbers;
  for (const Scored& scored : all) numbers.push_back(scored.document);
  return numbers;
}

TEST(SearchVectors, ExactEqualsBruteForce) {
  const View view = ViewOf(Tickets(1000));
  const HashedEmbedder embedder;
  for (std::uint64_t q = 0; q < 30; ++q) {
    const Vector query = *embedder.EmbedDocument(Words(q + 5000, 12));
    const auto found = SearchVectors(view, query, embedder.name(), 25);
    EXPECT_EQ(Numbers(found), Numbers(BruteForce(*view.segments()[0], query, 25)));
  }
}

TEST(SearchVectors, TheGraphFindsNearlyWhatBruteForceFinds) {
  const View view = ViewOf(Tickets(1200), {.exact_documents = 100});
  ASSERT_EQ(view.segments()[0]->header().graph_documents, 1200U);
  const HashedEmbedder embedder;
  size_t good = 0;
  for (std::uint64_t q = 0; q < 50; ++q) {
    const Vector query = *embedder.EmbedDocument(testing::Ticket(q * 17).text + Words(q, 3));
    const auto truth = BruteForce(*view.segments()[0], query, 2);
    for (const Scored& scored : SearchVectors(view, query, embedder.name(), 2)) {
      good += scored.score >= truth[1].score ? 1 : 0;
    }
    const auto exact = SearchVectors(view, query, embedder.name(), 2, {.exact = true});
    EXPECT_EQ(Numbers(exact), Numbers(truth));
  }
  EXPECT_GE(good, 95U);  // of 100
}

TEST(SearchVectors, ComparesNoVectorsOfDifferentEmbedders) {
  const View view = ViewOf(Tickets(10));
  const Vector query = *HashedEmbedder().EmbedDocument(testing::Ticket(1).text);
  EXPECT_THAT(SearchVectors(view, query, "another model", 5), IsEmpty());
}

TEST(Fuse, PutsWhatBothRankingsHaveBeforeWhatOneHas) {
  const std::vector<Scored> words = {{0, 7, 9.0F}, {0, 3, 8.0F}, {0, 5, 7.0F}};
  const std::vector<Scored> vectors = {{0, 3, 0.9F}, {0, 9, 0.8F}};
  // 3: 1/62 + 1/61; 7: 1/61; 9: 1/62; 5: 1/63.
  EXPECT_THAT(Numbers(Fuse({words, vectors})), ElementsAre(3, 7, 9, 5));
}

TEST(Search, FindsTheTicketItself) {
  const std::vector<Document> tickets = Tickets(800);
  const View view = ViewOf(tickets);
  const HashedEmbedder embedder;
  for (const size_t number : {0, 13, 799}) {
    const Answer answer = Search(view, embedder, tickets[number].text);
    ASSERT_FALSE(answer.hits.empty());
    EXPECT_THAT(answer.vectors, IsOk());
    EXPECT_EQ(answer.hits[0].document.id, tickets[number].id);
    EXPECT_EQ(answer.hits[0].document.payload, tickets[number].payload);
    EXPECT_NEAR(answer.hits[0].similarity, 1, 1e-6);
    for (size_t i = 1; i < answer.hits.size(); ++i) {
      EXPECT_LE(answer.hits[i].similarity, answer.hits[i - 1].similarity);
    }
  }
}

// A fault that recurs daily, and one that it hides.
std::vector<Document> Recurring() {
  std::vector<Document> documents;
  for (int i = 0; i < 400; ++i) {
    documents.push_back({.id = absl::StrCat("daily-", i),
                         .label = "DAILY",
                         .text = "allreduce timeout after the link flapped"});
  }
  documents.push_back({.id = "rare",
                       .label = "RARE",
                       .text = "allreduce timeout while the switch was being upgraded to another "
                               "version of its firmware by the night shift"});
  return documents;
}

TEST(Search, FindsASecondCauseBehindHundredsOfNearCopies) {
  const View view = ViewOf(Recurring());
  const Answer answer = Search(view, HashedEmbedder(), "allreduce timeout after the link flapped");
  std::set<std::string> labels;
  size_t daily = 0;
  for (const Hit& hit : answer.hits) {
    labels.insert(hit.document.label);
    daily += hit.document.label == "DAILY" ? 1 : 0;
  }
  EXPECT_THAT(labels, ElementsAre("DAILY", "RARE"));
  EXPECT_EQ(daily, SearchOptions().per_label);
}

TEST(DistinctCauses, GivesEachLabelOnceMostLikelyFirst) {
  const auto hit = [](const char* label, double similarity) {
    Hit made;
    made.document.label = label;
    made.similarity = similarity;
    return made;
  };
  const std::vector<Hit> hits = {hit("A", 0.5), hit("B", 0.4), hit("B", 0.4), hit("B", 0.4),
                                 hit("C", 0.05)};
  const auto causes = DistinctCauses(hits, 0.1);
  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[0].label, "B");  // 0.4 + 0.2 + 0.1
  EXPECT_NEAR(causes[0].score, 0.7, 1e-9);
  EXPECT_THAT(causes[0].hits, ElementsAre(1, 2, 3));
  EXPECT_EQ(causes[1].label, "A");
}

class Unreachable final : public Embedder {
 public:
  std::string name() const override { return HashedEmbedder().name(); }
  size_t dimensions() const override { return HashedEmbedder::kDimensions; }
  absl::StatusOr<Vector> EmbedDocument(absl::string_view) const override {
    return absl::UnavailableError("the endpoint does not answer");
  }
  absl::StatusOr<Vector> EmbedQuery(absl::string_view, Rarity) const override {
    return absl::UnavailableError("the endpoint does not answer");
  }
};

TEST(Search, GoesByWordsAloneAndSaysSoWhenTheEmbedderFails) {
  const std::vector<Document> tickets = Tickets(50);
  const Answer answer = Search(ViewOf(tickets), Unreachable(), tickets[7].text);
  ASSERT_FALSE(answer.hits.empty());
  EXPECT_EQ(answer.hits[0].document.id, "t-7");
  EXPECT_THAT(answer.vectors,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("does not answer")));
}

TEST(Search, AnswersNothingOverNothing) {
  EXPECT_THAT(Search(View(), HashedEmbedder(), "anything").hits, IsEmpty());
  EXPECT_THAT(Search(ViewOf({}), HashedEmbedder(), "anything").hits, IsEmpty());
  EXPECT_THAT(Search(ViewOf(Tickets(5)), HashedEmbedder(), "").hits, IsEmpty());
}

TEST(Search, JoinsTwoIndexesAsIfTheyWereOne) {
  const std::vector<Document> tickets = Tickets(60);
  const View first = ViewOf({tickets.begin(), tickets.begin() + 30});
  const View second = ViewOf({tickets.begin() + 30, tickets.end()});
  const View joined = View::Join(first, second);
  const View one = ViewOf(tickets);
  const HashedEmbedder embedder;
  for (std::uint64_t q = 0; q < 10; ++q) {
    const Answer both = Search(joined, embedder, Words(q + 900, 10));
    const Answer whole = Search(one, embedder, Words(q + 900, 10));
    ASSERT_EQ(both.hits.size(), whole.hits.size());
    for (size_t i = 0; i < whole.hits.size(); ++i) {
      EXPECT_NEAR(both.hits[i].similarity, whole.hits[i].similarity, 1e-9);
    }
  }
}

}  // namespace search_test
}  // namespace galen::incident_history
