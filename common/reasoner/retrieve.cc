#include "common/reasoner/retrieve.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace galen::reasoner {
namespace {

using galen::v1::Signal;
using knowledge::v1::PastIncident;

constexpr size_t kMaxTokens = 20000;
constexpr size_t kMaxTokenBytes = 64;
constexpr size_t kMaxQueryBytes = 64 << 10;
constexpr std::uint32_t kDimensions = 1 << 16;
// The usual constants of BM25 and of reciprocal rank fusion.
constexpr double kBm25Saturation = 1.2;
constexpr double kBm25Length = 0.75;
constexpr double kFusion = 60;
constexpr size_t kCandidates = 20;
// Below this two tickets share little but the trade's words.
constexpr double kSimilarityFloor = 0.12;
// A signal for the label is worth this much similarity.
constexpr double kSignalBonus[] = {0, 0.02, 0.06, 0.12};  // by Strength

// Independent of the platform's std::hash, so that the same texts give the same answer everywhere.
std::uint32_t Hash(absl::string_view text) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 16777619U;
  }
  return (hash ^ (hash >> 16)) % kDimensions;
}

bool SaysNothing(absl::string_view word) {
  if (word.size() < 2 || word.size() > kMaxTokenBytes) return true;
  if (absl::StartsWith(word, "0x")) return true;
  const bool number = std::all_of(
      word.begin(), word.end(), [](unsigned char c) { return absl::ascii_isdigit(c) || c == '.'; });
  return number && word.size() > 4;
}

std::string TextOf(const PastIncident& incident) {
  std::string text =
      absl::StrCat(incident.title(), "\n", incident.title(), "\n", incident.description(), "\n",
                   absl::StrJoin(incident.logs(), "\n"));
  const std::map<std::string, std::string> environment(incident.environment().begin(),
                                                       incident.environment().end());
  for (const auto& [key, value] : environment) absl::StrAppend(&text, "\n", value);
  return text;
}

std::vector<std::string> Features(const std::vector<std::string>& tokens) {
  std::vector<std::string> features = tokens;
  for (size_t i = 1; i < tokens.size(); ++i) {
    features.push_back(absl::StrCat(tokens[i - 1], " ", tokens[i]));
  }
  return features;
}

double Cosine(const std::vector<std::pair<std::uint32_t, float>>& a,
              const std::vector<std::pair<std::uint32_t, float>>& b) {
  double sum = 0;
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() && right != b.end()) {
    if (left->first == right->first) {
      sum += static_cast<double>(left->second) * static_cast<double>(right->second);
      ++left;
      ++right;
    } else if (left->first < right->first) {
      ++left;
    } else {
      ++right;
    }
  }
  return std::clamp(sum, 0.0, 1.0);
}

// Incidents by falling score, equal ones in the order of the files.
std::vector<size_t> Ranking(const std::vector<double>& scores) {
  std::vector<size_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  return order;
}

}  // namespace

std::vector<std::string> Tokens(absl::string_view text) {
  std::vector<std::string> tokens;
  size_t begin = 0;
  const auto inside = [&](size_t i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // Bytes of other scripts are kept together as they come.
    return absl::ascii_isalnum(c) || c == '_' || c == '.' || c >= 0x80;
  };
  while (begin < text.size() && tokens.size() < kMaxTokens) {
    if (!inside(begin)) {
      ++begin;
      continue;
    }
    size_t end = begin;
    while (end < text.size() && inside(end)) ++end;
    absl::string_view word = text.substr(begin, end - begin);
    begin = end;
    while (!word.empty() && word.front() == '.') word.remove_prefix(1);
    while (!word.empty() && word.back() == '.') word.remove_suffix(1);
    std::string lower = absl::AsciiStrToLower(word);
    if (!SaysNothing(lower)) tokens.push_back(std::move(lower));
  }
  return tokens;
}

HistoryIndex::HistoryIndex(absl::Span<const PastIncident* const> incidents) {
  std::vector<std::vector<std::string>> texts;
  absl::flat_hash_map<std::uint32_t, std::uint32_t> documents;  // with that dimension
  double total = 0;
  for (const PastIncident* incident : incidents) {
    texts.push_back(Tokens(TextOf(*incident)));
    std::map<std::string, std::uint32_t> counts;
    for (const std::string& token : texts.back()) ++counts[token];
    const auto id = static_cast<std::uint32_t>(texts.size() - 1);
    for (const auto& [token, count] : counts) postings_[token].push_back({id, count});
    std::set<std::uint32_t> dimensions;
    for (const std::string& feature : Features(texts.back())) dimensions.insert(Hash(feature));
    for (const std::uint32_t dimension : dimensions) ++documents[dimension];
    lengths_.push_back(static_cast<double>(texts.back().size()));
    total += lengths_.back();
  }
  if (total > 0) mean_length_ = total / static_cast<double>(texts.size());
  for (const auto& [dimension, count] : documents) {
    rarity_[dimension] =
        std::log(1.0F + static_cast<float>(texts.size()) / static_cast<float>(count));
  }
  for (const std::vector<std::string>& tokens : texts) vectors_.push_back(Embed(tokens));
}

