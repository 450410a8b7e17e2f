#include "common/retrieval/lexical.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

namespace galen::retrieval {
namespace {

using Chunk = Segment::Chunk;

// BM25 without the inverse document frequency.
struct Saturation {
  float base = 0;
  float per_word = 0;

  float operator()(float count, float length) const {
    return count * static_cast<float>(kBm25Saturation + 1) / (count + base + per_word * length);
  }
};

Saturation SaturationOf(const View& view) {
  return {static_cast<float>(kBm25Saturation * (1 - kBm25Length)),
          static_cast<float>(kBm25Saturation * kBm25Length / view.mean_length())};
}

// Bounds are a little wide, since sums of floats depend on their order.
constexpr float kSlack = 1.0001F;

// One list of postings in one range of documents.
struct List {
  Chunk chunk;
  float weight = 0;
  float bound = 0;  // what it adds to a document at most
};

struct Candidate {
  std::uint16_t document = 0;
  float score = 0;
};

// Evaluates one range after the other; its memory is reused.
class Ranges {
 public:
  Ranges(const Saturation& saturation, Top& top) : saturation_(saturation), top_(top) {}

  void Search(const Segment& segment, std::uint32_t part, std::uint32_t range,
              std::vector<List>& lists) {
    const size_t first = range * format::kRange;
    lengths_ = segment.lengths().subspan(first, format::kRange);
    // What lifts most comes first: rare words, whose lists are short.
    std::sort(lists.begin(), lists.end(),
              [](const List& a, const List& b) { return a.bound > b.bound; });
    float rest = 0;
    for (const List& list : lists) rest += list.bound * kSlack;
    rest_.resize(lists.size() + 1);
    for (size_t i = 0; i < lists.size(); ++i) {
      rest_[i] = rest;
      rest = std::max(0.0F, rest - lists[i].bound * kSlack);
    }
    rest_[lists.size()] = 0;
    std::fill_n(scores_.begin(), lengths_.size(), 0.0F);
    float threshold = top_.threshold();
    size_t next = 0;
    size_t since = 0;
    while (next < lists.size() && (rest_[next] >= threshold || threshold <= 0)) {
      Accumulate(lists[next]);
      since += lists[next].chunk.documents.size();
      ++next;
      // Looking for the threshold costs a pass over the scores.
      if (next < lists.size() && since * 2 >= lengths_.size()) {
        since = 0;
        threshold = std::max(threshold, Threshold());
      }
    }
    if (next < lists.size()) threshold = std::max(threshold, Threshold());
    Collect(threshold - rest_[next]);
    for (; next < lists.size() && !candidates_.empty(); ++next) {
      Look(lists[next]);
      const float needed = threshold - rest_[next + 1];
      candidates_.erase(
          std::remove_if(candidates_.begin(), candidates_.end(),
                         [&](const Candidate& candidate) { return candidate.score < needed; }),
          candidates_.end());
    }
    for (const Candidate& candidate : candidates_) {
      top_.Offer({part, static_cast<std::uint32_t>(first + candidate.document), candidate.score});
    }
    top_.Cut();
  }

 private:
  void Accumulate(const List& list) {
    const std::uint16_t* documents = list.chunk.documents.data();
    const std::uint8_t* counts = list.chunk.counts.data();
    const size_t size = list.chunk.documents.size();
    const size_t limit = lengths_.size();
    for (size_t i = 0; i < size; ++i) {
      const size_t document = documents[i];
      if (document >= limit) break;
      scores_[document] += list.weight * saturation_(counts[i], lengths_[document]);
    }
  }

  // A score that as many documents of this range reach already as are wanted: the lower edge of a
  // bucket of a histogram.
  float Threshold() {
    float highest = 0;
    for (size_t i = 0; i < lengths_.size(); ++i) highest = std::max(highest, scores_[i]);
    if (highest <= 0) return 0;
    constexpr size_t kBuckets = 1024;
    std::array<std::uint32_t, kBuckets + 1> buckets{};
    const float per = static_cast<float>(kBuckets) / highest;
    const float low = highest / 8;  // most documents score next to nothing
    for (size_t i = 0; i < lengths_.size(); ++i) {
      if (scores_[i] >= low) ++buckets[static_cast<size_t>(scores_[i] * per)];
    }
    size_t found = 0;
    for (size_t i = kBuckets + 1; i-- > kBuckets / 8 + 1;) {
      found += buckets[i];
      if (found >= top_.most()) return static_cast<float>(i) / per * (2 - kSlack);
    }
    return 0;
  }

  void Collect(float needed) {
    candidates_.clear();
    for (size_t i = 0; i < lengths_.size(); ++i) {
      if (scores_[i] > 0 && scores_[i] >= needed) {
        candidates_.push_back({static_cast<std::uint16_t>(i), scores_[i]});
      }
    }
  }

