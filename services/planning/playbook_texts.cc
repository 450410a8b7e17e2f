#include "services/planning/playbook_texts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/yaml/knowledge_file.h"
#include "common/yaml/yaml.h"

namespace galen::planning {
namespace {

constexpr std::size_t kLeastWord = 3;
constexpr std::size_t kMostShown = 3;     // playbooks of one answer
constexpr std::size_t kMostOfOne = 1600;  // bytes of one
constexpr std::size_t kMostField = 400;   // bytes of one text of it
constexpr std::size_t kMostPlaybooks = 1000;

std::set<std::string> WordsOf(absl::string_view text) {
  std::set<std::string> words;
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const unsigned char c = i < text.size() ? static_cast<unsigned char>(text[i]) : ' ';
    if (absl::ascii_isalnum(c)) {
      word += absl::ascii_tolower(c);
    } else {
      if (word.size() >= kLeastWord) words.insert(word);
      word.clear();
    }
  }
  return words;
}

std::string FieldOf(const Yaml& map, absl::string_view name) {
  const Yaml* const field = map.Find(name);
  return field == nullptr ? "" : CleanText(field->scalar, kMostField);
}

std::string LineOfStep(const Yaml& step) {
  std::vector<std::string> labels;
  if (const Yaml* const points_to = step.Find("points_to"); points_to != nullptr) {
    for (const Yaml& label : points_to->items) labels.push_back(CleanText(label.scalar, 200));
  }
  const std::string collect = FieldOf(step, "collect");
  return absl::StrCat(
      "check ", FieldOf(step, "check"), ", finding ", FieldOf(step, "finding"),
      labels.empty() ? "" : absl::StrCat(": points to ", absl::StrJoin(labels, ", ")),
      collect.empty() ? "" : absl::StrCat("; if it is unknown, collect ", collect));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const PlaybookTexts>> PlaybookTexts::Load(
    const std::vector<std::string>& directories) {
  auto loaded = std::make_shared<PlaybookTexts>();
  const absl::StatusOr<std::vector<KnowledgeFile>> files =
      KnowledgeFolder(directories, "playbooks");
  if (absl::IsNotFound(files.status())) return loaded;
  GALEN_RETURN_IF_ERROR(files.status());
  std::map<std::string, Text> by_name;
  for (const KnowledgeFile& file : *files) {
    GALEN_ASSIGN_OR_RETURN(const Yaml document, ParseYaml(file.text, file.path));
    const Yaml* const playbooks = document.Find("playbooks");
    if (playbooks == nullptr) continue;
    for (const Yaml& playbook : playbooks->items) {
      Text text;
      text.name = FieldOf(playbook, "name");
      if (text.name.empty() || by_name.size() == kMostPlaybooks) continue;
      text.head = absl::StrCat(text.name, ": ", FieldOf(playbook, "title"));
      text.whole = absl::StrCat(text.head, "\nWhen: ", FieldOf(playbook, "when"));
      if (const Yaml* const steps = playbook.Find("steps"); steps != nullptr) {
        for (const Yaml& step : steps->items) absl::StrAppend(&text.whole, "\n", LineOfStep(step));
      }
      text.words = WordsOf(text.whole);
      std::string name = text.name;
      by_name.insert_or_assign(std::move(name), std::move(text));
    }
  }
  for (auto& [name, text] : by_name) loaded->texts_.push_back(std::move(text));
  return loaded;
}

std::string PlaybookTexts::Search(absl::string_view query, std::size_t most_bytes) const {
  if (texts_.empty()) return "There are no playbooks.";
  const std::set<std::string> wanted = WordsOf(query);
  if (wanted.empty()) {
    std::vector<absl::string_view> heads;
    for (const Text& text : texts_) heads.push_back(text.head);
    return CleanText(absl::StrJoin(heads, "\n"), most_bytes);
  }
  // A word counts the more, the fewer playbooks have it.
  std::vector<std::pair<double, const Text*>> scored;
  for (const Text& text : texts_) scored.emplace_back(0, &text);
  for (const std::string& word : wanted) {
    const auto having = std::count_if(texts_.begin(), texts_.end(),
                                      [&](const Text& text) { return text.words.contains(word); });
    for (auto& [score, text] : scored) {
      if (text->words.contains(word)) score += 1.0 / static_cast<double>(having);
    }
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> found;
  for (const auto& [score, text] : scored) {
    if (score <= 0 || found.size() == kMostShown) break;
    found.push_back(CleanText(text->whole, kMostOfOne));
  }
  if (found.empty())
    return "No playbook has any of these words; without words, their titles are listed.";
  return CleanText(absl::StrJoin(found, "\n"), most_bytes);
}

}  // namespace galen::planning
