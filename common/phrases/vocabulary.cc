#include "common/phrases/vocabulary.h"

#include <algorithm>
#include <array>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/phrases/phrase.h"
#include "common/yaml/knowledge_file.h"
#include "common/yaml/yaml.h"

namespace galen::phrases {
namespace {

constexpr std::size_t kMostMarks = 32;
constexpr std::array<std::pair<absl::string_view, Place>, 6> kPlaces = {{
    {"anywhere", Place::kAnywhere},
    {"start", Place::kStart},
    {"end", Place::kEnd},
    {"whole", Place::kWhole},
    {"only", Place::kOnly},
    {"clause", Place::kClause},
}};

// The directory that a file is from.
absl::string_view FolderOf(absl::string_view file) {
  const std::size_t slash = file.rfind('/');
  return slash == absl::string_view::npos ? "" : file.substr(0, slash);
}

struct Written {
  std::string phrase;
  std::string where;  // "file:line"
  std::string folder;
};

// A list as its files have it.
struct Draft {
  std::string where;
  Place place = Place::kAnywhere;
  std::string marks;
  std::vector<Written> filler;
  std::vector<Written> phrases;
};

// Adds the phrases of one field of one file.
absl::Status AddPhrases(const Yaml& list, absl::string_view field, absl::string_view file,
                        std::vector<Written>& into) {
  GALEN_ASSIGN_OR_RETURN(const absl::Span<const Yaml> phrases, YamlItems(list, file, field));
  const std::string folder(FolderOf(file));
  for (const Yaml& item : phrases) {
    GALEN_ASSIGN_OR_RETURN(std::string phrase, YamlText(item, file, field));
    const auto twin = std::find_if(into.begin(), into.end(),
                                   [&](const Written& other) { return other.phrase == phrase; });
    if (twin != into.end()) {
      // A phrase that a site had first and Galen has added since is not an error of the site.
      if (twin->folder != folder) continue;
      return YamlError(
          item, file,
          absl::StrCat(field, ": \"", phrase, "\" is at ", twin->where, " already; remove one"));
    }
    if (into.size() >= kMostPhrases) {
      return YamlError(item, file,
                       absl::StrCat(field, ": a list has at most ", kMostPhrases, " phrases"));
    }
    into.push_back({std::move(phrase), absl::StrCat(file, ":", item.line), folder});
  }
  return absl::OkStatus();
}

}  // namespace

// Reads the files, then resolves references between lists, then compiles.
class VocabularyReader {
 public:
  absl::Status Add(absl::string_view text, absl::string_view file) {
    GALEN_ASSIGN_OR_RETURN(const Yaml document, ParseYaml(text, file));
    if (document.kind == Yaml::Kind::kNull) return absl::OkStatus();
    GALEN_RETURN_IF_ERROR(YamlFields(document, file, {"lists"}));
    const Yaml* const lists = document.Find("lists");
    if (lists == nullptr || lists->kind != Yaml::Kind::kMap) {
      return YamlError(document, file, "needs lists, a map of lists by their names");
    }
    for (const Yaml::Field& list : lists->fields) {
      GALEN_RETURN_IF_ERROR(AddList(list.name, list.value, file));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Vocabulary> Finish() {
    Vocabulary vocabulary;
    for (const auto& [name, draft] : drafts_) {
      GALEN_ASSIGN_OR_RETURN(const std::string expression, ExpressionOf(name));
      std::string filler;
      if (!draft.filler.empty()) {
        GALEN_ASSIGN_OR_RETURN(filler, AnyOf(name, draft.filler));
      }
      absl::StatusOr<Phrases> list = Phrases::Compile(expression, draft.place, draft.marks, filler);
      if (!list.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat(draft.where, ": ", name, ": ", list.status().message()));
      }
      vocabulary.lists_.emplace(name, *std::move(list));
    }
    return vocabulary;
  }

 private:
  absl::Status AddList(const std::string& name, const Yaml& list, absl::string_view file) {
    if (name.empty() ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos) {
      return YamlError(list, file, absl::StrCat(name, ": a list's name has a-z, 0-9 and _ alone"));
    }
    GALEN_RETURN_IF_ERROR(YamlFields(list, file, {"why", "place", "marks", "filler", "phrases"}));
    const auto known = drafts_.find(name);
    if (known == drafts_.end()) return AddNew(name, list, file);
    for (const char* field : {"why", "place", "marks"}) {
      if (list.Find(field) == nullptr) continue;
      return YamlError(list, file,
                       absl::StrCat(name, ": ", known->second.where, " says its ", field,
                                    "; here only phrases and filler can be added"));
    }
    GALEN_RETURN_IF_ERROR(AddPhrases(list, "filler", file, known->second.filler));
    return AddPhrases(list, "phrases", file, known->second.phrases);
  }

  absl::Status AddNew(const std::string& name, const Yaml& list, absl::string_view file) {
    if (drafts_.size() >= kMostLists) {
      return YamlError(list, file, absl::StrCat("more than ", kMostLists, " lists"));
    }
    const Yaml* const why = list.Find("why");
    if (why == nullptr) {
      return YamlError(list, file,
                       absl::StrCat(name,
                                    ": no list has this name; correct it, or say why "
                                    "there is a new one"));
    }
    GALEN_RETURN_IF_ERROR(YamlText(*why, file, "why").status());
    Draft draft;
    draft.where = absl::StrCat(file, ":", list.line);
    if (const Yaml* const place = list.Find("place"); place != nullptr) {
      GALEN_ASSIGN_OR_RETURN(const std::string word, YamlText(*place, file, "place"));
      const auto found = std::find_if(kPlaces.begin(), kPlaces.end(),
                                      [&](const auto& each) { return each.first == word; });
      if (found == kPlaces.end()) {
        return YamlError(*place, file, "place: is anywhere, start, end, whole, only or clause");
      }
      draft.place = found->second;
    }
    if (const Yaml* const marks = list.Find("marks"); marks != nullptr) {
      GALEN_ASSIGN_OR_RETURN(draft.marks, YamlText(*marks, file, "marks"));
      if (draft.marks.empty() || draft.marks.size() > kMostMarks ||
          draft.place == Place::kAnywhere || draft.place == Place::kClause) {
        return YamlError(*marks, file, "marks: 1 to 32 bytes, of a list whose place has an edge");
      }
    }
    GALEN_RETURN_IF_ERROR(AddPhrases(list, "filler", file, draft.filler));
    if (!draft.filler.empty() && (draft.place == Place::kAnywhere || draft.place == Place::kOnly)) {
      return YamlError(list, file, "filler: only beside place start, end, whole or clause");
    }
    GALEN_RETURN_IF_ERROR(AddPhrases(list, "phrases", file, draft.phrases));
    if (draft.phrases.empty()) return YamlError(list, file, "needs phrases");
    drafts_.emplace(name, std::move(draft));
    return absl::OkStatus();
  }

  // One of these phrases of the list `name`.
  absl::StatusOr<std::string> AnyOf(const std::string& name, const std::vector<Written>& phrases) {
    std::string any;
    for (const Written& each : phrases) {
      const absl::StatusOr<std::string> expression = PhraseExpression(
          each.phrase, [&](absl::string_view other) { return ExpressionOf(std::string(other)); });
      if (!expression.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(each.where, ": ", name, ": \"", each.phrase,
                                                       "\": ", expression.status().message()));
      }
      absl::StrAppend(&any, any.empty() ? "(?:" : "|", *expression);
      if (any.size() > kMostExpressionBytes) {
        return absl::InvalidArgumentError(
            absl::StrCat(each.where, ": ", name, ": is too large with the lists that it names"));
      }
    }
    return absl::StrCat(any, ")");
  }