  // Adds what the list gives to the candidates; both rise.
  void Look(const List& list) {
    const std::uint16_t* begin = list.chunk.documents.data();
    const std::uint16_t* at = begin;
    const std::uint16_t* end = begin + list.chunk.documents.size();
    for (Candidate& candidate : candidates_) {
      // Gallops: the next one is usually near.
      size_t step = 1;
      while (step < static_cast<size_t>(end - at) && at[step] < candidate.document) step *= 2;
      at = std::lower_bound(at + step / 2, at + std::min<size_t>(step + 1, end - at),
                            candidate.document);
      if (at == end) return;
      if (*at != candidate.document) continue;
      candidate.score +=
          list.weight * saturation_(list.chunk.counts[static_cast<size_t>(at - begin)],
                                    lengths_[candidate.document]);
    }
  }

  const Saturation saturation_;
  Top& top_;
  absl::Span<const std::uint16_t> lengths_;
  std::array<float, format::kRange> scores_;
  std::vector<float> rest_;
  std::vector<Candidate> candidates_;
};

void SearchSegment(const Segment& segment, std::uint32_t part, const std::vector<QueryTerm>& terms,
                   const Saturation& saturation, Ranges& ranges) {
  struct Cursor {
    std::uint32_t chunk;
    std::uint32_t end;
    float weight;
  };
  std::vector<Cursor> cursors;
  for (const QueryTerm& term : terms) {
    const std::uint32_t number = segment.FindTerm(term.hash);
    const Cursor cursor{segment.chunk_begin(number), segment.chunk_end(number),
                        static_cast<float>(term.weight)};
    if (number < segment.terms() && cursor.chunk < cursor.end) cursors.push_back(cursor);
  }
  const auto count =
      static_cast<std::uint32_t>((segment.documents() + format::kRange - 1) / format::kRange);
  std::vector<List> lists;
  for (std::uint32_t range = 0; range < count; ++range) {
    lists.clear();
    for (Cursor& cursor : cursors) {
      while (cursor.chunk < cursor.end && segment.chunk_range(cursor.chunk) < range) ++cursor.chunk;
      if (cursor.chunk == cursor.end || segment.chunk_range(cursor.chunk) != range) continue;
      const Chunk chunk = segment.chunk(cursor.chunk);
      const float bound = cursor.weight * saturation(static_cast<float>(chunk.max_count),
                                                     static_cast<float>(chunk.min_length));
      lists.push_back({chunk, cursor.weight, bound});
    }
    if (!lists.empty()) ranges.Search(segment, part, range, lists);
  }
}

// Times that a word stands in a recent document.
std::uint8_t Count(const Analysis& analysis, std::uint64_t hash) {
  const auto it = std::lower_bound(
      analysis.terms.begin(), analysis.terms.end(), hash,
      [](const Analysis::Term& term, std::uint64_t wanted) { return term.hash < wanted; });
  return it != analysis.terms.end() && it->hash == hash ? it->count : 0;
}

}  // namespace

std::vector<QueryTerm> QueryTerms(const View& view, absl::string_view text) {
  std::vector<QueryTerm> terms;
  const auto all = static_cast<double>(view.documents());
  for (const Analysis::Term& term : Analyse(text).terms) {
    std::uint64_t documents = view.TermDocuments(term.hash);
    for (const View::RecentPart& part : view.recent()) {
      for (size_t i = 0; i < part.count; ++i) {
        if (Count(part.block->documents[i]->analysis, term.hash) > 0) ++documents;
      }
    }
    if (documents == 0) continue;
    const auto with = static_cast<double>(documents);
    terms.push_back({term.hash, std::log(1 + (all - with + 0.5) / (with + 0.5))});
  }
  std::sort(terms.begin(), terms.end(), [](const QueryTerm& a, const QueryTerm& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.hash < b.hash;
  });
  if (terms.size() > kMaxQueryTerms) terms.resize(kMaxQueryTerms);
  return terms;
}

std::vector<Scored> SearchWords(const View& view, const std::vector<QueryTerm>& terms,
                                size_t most) {
  Top top(most);
  const Saturation saturation = SaturationOf(view);
  const auto ranges = std::make_unique<Ranges>(saturation, top);
  std::uint32_t part = 0;
  for (const auto& segment : view.segments()) {
    SearchSegment(*segment, part++, terms, saturation, *ranges);
  }
  for (const View::RecentPart& recent : view.recent()) {
    for (std::uint32_t i = 0; i < recent.count; ++i) {
      const Analysis& analysis = recent.block->documents[i]->analysis;
      float score = 0;
      for (const QueryTerm& term : terms) {
        const std::uint8_t count = Count(analysis, term.hash);
        if (count == 0) continue;
        score += static_cast<float>(term.weight) * saturation(count, analysis.length);
      }
      if (score > 0) top.Offer({part, i, score});
    }
    ++part;
  }
  return top.Take();
}

}  // namespace galen::retrieval
