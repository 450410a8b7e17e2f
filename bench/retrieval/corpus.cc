#include "bench/retrieval/corpus.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/incident_history/tokens.h"

namespace galen::bench {
namespace {

constexpr const char* kSyllables[] = {"ra",  "ko", "mi",  "ten", "vor", "sal", "ju",  "pe",
                                      "lin", "do", "ash", "qu",  "ber", "nox", "tri", "gam"};
constexpr const char* kModels[] = {"H100 80GB HBM3", "A100-SXM4-80GB", "B200", "GB200",
                                   "H200",           "MI300X",         "L40S", "V100-SXM2-32GB"};
constexpr const char* kFrameworks[] = {"PyTorch", "DeepSpeed",    "Megatron-LM", "JAX",
                                       "vLLM",    "TensorRT-LLM", "Ray",         "NeMo"};

std::uint64_t Next(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  return incident_history::Mix(state);
}
std::uint64_t Below(std::uint64_t& state, std::uint64_t end) { return Next(state) % end; }

// Small numbers often, large ones rarely: about as words and faults recur.
std::uint64_t Skewed(std::uint64_t& state, std::uint64_t end) {
  const double u = static_cast<double>(Next(state) >> 11) / 9007199254740992.0;
  return std::min(end - 1,
                  static_cast<std::uint64_t>(std::pow(static_cast<double>(end) + 1, u) - 1));
}

// One of very many names: hosts, jobs, users, paths.
std::string Name(std::uint64_t& state) {
  std::uint64_t number = Skewed(state, 2'000'000);
  std::string name;
  for (int i = 0; i < 3 || number > 0; ++i, number /= 16) {
    if (i == 6) break;
    name += kSyllables[number % 16];
  }
  return name;
}

void Split(absl::string_view text, std::vector<std::string>& sentences) {
  for (absl::string_view sentence : absl::StrSplit(text, absl::ByAnyChar(".;\n"))) {
    if (std::count(sentence.begin(), sentence.end(), ' ') >= 2) sentences.emplace_back(sentence);
  }
}

}  // namespace

Corpus::Corpus(const knowledge::Knowledge& knowledge) {
  std::map<std::string, std::vector<std::string>> of_label;
  for (const auto& label : knowledge.base().labels()) {
    if (!knowledge::IsLeaf(label)) continue;
    std::vector<std::string>& sentences = of_label[label.label()];
    Split(label.title(), sentences);
    Split(label.description(), sentences);
    for (const std::string& symptom : label.symptoms()) sentences.push_back(symptom);
  }
  for (const auto& incident : knowledge.base().incidents()) {
    std::vector<std::string>& sentences = of_label[incident.label()];
    Split(incident.title(), sentences);
    Split(incident.description(), sentences);
    for (const std::string& line : incident.logs()) sentences.push_back(line);
    Split(incident.description(), others_);
  }
  std::set<std::string> words;
  for (auto& [label, sentences] : of_label) {
    if (sentences.empty()) continue;
    for (const std::string& sentence : sentences) {
      for (std::string& word : incident_history::Tokens(sentence)) words.insert(std::move(word));
    }
    topics_.push_back({label, std::move(sentences)});
  }
  for (const auto& signal : knowledge.base().signals()) Split(signal.meaning(), others_);
  words_.assign(words.begin(), words.end());
}

std::string Corpus::Changed(const std::string& sentence, std::uint64_t& state, int percent) const {
  std::vector<std::string> out;
  for (absl::string_view word : absl::StrSplit(sentence, ' ', absl::SkipEmpty())) {
    const auto dice = static_cast<int>(Below(state, 100));
    if (dice < percent / 3) continue;
    if (dice < percent) {
      out.push_back(dice % 2 == 0 ? words_[Below(state, words_.size())] : Name(state));
    } else {
      out.emplace_back(word);
    }
  }
  return absl::StrJoin(out, " ");
}

std::vector<std::string> Corpus::Sentences(std::uint32_t number, std::uint64_t& state,
                                           std::string& label) const {
  state = incident_history::Mix(number + 1);
  if (number > 16 && Below(state, 8) == 0) {
    // A near copy: the same sentences, a few words and the names changed.
    std::uint64_t other = 0;
    std::vector<std::string> sentences =
        Sentences(number - 1 - static_cast<std::uint32_t>(Below(state, number / 2)), other, label);
    for (std::string& sentence : sentences) sentence = Changed(sentence, state, 6);
    return sentences;
  }
  const Topic& topic = topics_[Skewed(state, topics_.size())];
  label = topic.label;
  std::vector<std::string> sentences;
  const size_t own = 2 + Below(state, 5);
  for (size_t i = 0; i < own; ++i) {
    sentences.push_back(Changed(topic.sentences[Below(state, topic.sentences.size())], state, 20));
  }
  const size_t foreign = 1 + Below(state, 3);
  for (size_t i = 0; i < foreign; ++i) {
    sentences.push_back(Changed(others_[Below(state, others_.size())], state, 25));
  }
  sentences.push_back(absl::StrCat("job ", Name(state), " of ", Name(state), " on ",
                                   2 << Below(state, 10), " GPUs with ",
                                   kFrameworks[Below(state, std::size(kFrameworks))], " ",
                                   Below(state, 3), ".", Below(state, 20), " ", Name(state)));
  sentences.push_back(absl::StrCat("node ", Name(state), Below(state, 100), " rank ",
                                   Below(state, 1024), " ",
                                   kModels[Below(state, std::size(kModels))], " driver ",
                                   450 + Below(state, 130), ".", Below(state, 200)));
  return sentences;
}

incident_history::Document Corpus::Ticket(std::uint32_t number) const {
  std::uint64_t state = 0;
  incident_history::Document ticket;
  const std::vector<std::string> sentences = Sentences(number, state, ticket.label);
  ticket.id = absl::StrCat("INC-", number);
  ticket.text = absl::StrJoin(sentences, ".\n");
  return ticket;
}

std::string Corpus::Question(std::uint32_t number, bool brief) const {
  std::uint64_t state = 0;
  std::string label;
  std::vector<std::string> sentences = Sentences(number, state, label);
  state = incident_history::Mix(state + 77);
  if (brief) {
    std::vector<std::string> words = absl::StrSplit(sentences[0], ' ', absl::SkipEmpty());
    if (words.size() > 10) words.resize(10);
    return absl::StrJoin(words, " ");
  }
  std::vector<std::string> half;
  for (const std::string& sentence : sentences) {
    if (half.empty() || Below(state, 2) == 0) half.push_back(Changed(sentence, state, 25));
  }
  return absl::StrJoin(half, ".\n");
}

}  // namespace galen::bench
