#include "common/yaml/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <istream>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/yaml/yaml_text.h"

namespace galen {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxValues = 1'000'000;
constexpr std::size_t kMaxQuoted = std::size_t{16} << 20;

int LineOf(const YAML::Mark& mark) { return mark.line + 1; }

// Builds the values from the parser's events and stops it, by throwing a YamlFault, at the first
// thing that is not allowed: before the tree has grown, not after.
class Builder final : public YAML::EventHandler {
 public:
  Builder(Yaml& root, bool text_only) : text_only_(text_only) {
    open_.push_back({&root, {}, {}, 0});
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { RefuseAnchor(mark); }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(mark, anchor, Yaml::Kind::kNull, "");
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    if (text_only_ && (!IsUtf8(value) || absl::StrContains(value, '\0'))) {
      throw YamlFault{LineOf(mark), "a text is not valid UTF-8", "write it as UTF-8 without NUL"};
    }
    Add(mark, anchor, Yaml::Kind::kScalar, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Begin(mark, anchor, Yaml::Kind::kList);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Begin(mark, anchor, Yaml::Kind::kMap);
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  struct Level {
    Yaml* value;                      // the list or map that is being filled; the root at level 0
    std::map<std::string, int> keys;  // of a map, with their lines
    std::string key;                  // read and waiting for its value
    int key_line;                     // its line; 0: none waits
  };

  [[noreturn]] static void RefuseAnchor(const YAML::Mark& mark) {
    throw YamlFault{LineOf(mark), "anchors and aliases (& and *) are not allowed",
                    "write the value out, or put it in quotes when it is meant as text"};
  }

  // The value that an event fills; null when the scalar is the key of a map.
  Yaml* Slot(const YAML::Mark& mark, YAML::anchor_t anchor, Yaml::Kind kind,
             const std::string& scalar) {
    const int line = LineOf(mark);
    if (anchor != 0) RefuseAnchor(mark);
    if (++values_ > kMaxValues) {
      throw YamlFault{line, absl::StrCat("more than ", kMaxValues, " values"), "split the file"};
    }
    Level& level = open_.back();
    if (open_.size() == 1) return level.value;
    if (level.value->kind == Yaml::Kind::kList) return &level.value->items.emplace_back();
    if (level.key_line == 0) {
      if (kind != Yaml::Kind::kScalar) {
        throw YamlFault{line, "a key is not a plain word",
                        "write `key: value`; is a bracket before it not closed?"};
      }
      const auto [first, added] = level.keys.emplace(scalar, line);
      if (!added) {
        throw YamlFault{
            line, absl::StrCat("key \"", CleanText(scalar, 64), "\" occurs twice in one entry"),
            absl::StrCat("remove one; the first is on line ", first->second)};
      }
      level.key = scalar;
      level.key_line = line;
      return nullptr;
    }
    level.value->fields.push_back({std::move(level.key), Yaml{}});
    Yaml& value = level.value->fields.back().value;
    value.key_line = std::exchange(level.key_line, 0);
    return &value;
  }

  void Add(const YAML::Mark& mark, YAML::anchor_t anchor, Yaml::Kind kind,
           const std::string& scalar) {
    Yaml* const slot = Slot(mark, anchor, kind, scalar);
    if (slot == nullptr) return;
    slot->kind = kind;
    slot->scalar = scalar;
    slot->line = LineOf(mark);
  }

  // (yaml-cpp marks a block list or map that follows a key at its first item.)
  void Begin(const YAML::Mark& mark, YAML::anchor_t anchor, Yaml::Kind kind) {
    Yaml* const slot = Slot(mark, anchor, kind, "");
    if (open_.size() > kMaxDepth) {
      throw YamlFault{LineOf(mark), absl::StrCat("nested deeper than ", kMaxDepth, " levels"),
                      "flatten it"};
    }
    slot->kind = kind;
    slot->line = LineOf(mark);
    open_.push_back({slot, {}, {}, 0});
  }

  const bool text_only_;
  std::vector<Level> open_;
  std::size_t values_ = 0;
};

absl::Status At(int line, absl::string_view file, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file, ":", line, ": ", what));
}

}  // namespace

