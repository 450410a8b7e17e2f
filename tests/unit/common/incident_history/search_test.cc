#include "common/incident_history/search.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/incident_history/memory_index.h"
#include "common/incident_history/store.h"
#include "common/incident_history/tokens.h"
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

std::vector<std::int64_t> NumbersOf(const std::vector<Scored>& all) {
  std::vector<std::int64_t> numbers;
  for (const Scored& scored : all) numbers.push_back(scored.document);
  return numbers;
}

// Both kinds of index must answer alike.
class SearchTest : public ::testing::TestWithParam<bool> {
 protected:
  SearchTest() {
    std::string directory = ::testing::TempDir() + "galen-search-XXXXXX";
    directory_ = ::mkdtemp(directory.data());
  }
  ~SearchTest() override { std::filesystem::remove_all(directory_); }

  const Index& IndexOf(const std::vector<Document>& documents) {
    if (!GetParam()) {
      indexes_.push_back(std::make_unique<MemoryIndex>(documents, embedder_));
      return *indexes_.back();
    }
    auto store = Store::Open(absl::StrCat(directory_, "/", indexes_.size()), embedder_);
    EXPECT_THAT(store, IsOk());
    EXPECT_THAT((*store)->Add(documents), IsOk());
    indexes_.push_back(*std::move(store));
    return *indexes_.back();
  }

  const HashedEmbedder embedder_;
  std::string directory_;
  std::vector<std::unique_ptr<const Index>> indexes_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, SearchTest, ::testing::Bool(),
                         [](const auto& kind) { return kind.param ? "Store" : "Memory"; });

// BM25 by the book, of every document.
std::map<std::string, double> Bm25(const std::vector<Document>& documents,
                                   absl::string_view question) {
  std::map<std::string, std::map<std::string, int>> postings;
  std::map<std::string, double> lengths;
  double mean = 0;
  for (const Document& document : documents) {
    const std::vector<std::string> tokens = Tokens(document.text);
    for (const std::string& token : tokens) ++postings[token][document.id];
    lengths[document.id] = static_cast<double>(tokens.size());
    mean += lengths[document.id] / static_cast<double>(documents.size());
  }
  std::map<std::string, double> scores;
  const std::vector<std::string> tokens = Tokens(question);
  const auto all = static_cast<double>(documents.size());
  for (const std::string& token : std::set<std::string>(tokens.begin(), tokens.end())) {
    const auto with = static_cast<double>(postings[token].size());
    for (const auto& [id, count] : postings[token]) {
      scores[id] += std::log(1 + (all - with + 0.5) / (with + 0.5)) * count * 2.2 /
                    (count + 1.2 * (0.25 + 0.75 * lengths[id] / mean));
    }
  }
  return scores;
}

TEST_P(SearchTest, WordsFindWhatBm25RanksHighest) {
  const std::vector<Document> tickets = Tickets(600);
  const Index& index = IndexOf(tickets);
  int best = 0;
  for (std::uint64_t q = 0; q < 20; ++q) {
    const std::string question = Words(1'000'000 + q, 6);
    const auto found = index.SearchWords(*QueryWords(index, question), 10, "");
    ASSERT_THAT(found, IsOk());
    ASSERT_EQ(found->size(), 10U);
    const std::map<std::string, double> scores = Bm25(tickets, question);
    std::vector<double> sorted;
    for (const auto& [id, score] : scores) sorted.push_back(score);
    std::sort(sorted.rbegin(), sorted.rend());
    for (const Scored& scored : *found) {
      best += scores.at(index.Read(scored.document)->id) >= sorted[9] - 1e-4 ? 1 : 0;
    }
  }
  // SQLite's weight of a word that half of the documents have is a little lower.
  EXPECT_GE(best, GetParam() ? 190 : 200);
}

TEST_P(SearchTest, LeavesOutALabel) {
  const Index& index = IndexOf(Tickets(200));
  const std::vector<std::string> words = *QueryWords(index, Words(4, 30));
  const Vector vector = *embedder_.EmbedDocument(Words(4, 30));
  const auto without = [&](const std::vector<Scored>& all) {
    std::vector<std::int64_t> numbers;
    for (const Scored& scored : all) {
      if (index.Read(scored.document)->label != "MAIN.SUB.L3") numbers.push_back(scored.document);
    }
    numbers.resize(std::min<size_t>(numbers.size(), 20));
    return numbers;
  };
  EXPECT_EQ(NumbersOf(*index.SearchWords(words, 20, "MAIN.SUB.L3")),
            without(*index.SearchWords(words, 200, "")));
  EXPECT_EQ(NumbersOf(*index.SearchVectors(vector, embedder_.name(), 20, "MAIN.SUB.L3")),
            without(*index.SearchVectors(vector, embedder_.name(), 200, "")));
}

