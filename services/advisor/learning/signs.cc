#include "services/advisor/learning/signs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/yaml/knowledge_file.h"
#include "common/yaml/yaml.h"

namespace galen::advisor {
namespace {

absl::StatusOr<BuildUpSign> ReadSign(const Yaml& entry, absl::string_view file) {
  GALEN_RETURN_IF_ERROR(
      YamlFields(entry, file, {"name", "title", "resource", "check", "levels", "unit", "source"}));
  BuildUpSign sign;
  for (const auto& [name, into] : {std::pair<const char*, std::string*>{"name", &sign.name},
                                   {"title", &sign.title},
                                   {"resource", &sign.resource},
                                   {"check", &sign.check},
                                   {"unit", &sign.unit},
                                   {"source", &sign.source}}) {
    GALEN_ASSIGN_OR_RETURN(*into, YamlNeeded(entry, file, name));
  }
  const Yaml* levels = entry.Find("levels");
  if (levels == nullptr || levels->items.size() != sign.levels.size()) {
    return YamlError(entry, file, "needs levels: three numbers that grow");
  }
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> texts, YamlTexts(*levels, file, "levels"));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!absl::SimpleAtod(texts[i], &sign.levels[i]) || !std::isfinite(sign.levels[i]) ||
        (i > 0 && sign.levels[i] <= sign.levels[i - 1])) {
      return YamlError(*levels, file, "levels: are three numbers that grow");
    }
  }
  return sign;
}

}  // namespace

absl::Status BuildUpSigns::Add(absl::string_view text, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml document, ParseYaml(text, file));
  if (document.kind == Yaml::Kind::kNull) return absl::OkStatus();
  GALEN_RETURN_IF_ERROR(YamlFields(document, file, {"signs"}));
  if (document.Find("signs") == nullptr) return YamlError(document, file, "needs signs");
  GALEN_ASSIGN_OR_RETURN(const absl::Span<const Yaml> signs, YamlItems(document, file, "signs"));
  for (const Yaml& entry : signs) {
    GALEN_ASSIGN_OR_RETURN(BuildUpSign sign, ReadSign(entry, file));
    std::size_t place = 0;
    if (Find(sign.name, place) != nullptr) {
      signs_[place] = std::move(sign);
    } else if (signs_.size() == kMostSigns) {
      return YamlError(entry, file, absl::StrCat("is one sign more than ", kMostSigns));
    } else {
      signs_.push_back(std::move(sign));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<BuildUpSigns> BuildUpSigns::Parse(absl::string_view text, absl::string_view file) {
  BuildUpSigns signs;
  GALEN_RETURN_IF_ERROR(signs.Add(text, file));
  return signs;
}

absl::StatusOr<BuildUpSigns> BuildUpSigns::Load(const std::vector<std::string>& directories) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<KnowledgeFile> files,
                         KnowledgeFiles(directories, "advisor/buildup.yaml"));
  BuildUpSigns signs;
  for (const KnowledgeFile& file : files) {
    GALEN_RETURN_IF_ERROR(signs.Add(file.text, file.path));
  }
  return signs;
}

const BuildUpSign* BuildUpSigns::Find(absl::string_view name, std::size_t& place) const {
  for (std::size_t i = 0; i < signs_.size(); ++i) {
    if (signs_[i].name != name) continue;
    place = i;
    return &signs_[i];
  }
  return nullptr;
}

std::uint8_t BuildUpSigns::LevelOf(const BuildUpSign& sign, double value) {
  std::uint8_t level = 0;
  for (const double from : sign.levels) level += value >= from ? 1 : 0;
  return level;
}

}  // namespace galen::advisor
