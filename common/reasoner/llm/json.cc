#include "common/reasoner/llm/json.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/json_access.h"
#include "common/base/json_depth.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::reasoner::llm {
namespace {

constexpr int kMaxDepth = 16;
constexpr std::size_t kQuoted = 80;

absl::Status Refuse(absl::string_view name, absl::string_view fact) {
  return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" ", fact));
}

std::string Quoted(const Json& json) {
  return absl::StrCat("\"", CleanText(json.get_ref<const std::string&>(), kQuoted), "\"");
}

absl::string_view WithoutFence(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (!absl::ConsumePrefix(&text, "```")) return text;
  absl::ConsumePrefix(&text, "json");
  text = absl::StripAsciiWhitespace(text);
  absl::ConsumeSuffix(&text, "```");
  return absl::StripAsciiWhitespace(text);
}

const Json* Member(const Json& object, absl::string_view name) {
  const auto it = object.find(std::string(name));
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

absl::StatusOr<const Json*> List(const Json& object, absl::string_view name) {
  const Json* const list = Member(object, name);
  if (list == nullptr) return Refuse(name, "is missing");
  if (!list->is_array()) return Refuse(name, "must be a list");
  return list;
}

absl::StatusOr<std::string> Offered(const Json& value, absl::string_view name,
                                    const std::set<std::string>& choices) {
  if (!value.is_string()) return Refuse(name, "must be a text");
  const std::string& text = value.get_ref<const std::string&>();
  if (choices.count(text) > 0) return text;
  return Refuse(name, absl::StrCat("is ", Quoted(value), ", which was not offered"));
}

}  // namespace

absl::StatusOr<Json> ParseObject(absl::string_view text) {
  if (text.size() > kMaxAnswerBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the answer has ", text.size(), " bytes, more than ", kMaxAnswerBytes));
  }
  if (!IsUtf8(text)) return absl::InvalidArgumentError("the answer is not UTF-8");
  text = WithoutFence(text);
  if (text.empty()) return absl::InvalidArgumentError("the answer is empty");
  if (JsonNestsDeeperThan(text, kMaxDepth))
    return absl::InvalidArgumentError("the answer is nested too deeply");
  Json json = ParseJson(text);
  if (json.is_discarded()) return absl::InvalidArgumentError("the answer is not JSON");
  if (!json.is_object()) return absl::InvalidArgumentError("the answer is not a JSON object");
  return json;
}

absl::StatusOr<std::string> TextOf(const Json& object, absl::string_view name,
                                   std::size_t max_bytes, bool optional) {
  const Json* const value = Member(object, name);
  if (value == nullptr) {
    if (optional) return std::string();
    return Refuse(name, "is missing");
  }
  if (!value->is_string()) return Refuse(name, "must be a text");
  return CleanText(value->get_ref<const std::string&>(), max_bytes);
}

absl::StatusOr<std::string> ChoiceOf(const Json& object, absl::string_view name,
                                     const std::set<std::string>& choices) {
  const Json* const value = Member(object, name);
  if (value == nullptr) return Refuse(name, "is missing");
  return Offered(*value, name, choices);
}

absl::StatusOr<std::vector<std::string>> TextsOf(const Json& object, absl::string_view name,
                                                 std::size_t max_bytes, std::size_t most) {
  GALEN_ASSIGN_OR_RETURN(const Json* list, List(object, name));
  std::vector<std::string> texts;
  for (const Json& item : *list) {
    if (!item.is_string()) return Refuse(name, "must be a list of texts");
    if (texts.size() == most) break;
    std::string text = CleanText(item.get_ref<const std::string&>(), max_bytes);
    if (!absl::StripAsciiWhitespace(text).empty()) texts.push_back(std::move(text));
  }
  return texts;
}

absl::StatusOr<std::vector<std::string>> ChoicesOf(const Json& object, absl::string_view name,
                                                   const std::set<std::string>& choices) {
  GALEN_ASSIGN_OR_RETURN(const Json* list, List(object, name));
  std::vector<std::string> chosen;
  std::set<std::string> seen;
  for (const Json& item : *list) {
    GALEN_ASSIGN_OR_RETURN(std::string choice, Offered(item, name, choices));
    if (!seen.insert(choice).second) {
      return Refuse(name, absl::StrCat("holds ", Quoted(item), " twice"));
    }
    chosen.push_back(std::move(choice));
  }
  return chosen;
}

absl::StatusOr<std::vector<Json>> ObjectsOf(const Json& object, absl::string_view name,
                                            std::size_t most) {
  GALEN_ASSIGN_OR_RETURN(const Json* list, List(object, name));
  if (list->size() > most) {
    return Refuse(name, absl::StrCat("has ", list->size(), " entries, more than ", most));
  }
  std::vector<Json> objects;
  for (const Json& item : *list) {
    if (!item.is_object()) return Refuse(name, "must be a list of objects");
    objects.push_back(item);
  }
  return objects;
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace galen::reasoner::llm
