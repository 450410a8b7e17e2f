#include "services/node/checks/check_data.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "re2/re2.h"
#include "services/node/checks/patterns.h"

namespace galen::node {

absl::StatusOr<CheckData> CheckData::Of(const knowledge::Knowledge& knowledge,
                                        absl::string_view check) {
  const knowledge::v1::Check* spec = knowledge.FindCheck(check);
  if (spec == nullptr) {
    return absl::InternalError(absl::StrCat(check, ": the knowledge does not declare it"));
  }
  return CheckData(*spec);
}

absl::StatusOr<double> CheckData::Number(absl::string_view name) const {
  for (const knowledge::v1::CheckDatum& datum : check_->data()) {
    if (datum.name() == name && datum.has_number()) return datum.number();
  }
  return absl::InternalError(absl::StrCat(check_->name(), ": the knowledge gives no number ", name,
                                          "; add it to `data:`"));
}

std::vector<std::vector<std::string>> CheckData::Lists(absl::string_view name) const {
  std::vector<std::vector<std::string>> lists;
  for (const knowledge::v1::CheckDatum& datum : check_->data()) {
    if (datum.name() == name) lists.emplace_back(datum.texts().begin(), datum.texts().end());
  }
  return lists;
}

std::vector<std::string> CheckData::Texts(absl::string_view name) const {
  std::vector<std::string> texts;
  for (const knowledge::v1::CheckDatum& datum : check_->data()) {
    if (datum.name() == name) texts.insert(texts.end(), datum.texts().begin(), datum.texts().end());
  }
  return texts;
}

std::vector<CheckData::Pattern> CheckData::Patterns(absl::string_view name) const {
  std::vector<Pattern> patterns;
  for (const knowledge::v1::CheckDatum& datum : check_->data()) {
    if (datum.pattern().empty() || (!name.empty() && datum.name() != name)) continue;
    auto compiled = CompiledPattern(datum.pattern());
    if (compiled->ok()) patterns.push_back({datum.name(), datum.pattern(), std::move(compiled)});
  }
  return patterns;
}

std::string CheckData::FirstMatch(const std::vector<Pattern>& patterns, absl::string_view line) {
  const re2::StringPiece text(line.data(), line.size());
  for (const Pattern& pattern : patterns) {
    if (RE2::PartialMatch(text, *pattern.compiled)) return pattern.name;
  }
  return "";
}

std::vector<CheckData::Pattern> PatternsOf(const knowledge::Knowledge& knowledge,
                                           absl::string_view check, absl::string_view name) {
  const auto data = CheckData::Of(knowledge, check);
  return data.ok() ? data->Patterns(name) : std::vector<CheckData::Pattern>();
}

std::vector<std::string> TextsOf(const std::vector<CheckData::Pattern>& patterns) {
  std::vector<std::string> texts;
  for (const CheckData::Pattern& pattern : patterns) texts.push_back(pattern.text);
  return texts;
}

}  // namespace galen::node