  absl::StatusOr<std::string> ExpressionOf(const std::string& name) {
    const auto draft = drafts_.find(name);
    if (draft == drafts_.end()) {
      return absl::InvalidArgumentError(absl::StrCat("<", name, ">: no list has this name"));
    }
    if (const auto done = expressions_.find(name); done != expressions_.end()) return done->second;
    if (!open_.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("<", name, ">: the list names itself"));
    }
    GALEN_ASSIGN_OR_RETURN(std::string expression, AnyOf(name, draft->second.phrases));
    open_.erase(name);
    return expressions_[name] = std::move(expression);
  }

  std::map<std::string, Draft> drafts_;
  std::map<std::string, std::string> expressions_;
  std::set<std::string> open_;  // being resolved
};

absl::StatusOr<Vocabulary> Vocabulary::Parse(absl::string_view text, absl::string_view file) {
  VocabularyReader reader;
  GALEN_RETURN_IF_ERROR(reader.Add(text, file));
  return reader.Finish();
}

absl::StatusOr<Vocabulary> Vocabulary::Load(const std::vector<std::string>& directories) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<KnowledgeFile> files,
                         KnowledgeFolder(directories, "talk"));
  VocabularyReader reader;
  for (const KnowledgeFile& file : files) {
    GALEN_RETURN_IF_ERROR(reader.Add(file.text, file.path));
  }
  return reader.Finish();
}

absl::Status Vocabulary::Fill(
    std::initializer_list<std::pair<absl::string_view, Phrases*>> wanted) const {
  for (const auto& [name, into] : wanted) {
    const auto found = lists_.find(name);
    if (found == lists_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("talk/*.yaml: there is no list ", name,
                       "; name the knowledge that came with the program first"));
    }
    *into = found->second;
  }
  return absl::OkStatus();
}

}  // namespace galen::phrases
