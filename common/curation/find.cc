#include "common/curation/find.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

namespace galen::curation {
namespace {

// Longer queries are cut: each word is searched for in every entry.
constexpr std::size_t kMaxWords = 32;

// A word counts for the most prominent place that contains it.
constexpr double kInName = 4;
constexpr double kInTitle = 3;
constexpr double kInShort = 2;
constexpr double kInRest = 1;

std::vector<std::string> WordsOf(absl::string_view query) {
  std::vector<std::string> words;
  std::string word;
  const auto end = [&] {
    if (!word.empty() && std::find(words.begin(), words.end(), word) == words.end() &&
        words.size() < kMaxWords) {
      words.push_back(word);
    }
    word.clear();
  };
  for (const char c : query) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || c == '_' || c == '.' || byte >= 0x80) {
      word += absl::ascii_tolower(byte);
    } else {
      end();
    }
  }
  end();
  return words;
}

// Collects the places of the words in one entry.
class Look {
 public:
  explicit Look(const std::vector<std::string>& words) : words_(words), best_(words.size(), 0) {}

  Look& In(double weight, absl::string_view text) {
    const std::string lower = absl::AsciiStrToLower(text);
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (best_[i] < weight && absl::StrContains(lower, words_[i])) best_[i] = weight;
    }
    return *this;
  }
  template <typename Texts>
  Look& InEach(double weight, const Texts& texts) {
    for (const auto& text : texts) In(weight, text);
    return *this;
  }
  void Give(absl::string_view kind, const std::string& name, const std::string& text,
            const knowledge::v1::SourceRef& source, std::vector<Found>& found) const {
    Found entry{std::string(kind), name, text, 0, 0, source};
    for (const double weight : best_) {
      entry.words += weight > 0 ? 1 : 0;
      entry.weight += weight;
    }
    if (entry.words > 0) found.push_back(std::move(entry));
  }

 private:
  const std::vector<std::string>& words_;
  std::vector<double> best_;
};

}  // namespace

std::vector<Found> Find(const knowledge::v1::KnowledgeBase& base, absl::string_view query,
                        absl::string_view kind, std::size_t limit) {
  const std::vector<std::string> words = WordsOf(query);
  std::vector<Found> found;
  const auto wanted = [&](absl::string_view each) { return kind.empty() || kind == each; };
  for (const auto& label : base.labels()) {
    if (!wanted("label")) break;
    Look look(words);
    look.In(kInName, label.label()).In(kInTitle, label.title()).InEach(kInShort, label.aliases());
    look.InEach(kInShort, label.symptoms()).In(kInRest, label.description());
    look.In(kInRest, label.mitigation()).InEach(kInRest, label.secondary_effects());
    for (const auto& rule : label.confirm()) look.In(kInRest, rule.check());
    look.Give("label", label.label(), label.title(), label.source(), found);
  }
  for (const auto& check : base.checks()) {
    if (!wanted("check")) break;
    Look look(words);
    look.In(kInName, check.name()).In(kInTitle, check.title()).InEach(kInShort, check.reads());
    look.InEach(kInShort, check.command()).In(kInShort, check.file());
    for (const auto& finding : check.findings()) look.In(kInShort, finding.name());
    look.Give("check", check.name(), check.title(), check.source(), found);
  }
  for (const auto& signal : base.signals()) {
    if (!wanted("signal")) break;
    Look look(words);
    look.In(kInName, signal.id()).In(kInTitle, signal.pattern()).In(kInShort, signal.meaning());
    look.InEach(kInRest, signal.labels());
    look.Give("signal", signal.id(), signal.pattern(), signal.source(), found);
  }
  for (const auto& incident : base.incidents()) {
    if (!wanted("incident")) break;
    Look look(words);
    look.In(kInName, incident.id()).In(kInTitle, incident.title()).In(kInShort, incident.label());
    look.In(kInRest, incident.description()).InEach(kInRest, incident.logs());
    look.In(kInRest, incident.resolution()).InEach(kInRest, incident.verification());
    look.Give("incident", incident.id(), incident.title(), incident.source(), found);
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(b.words, b.weight) < std::tie(a.words, a.weight);
  });
  if (found.size() > limit) found.resize(limit);
  return found;
}

}  // namespace galen::curation
