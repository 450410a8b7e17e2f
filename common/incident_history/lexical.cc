#include "common/incident_history/lexical.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

namespace galen::incident_history {
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

constexpr size_t kBlock = 64;

// The highest of kBlock numbers.
float BlockMaximum(const float* numbers) {
#if defined(__SSE2__)
  __m128 most = _mm_loadu_ps(numbers);
  for (size_t i = 4; i < kBlock; i += 4) most = _mm_max_ps(most, _mm_loadu_ps(numbers + i));
  most = _mm_max_ps(most, _mm_movehl_ps(most, most));
  return _mm_cvtss_f32(_mm_max_ss(most, _mm_shuffle_ps(most, most, 1)));
#else
  return *std::max_element(numbers, numbers + kBlock);
#endif
}

// How many of kBlock numbers are at least `needed`.
size_t BlockCount(const float* numbers, float needed) {
#if defined(__SSE2__)
  const __m128 least = _mm_set1_ps(needed);
  __m128i count = _mm_setzero_si128();
  for (size_t i = 0; i < kBlock; i += 4) {
    const __m128 yes = _mm_cmpge_ps(_mm_loadu_ps(numbers + i), least);
    count = _mm_sub_epi32(count, _mm_castps_si128(yes));
  }
  count = _mm_add_epi32(count, _mm_shuffle_epi32(count, 0x4e));
  count = _mm_add_epi32(count, _mm_shuffle_epi32(count, 0xb1));
  return static_cast<size_t>(_mm_cvtsi128_si32(count));
#else
  return static_cast<size_t>(
      std::count_if(numbers, numbers + kBlock, [&](float number) { return number >= needed; }));
#endif
}

// Bit i is set when number i of four is at least `needed`.
unsigned FourAtLeast(const float* numbers, float needed) {
#if defined(__SSE2__)
  return static_cast<unsigned>(
      _mm_movemask_ps(_mm_cmpge_ps(_mm_loadu_ps(numbers), _mm_set1_ps(needed))));
#else
  unsigned mask = 0;
  for (unsigned i = 0; i < 4; ++i) mask |= (numbers[i] >= needed ? 1U : 0U) << i;
  return mask;
#endif
}

// Looking for a document in the lists that are left costs about so many postings read in order.
constexpr size_t kLookCost = 8;

// Evaluates one range after the other; its memory is reused.
class Ranges {
 public:
  Ranges(const Saturation& saturation, Top& top) : saturation_(saturation), top_(top) {}

