#include "common/host/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <istream>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/base/yaml_text.h"

namespace galen::host {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxValues = 500'000;
constexpr std::size_t kMaxQuoted = std::size_t{16} << 20;

// Builds the values from the parser's events. What the format does not allow is thrown as the
// parser's own exception, so that both kinds of error carry a line and are caught in one place.
class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(Yaml& root) { open_.push_back({&root, {}, {}, false}); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw YAML::ParserException(mark, "aliases are not allowed; write the value out");
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(mark, anchor, Yaml::Kind::kNull, "");
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
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
    Yaml* value;                 // the list or map that is being filled; the root at level 0
    std::set<std::string> keys;  // of a map
    std::string key;             // read and waiting for its value
    bool has_key;
  };

  // The value that an event fills; null when the scalar is the key of a map.
  Yaml* Slot(const YAML::Mark& mark, YAML::anchor_t anchor, Yaml::Kind kind,
             const std::string& scalar) {
    if (anchor != 0) {
      throw YAML::ParserException(mark, "anchors are not allowed; write the value out");
    }
    if (++values_ > kMaxValues) {
      throw YAML::ParserException(mark, absl::StrCat("more than ", kMaxValues, " values"));
    }
    Level& level = open_.back();
    if (open_.size() == 1) return level.value;
    if (level.value->kind == Yaml::Kind::kList) return &level.value->items.emplace_back();
    if (!level.has_key) {
      if (kind != Yaml::Kind::kScalar)
        throw YAML::ParserException(mark,
                                    "a key must be plain text; is a bracket before it not closed?");
      if (!level.keys.insert(scalar).second) {
        throw YAML::ParserException(
            mark, absl::StrCat("key \"", CleanText(scalar, 64), "\" is given twice; keep one"));
      }
      level.key = scalar;
      level.has_key = true;
      return nullptr;
    }
    level.has_key = false;
    level.value->fields.push_back({std::move(level.key), Yaml{}});
    return &level.value->fields.back().value;
  }

  void Add(const YAML::Mark& mark, YAML::anchor_t anchor, Yaml::Kind kind,
           const std::string& scalar) {
    Yaml* const slot = Slot(mark, anchor, kind, scalar);
    if (slot == nullptr) return;
    slot->kind = kind;
    slot->scalar = scalar;
    slot->line = mark.line + 1;
  }

  void Begin(const YAML::Mark& mark, YAML::anchor_t anchor, Yaml::Kind kind) {
    Yaml* const slot = Slot(mark, anchor, kind, "");
    if (open_.size() > kMaxDepth) {
      throw YAML::ParserException(mark, absl::StrCat("nested deeper than ", kMaxDepth, " levels"));
    }
    slot->kind = kind;
    slot->line = mark.line + 1;
    open_.push_back({slot, {}, {}, false});
  }

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

absl::StatusOr<Yaml> ParseYaml(absl::string_view text, absl::string_view file) {
  if (text.size() > kMaxBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": ", text.size(), " bytes are more than the ", kMaxBytes, " that are read"));
  }
  Yaml root;
  try {
    YamlTextBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    Builder builder(root);
    if (!parser.HandleNextDocument(builder)) return root;
    Yaml second;
    Builder rest(second);
    if (parser.HandleNextDocument(rest)) {
      return At(second.line, file, "a second document begins; keep one document in the file");
    }
  } catch (const YAML::Exception& error) {
    // A null mark has line -1.
    return At(error.mark.line < 0 ? 1 : error.mark.line + 1, file, CleanText(error.msg, 200));
  } catch (const std::exception& error) {
    return At(1, file, absl::StrCat(CleanText(error.what(), 200), "; is this YAML?"));
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
  if (map.kind != Yaml::Kind::kMap) return YamlError(map, file, "is no map of fields");
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

}  // namespace galen::host
