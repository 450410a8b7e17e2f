#include "common/profile/families.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"
#include "common/yaml/knowledge_file.h"
#include "common/yaml/yaml.h"

namespace galen::profile {
namespace {

constexpr std::size_t kMostFamilies = 256;

absl::StatusOr<Family> ReadFamily(const Yaml& entry, absl::string_view file) {
  GALEN_RETURN_IF_ERROR(YamlFields(entry, file, {"name", "title", "kind", "patterns", "source"}));
  Family family;
  std::string kind;
  for (const auto& [name, into] : {std::pair<const char*, std::string*>{"name", &family.name},
                                   {"title", &family.title},
                                   {"kind", &kind},
                                   {"source", &family.source}}) {
    GALEN_ASSIGN_OR_RETURN(*into, YamlNeeded(entry, file, name));
  }
  if (kind == "communication") {
    family.kind = Kind::kCommunication;
  } else if (kind == "memory") {
    family.kind = Kind::kMemory;
  } else if (kind != "compute") {
    return YamlError(entry, file,
                     absl::StrCat("kind \"", kind, "\": is compute, communication or memory"));
  }
  const Yaml* patterns = entry.Find("patterns");
  if (patterns == nullptr) return YamlError(entry, file, "needs patterns");
  GALEN_ASSIGN_OR_RETURN(family.patterns, YamlTexts(*patterns, file, "patterns"));
  if (family.patterns.empty()) return YamlError(*patterns, file, "needs patterns");
  for (const std::string& pattern : family.patterns) {
    const RE2 compiled(pattern, RE2::Quiet);
    if (!compiled.ok()) {
      return YamlError(*patterns, file, absl::StrCat("pattern ", pattern, ": ", compiled.error()));
    }
  }
  return family;
}

std::string OneOf(const std::vector<std::string>& patterns) {
  return absl::StrJoin(patterns, "|", [](std::string* out, const std::string& pattern) {
    absl::StrAppend(out, "(?:", pattern, ")");
  });
}

}  // namespace

absl::string_view ToString(Kind kind) {
  switch (kind) {
    case Kind::kCompute:
      return "compute";
    case Kind::kCommunication:
      return "communication";
    case Kind::kMemory:
      return "memory";
  }
  return "";
}

absl::Status Families::Add(absl::string_view text, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml document, ParseYaml(text, file));
  if (document.kind == Yaml::Kind::kNull) return absl::OkStatus();
  GALEN_RETURN_IF_ERROR(YamlFields(document, file, {"families", "xla_host", "step_marks"}));
  std::vector<Family> added;
  GALEN_ASSIGN_OR_RETURN(const absl::Span<const Yaml> families,
                         YamlItems(document, file, "families"));
  for (const Yaml& entry : families) {
    GALEN_ASSIGN_OR_RETURN(Family family, ReadFamily(entry, file));
    const auto same = [&](const Family& other) { return other.name == family.name; };
    if (std::any_of(added.begin(), added.end(), same)) {
      return YamlError(entry, file, absl::StrCat("family ", family.name, ": twice"));
    }
    families_.erase(std::remove_if(families_.begin(), families_.end(), same), families_.end());
    added.push_back(std::move(family));
  }
  for (const auto& [name, into] :
       {std::pair<const char*, std::vector<std::string>*>{"xla_host", &host_},
        {"step_marks", &steps_}}) {
    const Yaml* const names = document.Find(name);
    if (names == nullptr) continue;
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> more, YamlTexts(*names, file, name));
    into->insert(into->end(), more.begin(), more.end());
  }
  families_.insert(families_.begin(), std::make_move_iterator(added.begin()),
                   std::make_move_iterator(added.end()));
  if (families_.size() > kMostFamilies) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": more than 256 families"));
  }
  return absl::OkStatus();
}

absl::Status Families::Compile() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(16 << 20);
  for (const Family& family : families_) {
    compiled_.push_back(std::make_unique<const RE2>(OneOf(family.patterns), options));
    if (!compiled_.back()->ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("family ", family.name, ": ", compiled_.back()->error()));
    }
  }
  families_.push_back({"other", "others", Kind::kCompute, {}, ""});
  for (const auto& [name, patterns, into] : {std::tuple{"xla_host", &host_, &compiled_host_},
                                             std::tuple{"step_marks", &steps_, &compiled_steps_}}) {
    if (patterns->empty()) continue;
    *into = std::make_unique<const RE2>(OneOf(*patterns), options);
    if (!(*into)->ok()) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": ", (*into)->error()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Families> Families::Parse(absl::string_view text, absl::string_view file) {
  Families families;
  GALEN_RETURN_IF_ERROR(families.Add(text, file));
  GALEN_RETURN_IF_ERROR(families.Compile());
  return families;
}

absl::StatusOr<Families> Families::Load(const std::vector<std::string>& directories) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<KnowledgeFile> files,
                         KnowledgeFolder(directories, "profile"));
  Families families;
  for (const KnowledgeFile& file : files) {
    GALEN_RETURN_IF_ERROR(families.Add(file.text, file.path));
  }
  GALEN_RETURN_IF_ERROR(families.Compile());
  return families;
}

std::size_t Families::IndexOf(absl::string_view kernel) const {
  const re2::StringPiece name = Piece(kernel);
  for (std::size_t i = 0; i < compiled_.size(); ++i) {
    if (RE2::PartialMatch(name, *compiled_[i])) return i;
  }
  return compiled_.size();
}

bool Families::IsXlaHost(absl::string_view name) const {
  return compiled_host_ != nullptr && RE2::PartialMatch(Piece(name), *compiled_host_);
}

bool Families::IsStep(absl::string_view name) const {
  return compiled_steps_ != nullptr && RE2::PartialMatch(Piece(name), *compiled_steps_);
}

}  // namespace galen::profile