  // Documents of the label with number `without` stay out.
  void Search(const Segment& segment, std::uint32_t part, std::uint32_t range,
              std::uint32_t without, std::vector<List>& lists) {
    const size_t first = range * format::kRange;
    lengths_ = segment.lengths().subspan(first, format::kRange);
    // The lists with the highest bounds first: rare words, whose lists are short.
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
    Clear(segment, first, without);
    size_t left = 0;  // postings
    for (const List& list : lists) left += list.chunk.documents.size();
    float threshold = top_.threshold();
    size_t next = 0;
    size_t since = 0;
    for (; next < lists.size(); ++next) {
      // Computing the threshold reads all scores once.
      if (since * 8 >= lengths_.size()) {
        since = 0;
        threshold = std::max(threshold, Threshold());
      }
      // No document that only the rest names can get in; are there few others that still can?
      if (rest_[next] < threshold &&
          Count(threshold - rest_[next]) * kLookCost * (lists.size() - next) < left) {
        break;
      }
      Accumulate(lists[next]);
      since += lists[next].chunk.documents.size();
      left -= lists[next].chunk.documents.size();
    }
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
  void Clear(const Segment& segment, size_t first, std::uint32_t without) {
    // Up to the end of the last block.
    const size_t end = (lengths_.size() + kBlock - 1) / kBlock * kBlock;
    std::fill_n(scores_.begin(), end, 0.0F);
    if (without >= segment.labels()) return;
    const absl::Span<const std::uint32_t> labels = segment.document_labels().subspan(first);
    for (size_t i = 0; i < lengths_.size(); ++i) {
      if (labels[i] == without) scores_[i] = -std::numeric_limits<float>::infinity();
    }
  }

  void Accumulate(const List& list) {
    const std::uint16_t* documents = list.chunk.documents.data();
    const std::uint8_t* counts = list.chunk.counts.data();
    // They rise: what a damaged file has beyond the range is at the end, or is caught one by one.
    size_t size = list.chunk.documents.size();
    while (size > 0 && documents[size - 1] >= lengths_.size()) --size;
    size_t i = 0;
#if defined(__SSE2__)
    // Four at a time up to the sum: the division is what takes its time.
    const __m128 weight = _mm_set1_ps(list.weight * static_cast<float>(kBm25Saturation + 1));
    const __m128 base = _mm_set1_ps(saturation_.base);
    const __m128 per_word = _mm_set1_ps(saturation_.per_word);
    const std::uint16_t* lengths = lengths_.data();
    const size_t limit = lengths_.size();
    for (; i + 4 <= size; i += 4) {
      const size_t a = documents[i];
      const size_t b = documents[i + 1];
      const size_t c = documents[i + 2];
      const size_t d = documents[i + 3];
      if (std::max({a, b, c, d}) >= limit) [[unlikely]]
        return;
      const __m128 length =
          _mm_cvtepi32_ps(_mm_setr_epi32(lengths[a], lengths[b], lengths[c], lengths[d]));
      const __m128 count =
          _mm_cvtepi32_ps(_mm_setr_epi32(counts[i], counts[i + 1], counts[i + 2], counts[i + 3]));
      const __m128 below = _mm_add_ps(count, _mm_add_ps(base, _mm_mul_ps(per_word, length)));
      alignas(16) std::array<float, 4> gain;
      _mm_store_ps(gain.data(), _mm_div_ps(_mm_mul_ps(weight, count), below));
      scores_[a] += gain[0];
      scores_[b] += gain[1];
      scores_[c] += gain[2];
      scores_[d] += gain[3];
    }
#endif
    for (; i < size; ++i) {
      if (documents[i] >= lengths_.size()) return;
      scores_[documents[i]] += list.weight * saturation_(counts[i], lengths_[documents[i]]);
    }
  }

  // The highest score of each block of documents.
  void Maxima() {
    maxima_.resize((lengths_.size() + kBlock - 1) / kBlock);
    for (size_t block = 0; block < maxima_.size(); ++block) {
      maxima_[block] = BlockMaximum(scores_.data() + block * kBlock);
    }
  }

  // A score that as many documents of this range reach already as are wanted: each block's best is
  // one of them.
  float Threshold() {
    Maxima();
    if (maxima_.size() < top_.most()) return 0;
    const auto last = maxima_.begin() + static_cast<std::ptrdiff_t>(top_.most() - 1);
    std::nth_element(maxima_.begin(), last, maxima_.end(), std::greater<>());
    return std::max(0.0F, *last * (2 - kSlack));
  }

  size_t Count(float needed) const {
    size_t count = 0;
    const size_t end = (lengths_.size() + kBlock - 1) / kBlock * kBlock;
    for (size_t i = 0; i < end; i += kBlock) count += BlockCount(scores_.data() + i, needed);
    return count;
  }

  void Collect(float needed) {
    candidates_.clear();
    needed = std::max(needed, std::numeric_limits<float>::min());  // a score of 0 is not a match
    const size_t end = (lengths_.size() + 3) / 4 * 4;
    for (size_t i = 0; i < end; i += 4) {
      for (unsigned mask = FourAtLeast(scores_.data() + i, needed); mask != 0; mask &= mask - 1) {
        const size_t document = i + static_cast<size_t>(std::countr_zero(mask));
        candidates_.push_back({static_cast<std::uint16_t>(document), scores_[document]});
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
  std::vector<float> maxima_;
  std::vector<Candidate> candidates_;
};

void SearchSegment(const Segment& segment, std::uint32_t part, const std::vector<QueryTerm>& terms,
                   const Saturation& saturation, absl::string_view without, Ranges& ranges) {
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
  const std::uint32_t label = without.empty() ? segment.labels() : segment.FindLabel(without);
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
    if (!lists.empty()) ranges.Search(segment, part, range, label, lists);
  }
}

// Occurrences of a word in a recent document.
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

std::vector<Scored> SearchWords(const View& view, const std::vector<QueryTerm>& terms, size_t most,
                                absl::string_view without) {
  Top top(most);
  const Saturation saturation = SaturationOf(view);
  const auto ranges = std::make_unique<Ranges>(saturation, top);
  std::uint32_t part = 0;
  for (const auto& segment : view.segments()) {
    SearchSegment(*segment, part++, terms, saturation, without, *ranges);
  }
  for (const View::RecentPart& recent : view.recent()) {
    for (std::uint32_t i = 0; i < recent.count; ++i) {
      const Analysis& analysis = recent.block->documents[i]->analysis;
      if (!without.empty() && recent.block->documents[i]->document.label == without) continue;
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

}  // namespace galen::incident_history
