#include "common/incident_history/lexical.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

#include "common/incident_history/segment_builder.h"
#include "tickets.h"

namespace galen::incident_history {
namespace {

using testing::Tickets;
using testing::Words;

View ViewOf(const std::vector<Document>& documents) {
  const HashedEmbedder embedder;
  return View({*BuildInMemory(documents, embedder)}, {}, 0);
}

// BM25 by the book: every document, in double precision.
class Corpus {
 public:
  explicit Corpus(const std::vector<Document>& documents) {
    for (std::uint32_t i = 0; i < documents.size(); ++i) {
      const std::vector<std::string> tokens = Tokens(documents[i].text);
      for (const std::string& token : tokens) ++postings_[token][i];
      lengths_.push_back(static_cast<double>(tokens.size()));
      mean_ += lengths_.back() / static_cast<double>(documents.size());
    }
  }

  std::map<std::uint32_t, double> Scores(absl::string_view question) const {
    std::map<std::uint32_t, double> scores;
    const std::vector<std::string> tokens = Tokens(question);
    const auto all = static_cast<double>(lengths_.size());
    for (const std::string& token : std::set<std::string>(tokens.begin(), tokens.end())) {
      const auto it = postings_.find(token);
      if (it == postings_.end()) continue;
      const auto with = static_cast<double>(it->second.size());
      for (const auto& [document, count] : it->second) {
        scores[document] += std::log(1 + (all - with + 0.5) / (with + 0.5)) * count * 2.2 /
                            (count + 1.2 * (0.25 + 0.75 * lengths_[document] / mean_));
      }
    }
    return scores;
  }

 private:
  std::map<std::string, std::map<std::uint32_t, int>> postings_;
  std::vector<double> lengths_;
  double mean_ = 0;
};

void ExpectBest(const std::vector<Scored>& found, const std::map<std::uint32_t, double>& expected,
                size_t most) {
  std::vector<double> best;
  for (const auto& [document, score] : expected) best.push_back(score);
  std::sort(best.rbegin(), best.rend());
  ASSERT_EQ(found.size(), std::min(most, best.size()));
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i].score, best[i], 1e-4 * best[i]);
    EXPECT_NEAR(found[i].score, expected.at(found[i].document), 1e-4 * best[i]);
  }
}

TEST(SearchWords, EqualsBm25OfEveryDocument) {
  const std::vector<Document> documents = Tickets(2000);
  const View view = ViewOf(documents);
  const Corpus book(documents);
  for (const size_t words : {1, 3, 12, 60}) {
    for (std::uint64_t q = 0; q < 10; ++q) {
      const std::string question = Words(1'000'000 + q, words);
      for (const size_t most : {1, 10, 200}) {
        SCOPED_TRACE(absl::StrCat(question, ", best ", most));
        ExpectBest(SearchWords(view, QueryTerms(view, question), most), book.Scores(question),
                   most);
      }
    }
  }
}

TEST(SearchWords, EqualsBm25AcrossRangesOfDocuments) {
  // A range holds 65,536. Without vectors, so that they are quickly made.
  std::vector<Document> documents;
  const auto builder = SegmentBuilder::ToMemory("none", 1);
  for (std::uint32_t i = 0; i < 66'500; ++i) {
    documents.push_back({.id = absl::StrCat(i), .label = "L", .text = Words(i, 1 + i % 3)});
    ASSERT_TRUE(builder->Add(documents.back(), Analyse(documents.back().text), {}).ok());
  }
  ASSERT_TRUE(builder->Finish({.exact_documents = 1'000'000}).ok());
  const View view({*Segment::FromBytes(builder->bytes(), "many")}, {}, 0);
  const Corpus book(documents);
  for (const size_t words : {2, 8}) {
    const std::string question = Words(77'777, words);
    ExpectBest(SearchWords(view, QueryTerms(view, question), 128), book.Scores(question), 128);
  }
}

TEST(SearchWords, LeavesOutALabel) {
  const std::vector<Document> documents = Tickets(500);
  const View view = ViewOf(documents);
  const auto terms = QueryTerms(view, Words(4, 30));
  std::vector<Scored> expected;
  for (const Scored& scored : SearchWords(view, terms, 500)) {
    if (view.Label(scored) != "MAIN.SUB.L3") expected.push_back(scored);
  }
  const auto found = SearchWords(view, terms, 20, "MAIN.SUB.L3");
  ASSERT_EQ(found.size(), 20U);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].document, expected[i].document);
}

TEST(QueryTerms, AsksForTheRarestWordsOfAFlood) {
  std::vector<Document> documents;
  for (int i = 0; i < 400; ++i) {
    documents.push_back({.id = absl::StrCat(i), .text = absl::StrCat("common rare", i)});
  }
  const View view = ViewOf(documents);
  std::string flood = "common";
  for (int i = 0; i < 400; ++i) absl::StrAppend(&flood, " rare", i, " unknown", i);
  const auto terms = QueryTerms(view, flood);
  ASSERT_EQ(terms.size(), kMaxQueryTerms);
  for (const QueryTerm& term : terms) EXPECT_NE(term.hash, Hash64("common"));
}

TEST(SearchWords, FindsNothingForWordsThatNobodyUsed) {
  const View view = ViewOf(Tickets(10));
  EXPECT_TRUE(SearchWords(view, QueryTerms(view, "entirely different"), 5).empty());
  EXPECT_TRUE(SearchWords(View(), QueryTerms(View(), "word1"), 5).empty());
}

}  // namespace
}  // namespace galen::incident_history
