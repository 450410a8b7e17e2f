#include "services/gateway/tickets/template.h"

#include <cstddef>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::gateway::tickets {
namespace {

constexpr absl::string_view kIf = "$if";

struct Slot {
  std::size_t begin = 0;  // of "${"
  std::size_t end = 0;    // behind "}"
  absl::string_view name;
  std::size_t limit = std::numeric_limits<std::size_t>::max();
  bool good = true;
};

std::optional<Slot> NextSlot(absl::string_view text, std::size_t from) {
  Slot slot;
  slot.begin = text.find("${", from);
  if (slot.begin == absl::string_view::npos) return std::nullopt;
  const std::size_t close = text.find('}', slot.begin);
  if (close == absl::string_view::npos) {
    slot.end = text.size();
    slot.good = false;
    return slot;
  }
  slot.end = close + 1;
  slot.name = text.substr(slot.begin + 2, close - slot.begin - 2);
  const std::size_t bar = slot.name.find('|');
  if (bar != absl::string_view::npos) {
    absl::string_view filter = slot.name.substr(bar + 1);
    slot.name = slot.name.substr(0, bar);
    std::uint32_t limit = 0;
    slot.good =
        absl::ConsumePrefix(&filter, "limit:") && absl::SimpleAtoi(filter, &limit) && limit > 0;
    slot.limit = limit;
  }
  return slot;
}

std::string Encoded(absl::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_' ||
        c == '~') {
      encoded += c;
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string OneLine(absl::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  return line;
}

const Json* Find(const Values& values, absl::string_view name) {
  const auto it = values.find(std::string(name));
  return it == values.end() ? nullptr : &it->second;
}

std::string TextOf(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// The slot that a text consists of.
std::optional<Slot> Whole(const std::string& text) {
  const std::optional<Slot> slot = NextSlot(text, 0);
  if (!slot || slot->begin != 0 || slot->end != text.size()) return std::nullopt;
  return slot;
}

bool Empty(const Values& values, absl::string_view name) {
  const Json* value = Find(values, name);
  return value == nullptr || (value->is_string() && value->get_ref<const std::string&>().empty());
}

bool LeftOut(const Json& node, const Values& values) {
  if (node.is_string()) {
    const std::optional<Slot> slot = Whole(node.get_ref<const std::string&>());
    return slot && Empty(values, slot->name);
  }
  if (!node.is_object()) return false;
  const auto it = node.find(std::string(kIf));
  return it != node.end() && it->is_string() && Empty(values, it->get_ref<const std::string&>());
}

}  // namespace

std::string FillText(absl::string_view text, const Values& values, Escaping escaping) {
  std::string filled;
  std::size_t from = 0;
  while (const std::optional<Slot> slot = NextSlot(text, from)) {
    absl::StrAppend(&filled, text.substr(from, slot->begin - from));
    from = slot->end;
    const Json* value = Find(values, slot->name);
    if (value == nullptr) continue;
    std::string put = TextOf(*value);
    if (put.size() > slot->limit) put = CleanText(put, slot->limit);
    if (escaping == Escaping::kHeader) put = OneLine(put);
    if (escaping == Escaping::kUrl && !absl::StartsWith(put, "http://") &&
        !absl::StartsWith(put, "https://")) {
      put = Encoded(put);
    }
    absl::StrAppend(&filled, put);
  }
  absl::StrAppend(&filled, text.substr(from));
  return filled;
}

Json FillJson(const Json& tree, const Values& values) {
  if (tree.is_string()) {
    const auto& text = tree.get_ref<const std::string&>();
    if (const std::optional<Slot> slot = Whole(text)) {
      const Json* value = Find(values, slot->name);
      if (value != nullptr && !value->is_string()) return *value;
    }
    return FillText(text, values, Escaping::kNone);
  }
  if (tree.is_array()) {
    Json filled = Json::array();
    for (const Json& item : tree) {
      if (!LeftOut(item, values)) filled.push_back(FillJson(item, values));
    }
    return filled;
  }
  if (tree.is_object()) {
    Json filled = Json::object();
    for (const auto& [name, value] : tree.items()) {
      if (name != kIf && !LeftOut(value, values)) filled[name] = FillJson(value, values);
    }
    return filled;
  }
  return tree;
}

absl::Status CheckText(absl::string_view text, const Knows& known) {
  std::size_t from = 0;
  while (const std::optional<Slot> slot = NextSlot(text, from)) {
    from = slot->end;
    const absl::string_view shown = text.substr(slot->begin, slot->end - slot->begin);
    if (!slot->good) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", CleanText(shown, 80), "\" cannot be read; write ${name} or ${name|limit:80}"));
    }
    if (!known(slot->name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", CleanText(shown, 80), "\": there is no such value here"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckJson(const Json& tree, const Knows& known) {
  if (tree.is_string()) return CheckText(tree.get_ref<const std::string&>(), known);
  if (!tree.is_structured()) return absl::OkStatus();
  for (const auto& [name, value] : tree.items()) {
    if (tree.is_object() && name == kIf) {
      if (value.is_string() && known(value.get_ref<const std::string&>())) continue;
      return absl::InvalidArgumentError("\"$if\": name an existing value");
    }
    GALEN_RETURN_IF_ERROR(CheckJson(value, known));
  }
  return absl::OkStatus();
}

}  // namespace galen::gateway::tickets
