#include "common/curation/difference.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "common/knowledge/words.h"

namespace galen::curation {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Whether a field only gives a place or other entries.
bool IsAside(const FieldDescriptor& field) {
  return field.name() == "children" ||
         (field.message_type() != nullptr && field.message_type()->name() == "SourceRef");
}

void Forget(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    if (IsAside(*field)) {
      reflection.ClearField(&message, field);
    } else if (field->message_type() != nullptr && !field->is_map()) {
      const int count = field->is_repeated() ? reflection.FieldSize(message, field)
                                             : (reflection.HasField(message, field) ? 1 : 0);
      for (int n = 0; n < count; ++n) {
        Forget(field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, n)
                                    : *reflection.MutableMessage(&message, field));
      }
    }
  }
}

template <typename Enum>
std::string WordOf(absl::Span<const knowledge::Word<Enum>> words, int value) {
  for (const auto& word : words) {
    if (static_cast<int>(word.value) == value) return std::string(word.text);
  }
  return absl::StrCat(value);
}

std::string TextOf(const Message& message) {
  if (message.GetDescriptor()->name() == "Rule") {
    const auto& rule = static_cast<const knowledge::v1::Rule&>(message);
    std::string text = absl::StrCat(rule.check(), " ", rule.finding(), " ",
                                    WordOf(knowledge::OpWords(), rule.op()), " ", rule.value(),
                                    rule.context() ? " (context)" : "");
    for (const auto& with : rule.with()) {
      absl::StrAppend(&text, " with ", with.log().empty() ? TextOf(with) : with.log());
    }
    if (!rule.observation().empty()) absl::StrAppend(&text, ": ", rule.observation());
    return text;
  }
  if (message.GetDescriptor()->name() == "Duration") {
    return absl::FormatDuration(
        ToDuration(static_cast<const google::protobuf::Duration&>(message)));
  }
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  printer.PrintToString(message, &text);
  absl::StripTrailingAsciiWhitespace(&text);
  return text;
}

std::string ValueOf(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    if (field.is_repeated()) return TextOf(reflection.GetRepeatedMessage(message, &field, index));
    return reflection.HasField(message, &field) ? TextOf(reflection.GetMessage(message, &field))
                                                : "";
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    return field.is_repeated() ? reflection.GetRepeatedString(message, &field, index)
                               : reflection.GetString(message, &field);
  }
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(message, &field,
                                                        field.is_repeated() ? index : -1, &text);
  return text;
}

std::vector<std::string> ValuesOf(const Message& message, const FieldDescriptor& field) {
  const int size = message.GetReflection()->FieldSize(message, &field);
  std::vector<std::string> values;
  values.reserve(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) {
    values.push_back(ValueOf(message, field, i));
  }
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<std::string> DetailsOf(const Message& before, const Message& after) {
  std::vector<std::string> details;
  for (int i = 0; i < before.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *before.GetDescriptor()->field(i);
    if (IsAside(field)) continue;
    if (!field.is_repeated()) {
      const std::string old = ValueOf(before, field, -1);
      const std::string now = ValueOf(after, field, -1);
      if (old == now) continue;
      details.push_back(absl::StrCat(field.name(), ": ", old.empty() ? "nothing" : old, " -> ",
                                     now.empty() ? "nothing" : now));
      continue;
    }
    const std::vector<std::string> old = ValuesOf(before, field);
    const std::vector<std::string> now = ValuesOf(after, field);
    std::vector<std::string> only;
    std::set_difference(old.begin(), old.end(), now.begin(), now.end(), std::back_inserter(only));
    for (const std::string& value : only) {
      details.push_back(absl::StrCat("- ", field.name(), ": ", value));
    }
    only.clear();
    std::set_difference(now.begin(), now.end(), old.begin(), old.end(), std::back_inserter(only));
    for (const std::string& value : only) {
      details.push_back(absl::StrCat("+ ", field.name(), ": ", value));
    }
  }
  return details;
}

template <typename List, typename NameOf>
void Compare(const std::string& kind, const List& before, const List& after, NameOf name_of,
             std::vector<Change>& changes) {
  using Entry = typename List::value_type;
  std::map<std::string, std::pair<const Entry*, const Entry*>> entries;
  for (const Entry& entry : before) entries[name_of(entry)].first = &entry;
  for (const Entry& entry : after) entries[name_of(entry)].second = &entry;
  for (const auto& [name, pair] : entries) {
    Change change{Change::Sort::kChanged, kind, name, {}, {}};
    change.source = (pair.second == nullptr ? pair.first : pair.second)->source();
    if (pair.first == nullptr || pair.second == nullptr) {
      change.sort = pair.first == nullptr ? Change::Sort::kAdded : Change::Sort::kRemoved;
      changes.push_back(std::move(change));
      continue;
    }
    Entry old = *pair.first;
    Entry now = *pair.second;
    Forget(old);
    Forget(now);
    change.details = DetailsOf(old, now);
    if (!change.details.empty()) changes.push_back(std::move(change));
  }
}

}  // namespace

std::vector<Change> Difference(const knowledge::v1::KnowledgeBase& before,
                               const knowledge::v1::KnowledgeBase& after) {
  std::vector<Change> changes;
  Compare(
      "label", before.labels(), after.labels(), [](const auto& each) { return each.label(); },
      changes);
  Compare(
      "check", before.checks(), after.checks(), [](const auto& each) { return each.name(); },
      changes);
  Compare(
      "signal", before.signals(), after.signals(), [](const auto& each) { return each.id(); },
      changes);
  Compare(
      "incident", before.incidents(), after.incidents(), [](const auto& each) { return each.id(); },
      changes);
  Compare(
      "error code", before.error_codes(), after.error_codes(),
      [](const auto& each) { return absl::StrCat(each.family(), " ", each.code()); }, changes);
  Compare(
      "hardware model", before.hardware(), after.hardware(),
      [](const auto& each) { return each.model(); }, changes);
  Compare(
      "kernel line", before.kernel_lines(), after.kernel_lines(),
      [](const auto& each) { return each.id(); }, changes);
  Compare(
      "artefact kind", before.artefact_kinds(), after.artefact_kinds(),
      [](const auto& each) { return each.id(); }, changes);
  Compare(
      "base rate", before.base_rates(), after.base_rates(),
      [](const auto& each) { return each.of(); }, changes);
  Compare(
      "prompt", before.prompts(), after.prompts(), [](const auto& each) { return each.name(); },
      changes);
  return changes;
}

}  // namespace galen::curation
