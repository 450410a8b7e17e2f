#include "services/gateway/webhooks/document.h"

#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/json_access.h"
#include "common/base/json_depth.h"
#include "common/base/text.h"

namespace galen::gateway::webhooks {
namespace {

using nlohmann::json;

constexpr std::size_t kMostSteps = 32;
constexpr std::size_t kMostNames = 200;

bool IsScalar(const json& value) {
  return value.is_string() || value.is_number() || value.is_boolean();
}

std::string ScalarText(const json& value) {
  return value.is_string() ? value.get_ref<const std::string&>() : value.dump();
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool DecodeForm(absl::string_view text, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size()) return false;
      const int high = HexDigit(text[i + 1]);
      const int low = HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return false;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return IsUtf8(out);
}

}  // namespace

absl::StatusOr<Pointer> Pointer::Parse(absl::string_view text) {
  Pointer pointer;
  if (text.empty()) return pointer;
  if (text[0] != '/') {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", CleanText(text, 80), "\" is not a place in a body: it begins with \"/\""));
  }
  for (const absl::string_view step : absl::StrSplit(text.substr(1), '/')) {
    pointer.steps_.push_back(absl::StrReplaceAll(step, {{"~1", "/"}, {"~0", "~"}}));
  }
  if (pointer.steps_.size() > kMostSteps) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", CleanText(text, 80), "\" has more than ", kMostSteps, " steps"));
  }
  return pointer;
}

Document::Document() : json_(std::make_shared<const json>(json::object())) {}

absl::StatusOr<Document> Document::FromJson(absl::string_view body) {
  if (JsonNestsDeeperThan(body, kMostDepth)) {
    return absl::InvalidArgumentError(
        absl::StrCat("body: is nested deeper than ", kMostDepth, " levels"));
  }
  json read = ParseJson(body);
  if (read.is_discarded()) return absl::InvalidArgumentError("body: is not JSON");
  return Document(std::make_shared<const json>(std::move(read)));
}

absl::StatusOr<Document> Document::FromForm(absl::string_view body) {
  json form = json::object();
  std::string name;
  std::string value;
  for (const absl::string_view pair : absl::StrSplit(body, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    if (!DecodeForm(parts.first, name) || !DecodeForm(parts.second, value)) {
      return absl::InvalidArgumentError("body: is not a form (application/x-www-form-urlencoded)");
    }
    if (form.size() >= kMostNames) {
      return absl::InvalidArgumentError(
          absl::StrCat("body: a form of more than ", kMostNames, " names"));
    }
    form.emplace(name, value);
  }
  return Document(std::make_shared<const json>(std::move(form)));
}

std::vector<const Document::Json*> Document::Find(const Pointer& pointer) const {
  std::vector<const json*> found = {json_.get()};
  for (const std::string& step : pointer.steps()) {
    std::vector<const json*> next;
    for (const json* const at : found) {
      if (step == "*" && (at->is_array() || at->is_object())) {
        for (const json& item : *at) {
          if (next.size() >= kMostFound) break;
          next.push_back(&item);
        }
      } else if (at->is_object()) {
        const auto it = at->find(step);
        if (it != at->end()) next.push_back(&*it);
      } else if (std::size_t index = 0;
                 at->is_array() && absl::SimpleAtoi(step, &index) && index < at->size()) {
        next.push_back(&(*at)[index]);
      }
    }
    found = std::move(next);
  }
  return found;
}

std::vector<std::string> Document::Texts(const Pointer& pointer) const {
  std::vector<std::string> texts;
  for (const json* const value : Find(pointer)) {
    if (IsScalar(*value)) texts.push_back(ScalarText(*value));
  }
  return texts;
}

std::string Document::Text(const Pointer& pointer) const {
  for (const json* const value : Find(pointer)) {
    if (IsScalar(*value)) return ScalarText(*value);
  }
  return "";
}

std::vector<Document> Document::Parts(const Pointer& pointer) const {
  std::vector<Document> parts;
  for (const json* const value : Find(pointer)) {
    parts.push_back(Document(std::shared_ptr<const json>(json_, value)));
  }
  return parts;
}

Document Document::Within(const Pointer& pointer) const {
  json whole = json::object();
  json* at = &whole;
  for (const std::string& step : pointer.steps()) at = &(*at)[step];
  *at = *json_;
  return Document(std::make_shared<const json>(std::move(whole)));
}

void Document::Set(const Pointer& pointer, absl::string_view text) {
  json whole = *json_;
  json* at = &whole;
  for (const std::string& step : pointer.steps()) {
    if (!at->is_object()) *at = json::object();
    at = &(*at)[step];
  }
  *at = std::string(text);
  json_ = std::make_shared<const json>(std::move(whole));
}

std::string Document::ToJson() const {
  return json_->dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
}

}  // namespace galen::gateway::webhooks