HistoryIndex::Vector HistoryIndex::Embed(const std::vector<std::string>& tokens) const {
  std::map<std::uint32_t, float> counts;
  for (const std::string& feature : Features(tokens)) counts[Hash(feature)] += 1;
  Vector vector;
  double square = 0;
  const float unseen = std::log(1.0F + static_cast<float>(lengths_.size()));
  for (const auto& [dimension, count] : counts) {
    const auto it = rarity_.find(dimension);
    const float weight = (1.0F + std::log(count)) * (it == rarity_.end() ? unseen : it->second);
    vector.emplace_back(dimension, weight);
    square += static_cast<double>(weight) * static_cast<double>(weight);
  }
  const auto length = static_cast<float>(std::sqrt(square));
  if (length > 0) {
    for (auto& [dimension, weight] : vector) weight /= length;
  }
  return vector;
}

std::vector<Similar> HistoryIndex::Search(absl::string_view query, size_t limit) const {
  const std::vector<std::string> tokens = Tokens(query.substr(0, kMaxQueryBytes));
  const auto size = static_cast<double>(lengths_.size());
  std::vector<double> words(lengths_.size(), 0);
  const std::set<std::string> distinct(tokens.begin(), tokens.end());
  for (const std::string& token : distinct) {
    const auto it = postings_.find(token);
    if (it == postings_.end()) continue;
    const auto found = static_cast<double>(it->second.size());
    const double rarity = std::log(1 + (size - found + 0.5) / (found + 0.5));
    for (const Posting& posting : it->second) {
      const double count = posting.count;
      const double length =
          1 - kBm25Length + kBm25Length * lengths_[posting.incident] / mean_length_;
      words[posting.incident] +=
          rarity * count * (kBm25Saturation + 1) / (count + kBm25Saturation * length);
    }
  }
  const Vector vector = Embed(tokens);
  std::vector<double> cosines;
  for (const Vector& each : vectors_) cosines.push_back(Cosine(vector, each));
  std::vector<double> fused(lengths_.size(), 0);
  for (const std::vector<size_t>& ranking : {Ranking(words), Ranking(cosines)}) {
    for (size_t rank = 0; rank < ranking.size(); ++rank) {
      fused[ranking[rank]] += 1 / (kFusion + 1 + static_cast<double>(rank));
    }
  }
  std::vector<Similar> similar;
  for (const size_t i : Ranking(fused)) {
    if (similar.size() == limit) break;
    similar.push_back({i, fused[i], cosines[i]});
  }
  return similar;
}

std::string QueryText(const galen::v1::Incident& incident, const galen::v1::EvidenceSet& evidence) {
  std::string text = incident.description();
  const auto& environment = incident.environment();
  for (const std::string* word :
       {&environment.gpu(), &environment.driver(), &environment.cuda(), &environment.os(),
        &environment.nic(), &incident.workload().framework()}) {
    if (!word->empty()) absl::StrAppend(&text, "\n", *word);
  }
  for (const std::string& said : evidence.feedback()) absl::StrAppend(&text, "\n", said);
  for (const Signal& signal : evidence.summary().signals()) {
    absl::StrAppend(&text, "\n", signal.excerpt());
  }
  return text;
}

v1::HistoryAnswer ProposeCauses(const knowledge::Knowledge& knowledge, const HistoryIndex& index,
                                const v1::HistoryQuestion& question) {
  std::map<std::string, double> bonus;
  for (const Signal& signal : question.evidence().summary().signals()) {
    const auto strength = static_cast<size_t>(signal.strength());
    if (strength >= std::size(kSignalBonus)) continue;
    for (const std::string& label : signal.labels()) {
      bonus[label] = std::max(bonus[label], kSignalBonus[strength]);
    }
  }
  struct Group {
    double score = 0;
    double fused = 0;
    std::vector<std::string> incidents;
    std::string title;
  };
  std::map<std::string, Group> groups;
  for (const Similar& similar :
       index.Search(QueryText(question.incident(), question.evidence()), kCandidates)) {
    if (similar.similarity < kSimilarityFloor) continue;
    const PastIncident& incident = knowledge.base().incidents(static_cast<int>(similar.incident));
    if (knowledge.FindLabel(incident.label()) == nullptr) continue;
    Group& group = groups[incident.label()];
    // The best one counts in full, further ones of the label less and less.
    group.score +=
        similar.similarity / static_cast<double>(1 << std::min<size_t>(group.incidents.size(), 10));
    group.fused += similar.fused;
    if (group.incidents.empty()) group.title = incident.title();
    group.incidents.push_back(incident.id());
  }
  std::vector<std::pair<std::string, Group>> ranked(groups.begin(), groups.end());
  for (auto& [label, group] : ranked) group.score += bonus.contains(label) ? bonus[label] : 0;
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    if (a.second.score != b.second.score) return a.second.score > b.second.score;
    return a.second.fused > b.second.fused;
  });
  const size_t wanted = std::max(question.max_causes(), 1);
  v1::HistoryAnswer answer;
  for (const auto& [label, group] : ranked) {
    if (answer.causes_size() == static_cast<int>(wanted)) break;
    v1::HistoryAnswer::Cause& cause = *answer.add_causes();
    cause.set_label(label);
    // A past case proposes, it does not prove: half is the most that it can say.
    cause.set_probability(std::min(0.5, group.score));
    cause.set_reason(absl::StrCat(
        "resembles ", group.incidents.front(), " (", group.title, ")",
        group.incidents.size() > 1 ? absl::StrCat(" and ", group.incidents.size() - 1, " more")
                                   : "",
        bonus.contains(label) ? ", and messages in the texts speak for it" : ""));
    for (const std::string& id : group.incidents) cause.add_incidents(id);
  }
  return answer;
}

}  // namespace galen::reasoner