const Yaml* Yaml::Find(absl::string_view key) const {
  for (const auto& [name, value] : fields) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::optional<YamlFault> ReadYaml(absl::string_view text, Yaml& root, bool text_only) {
  root = {};
  if (text.size() > kMaxYamlBytes) {
    return YamlFault{0, absl::StrCat("the file is larger than ", kMaxYamlBytes >> 20, " MiB"),
                     "split it"};
  }
  if (text_only && (!IsUtf8(text) || absl::StrContains(text, '\0'))) {
    return YamlFault{0, "the file is not UTF-8 text", "save it as UTF-8"};
  }
  try {
    YamlTextBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    Builder builder(root, text_only);
    if (!parser.HandleNextDocument(builder)) return std::nullopt;
    Yaml second;
    Builder rest(second, text_only);
    if (!parser.HandleNextDocument(rest)) return std::nullopt;
    return YamlFault{second.line, "a second document (---) starts in this file",
                     "put it into a file of its own"};
  } catch (const YamlFault& fault) {
    return fault;
  } catch (const YAML::Exception& error) {
    return YamlFault{error.mark.is_null() ? 1 : LineOf(error.mark),
                     absl::StrCat("not valid YAML: ", CleanText(error.msg, 200)),
                     "check indentation, quotes and colons there"};
  } catch (const std::exception& error) {
    return YamlFault{1, absl::StrCat("not valid YAML: ", CleanText(error.what(), 200)),
                     "check the syntax of the file"};
  }
}

absl::StatusOr<Yaml> ParseYaml(absl::string_view text, absl::string_view file) {
  Yaml root;
  if (const std::optional<YamlFault> fault = ReadYaml(text, root)) {
    return At(std::max(fault->line, 1), file, absl::StrCat(fault->what, "; ", fault->remedy));
  }
  return root;
}

absl::Status YamlError(const Yaml& at, absl::string_view file, absl::string_view what) {
  return At(at.line, file, what);
}

absl::StatusOr<std::string> YamlText(const Yaml& value, absl::string_view file,
                                     absl::string_view field) {
  if (value.kind == Yaml::Kind::kNull) return std::string();
  if (value.kind != Yaml::Kind::kScalar) {
    return YamlError(value, file, absl::StrCat(field, ": is not a text; write one value"));
  }
  return value.scalar;
}

absl::StatusOr<std::int64_t> YamlInteger(const Yaml& value, absl::string_view file,
                                         absl::string_view field) {
  std::int64_t number = 0;
  if (value.kind != Yaml::Kind::kScalar || !absl::SimpleAtoi(value.scalar, &number)) {
    return YamlError(value, file, absl::StrCat(field, ": is not a whole number"));
  }
  return number;
}

absl::StatusOr<bool> YamlBool(const Yaml& value, absl::string_view file, absl::string_view field) {
  const std::string text = absl::AsciiStrToLower(value.scalar);
  if (value.kind == Yaml::Kind::kScalar && text == "true") return true;
  if (value.kind == Yaml::Kind::kScalar && text == "false") return false;
  return YamlError(value, file, absl::StrCat(field, ": is neither true nor false"));
}

absl::StatusOr<std::vector<std::string>> YamlTexts(const Yaml& value, absl::string_view file,
                                                   absl::string_view field) {
  if (value.kind != Yaml::Kind::kNull && value.kind != Yaml::Kind::kList) {
    return YamlError(value, file, absl::StrCat(field, ": is not a list; write [a, b]"));
  }
  std::vector<std::string> texts;
  texts.reserve(value.items.size());
  for (const Yaml& item : value.items) {
    GALEN_ASSIGN_OR_RETURN(std::string text, YamlText(item, file, field));
    texts.push_back(std::move(text));
  }
  return texts;
}

absl::StatusOr<absl::Span<const Yaml>> YamlItems(const Yaml& map, absl::string_view file,
                                                 absl::string_view field) {
  const Yaml* const value = map.Find(field);
  if (value == nullptr || value->kind == Yaml::Kind::kNull) return absl::Span<const Yaml>();
  if (value->kind == Yaml::Kind::kList) return absl::MakeConstSpan(value->items);
  return YamlError(*value, file,
                   absl::StrCat(field, ": is not a list; begin each entry with a dash"));
}

absl::StatusOr<std::string> YamlNeeded(const Yaml& map, absl::string_view file,
                                       absl::string_view field) {
  const Yaml* const value = map.Find(field);
  if (value == nullptr) return YamlError(map, file, absl::StrCat("needs ", field));
  return YamlText(*value, file, field);
}

absl::Status YamlFields(const Yaml& map, absl::string_view file,
                        absl::Span<const absl::string_view> known) {
  if (map.kind != Yaml::Kind::kMap) return YamlError(map, file, "is not a map of fields");
  for (const Yaml::Field& field : map.fields) {
    if (std::find(known.begin(), known.end(), field.name) != known.end()) continue;
    return YamlError(field.value, file,
                     absl::StrCat(field.name, ": unknown; there are ", absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, std::string>> YamlTextMap(const Yaml& value,
                                                               absl::string_view file,
                                                               absl::string_view field) {
  if (value.kind != Yaml::Kind::kNull && value.kind != Yaml::Kind::kMap) {
    return YamlError(value, file, absl::StrCat(field, ": is not a map; write name: value"));
  }
  std::map<std::string, std::string> texts;
  for (const auto& [name, item] : value.fields) {
    GALEN_ASSIGN_OR_RETURN(texts[name], YamlText(item, file, absl::StrCat(field, ".", name)));
  }
  return texts;
}

std::string YamlQuote(absl::string_view text) {
  // Escapes are written before cleaning, which would turn control characters into spaces.
  std::string escaped;
  escaped.reserve(text.size() + 2);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      escaped += {'\\', c};
    } else if (c == '\n') {
      escaped += "\\n";
    } else if (c == '\t') {
      escaped += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&escaped, "\\x%02x", byte);
    } else {
      escaped += c;
    }
  }
  return absl::StrCat("\"", CleanText(escaped, kMaxQuoted), "\"");
}

}  // namespace galen