TEST_P(SearchTest, ComparesNoVectorsOfDifferentEmbedders) {
  const Index& index = IndexOf(Tickets(10));
  const Vector vector = *embedder_.EmbedDocument(testing::Ticket(1).text);
  EXPECT_EQ(index.SearchVectors(vector, embedder_.name(), 1, "")->size(), 1U);
  EXPECT_THAT(*index.SearchVectors(vector, "another model", 5, ""), IsEmpty());
}

TEST_P(SearchTest, CountsTheDocumentsWithAFeature) {
  const Index& index = IndexOf({{.id = "1", .text = "link down, link up"},
                                {.id = "2", .text = "link down"},
                                {.id = "3", .text = "disk full"}});
  const std::vector<std::uint64_t> pair = FeaturesOf(Analyse("link down"));
  ASSERT_EQ(pair.size(), 3U);
  EXPECT_THAT(*index.Frequencies({Hash64("link"), Hash64("full"), Hash64("fan"), pair.back()}),
              ElementsAre(2, 1, 0, 2));
}

TEST_P(SearchTest, AsksForTheRarestWordsOfAFlood) {
  std::vector<Document> documents;
  for (int i = 0; i < 400; ++i) {
    documents.push_back({.id = absl::StrCat(i), .text = absl::StrCat("common rare", i)});
  }
  const Index& index = IndexOf(documents);
  std::string flood = "common";
  for (int i = 0; i < 400; ++i) absl::StrAppend(&flood, " rare", i, " unknown", i);
  const std::vector<std::string> words = *QueryWords(index, flood);
  EXPECT_EQ(words.size(), kMaxQueryWords);
  for (const std::string& word : words) EXPECT_THAT(word, HasSubstr("rare"));
  EXPECT_EQ(index.SearchWords(words, 500, "")->size(), kMaxQueryWords);
}

TEST_P(SearchTest, FindsTheTicketItself) {
  const std::vector<Document> tickets = Tickets(800);
  const Index& index = IndexOf(tickets);
  for (const size_t number : {0, 13, 799}) {
    const Answer answer = Search({&index}, embedder_, tickets[number].text);
    ASSERT_FALSE(answer.hits.empty());
    EXPECT_THAT(answer.vectors, IsOk());
    EXPECT_EQ(answer.hits[0].document.id, tickets[number].id);
    EXPECT_EQ(answer.hits[0].document.payload, tickets[number].payload);
    EXPECT_NEAR(answer.hits[0].similarity, 1, 1e-6);
    EXPECT_GT(answer.hits[0].cosine, 0.8);
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

TEST_P(SearchTest, FindsASecondCauseBehindHundredsOfNearCopies) {
  const Index& index = IndexOf(Recurring());
  const Answer answer = Search({&index}, embedder_, "allreduce timeout after the link flapped");
  std::set<std::string> labels;
  size_t daily = 0;
  for (const Hit& hit : answer.hits) {
    labels.insert(hit.document.label);
    daily += hit.document.label == "DAILY" ? 1 : 0;
  }
  EXPECT_THAT(labels, ElementsAre("DAILY", "RARE"));
  EXPECT_EQ(daily, SearchOptions().per_label);
}

TEST_P(SearchTest, TwoIndexesMeasureLikenessAsIfTheyWereOne) {
  const std::vector<Document> tickets = Tickets(60);
  const Index& first = IndexOf({tickets.begin(), tickets.begin() + 30});
  const Index& second = IndexOf({tickets.begin() + 30, tickets.end()});
  const Index& one = IndexOf(tickets);
  for (std::uint64_t q = 0; q < 10; ++q) {
    const Answer both = Search({&first, &second}, embedder_, Words(q + 900, 10), {.limit = 5});
    const Answer whole = Search({&one}, embedder_, Words(q + 900, 10), {.limit = 60});
    ASSERT_EQ(both.hits.size(), 5U);
    for (const Hit& hit : both.hits) {
      const auto same = std::find_if(whole.hits.begin(), whole.hits.end(), [&](const Hit& other) {
        return other.document.id == hit.document.id;
      });
      ASSERT_NE(same, whole.hits.end());
      EXPECT_NEAR(hit.similarity, same->similarity, 1e-9);
    }
  }
}

TEST_P(SearchTest, HostileTextsAreWordsAndNothingElse) {
  constexpr char kBytes[] = "\xff\xfe\0 NEAR(\"a\" b, 2) \" OR * ^x {y}:z -w";
  const std::string bytes(kBytes, sizeof(kBytes) - 1);
  const Index& index = IndexOf({{.id = std::string("\0'\"\xff", 4),
                                 .label = "A",
                                 .text = bytes + " pump stands still",
                                 .payload = bytes},
                                {.id = "AND", .label = "B", .text = "near or not and"}});
  for (const absl::string_view question :
       {"pump\" OR \"near", "NEAR(pump still)", "text:pump", "pump*", "^pump", "pump AND", "\"pump",
        "(pump", "pump;DROP TABLE documents"}) {
    const Answer answer = Search({&index}, embedder_, question);
    EXPECT_THAT(answer.failed, IsEmpty()) << question;
    ASSERT_FALSE(answer.hits.empty()) << question;
  }
  const Answer answer = Search({&index}, embedder_, "the pump stands still");
  EXPECT_EQ(answer.hits[0].document.id, std::string("\0'\"\xff", 4));
  EXPECT_EQ(answer.hits[0].document.text, bytes + " pump stands still");
  EXPECT_EQ(answer.hits[0].document.payload, bytes);
  EXPECT_EQ(Search({&index}, embedder_, "AND OR NOT").hits[0].document.id, "AND");
  std::string flood;
  for (int i = 0; i < (1 << 20); ++i) flood += static_cast<char>(Mix(i) % 256);
  EXPECT_THAT(Search({&index}, embedder_, flood).failed, IsEmpty());
}

TEST_P(SearchTest, AnswersNothingOverNothing) {
  EXPECT_THAT(Search({}, embedder_, "anything").hits, IsEmpty());
  EXPECT_THAT(Search({&IndexOf({})}, embedder_, "anything").hits, IsEmpty());
  const Index& index = IndexOf(Tickets(5));
  EXPECT_THAT(Search({&index}, embedder_, "").hits, IsEmpty());
  EXPECT_THAT(Search({&index}, embedder_, "entirely different").failed, IsEmpty());
  EXPECT_THAT(*index.SearchWords({}, 5, ""), IsEmpty());
  EXPECT_THAT(*QueryWords(index, "entirely different"), IsEmpty());
}

TEST(Fuse, PutsWhatBothRankingsHaveBeforeWhatOneHas) {
  const std::vector<Scored> words = {{7, 9}, {3, 8}, {5, 7}};
  const std::vector<Scored> vectors = {{3, 0.9}, {9, 0.8}};
  // 3: 1/62 + 1/61; 7: 1/61; 9: 1/62; 5: 1/63.
  EXPECT_THAT(NumbersOf(Fuse({words, vectors})), ElementsAre(3, 7, 9, 5));
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

TEST_P(SearchTest, GoesByWordsAloneAndSaysSoWhenTheEmbedderFails) {
  const std::vector<Document> tickets = Tickets(50);
  const Index& index = IndexOf(tickets);
  const Answer answer = Search({&index}, Unreachable(), tickets[7].text);
  ASSERT_FALSE(answer.hits.empty());
  EXPECT_EQ(answer.hits[0].document.id, "t-7");
  EXPECT_EQ(answer.hits[0].cosine, 0);
  EXPECT_THAT(answer.vectors,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("does not answer")));
}

// An index whose file fails at one of its calls.
class Failing final : public Index {
 public:
  explicit Failing(int call) : call_(call) {}
  std::uint64_t documents() const override { return 1'000'000; }
  absl::StatusOr<std::vector<std::uint64_t>> Frequencies(
      absl::Span<const std::uint64_t> features) const override {
    if (call_ == 0) return absl::DataLossError("damaged");
    return std::vector<std::uint64_t>(features.size(), 1);
  }
  absl::StatusOr<std::vector<Scored>> SearchWords(const std::vector<std::string>&, size_t,
                                                  absl::string_view) const override {
    if (call_ == 1) return absl::DataLossError("damaged");
    return std::vector<Scored>{{1, 1}};
  }
  absl::StatusOr<std::vector<Scored>> SearchVectors(const Vector&, const std::string&, size_t,
                                                    absl::string_view) const override {
    if (call_ == 2) return absl::DataLossError("damaged");
    return std::vector<Scored>{{1, 1}};
  }
  absl::StatusOr<Document> Read(std::int64_t) const override {
    return absl::DataLossError("damaged");
  }

 private:
  const int call_;
};

TEST(Search, GoesOnWithoutAnIndexThatCannotBeReadAndSaysSo) {
  const std::vector<Document> tickets = Tickets(50);
  const HashedEmbedder embedder;
  const MemoryIndex sound(tickets, embedder);
  for (const int call : {0, 1, 2, 3}) {
    const Failing failing(call);
    const Answer answer = Search({&failing, &sound}, embedder, tickets[7].text);
    ASSERT_EQ(answer.failed.size(), 1U) << call;
    EXPECT_THAT(answer.failed[0], StatusIs(absl::StatusCode::kDataLoss, "damaged"));
    ASSERT_FALSE(answer.hits.empty());
    EXPECT_EQ(answer.hits[0].document.id, "t-7");
    EXPECT_NEAR(answer.hits[0].similarity, 1, 1e-6);
  }
}

}  // namespace search_test
}  // namespace galen::incident_history
