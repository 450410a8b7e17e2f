#ifndef COMMON_KNOWLEDGE_FIELDS_H_
#define COMMON_KNOWLEDGE_FIELDS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/knowledge/load.h"
#include "common/knowledge/words.h"
#include "common/knowledge/yaml_document.h"
#include "google/protobuf/repeated_ptr_field.h"

namespace galen::knowledge {

// Collects the problems of one file while it is read.
struct FileContext {
  std::string file;
  std::vector<Problem>& problems;

  void Error(int line, std::string text, std::string remedy) const;
};

// The fields of one entry (a YAML map), read by key. A field of the wrong form is a problem and
// reads as absent; so is, once and for all, every key that is not among the known ones.
class Fields {
 public:
  // `what` names the entry in messages: "label", "check". All arguments must outlive this.
  Fields(const FileContext& context, const YamlNode& node, absl::string_view what,
         absl::Span<const absl::string_view> known_keys);

  int line() const { return node_.line; }
  bool Has(absl::string_view key) const { return Find(key) != nullptr; }
  // nullptr when absent or null.
  const YamlNode* Find(absl::string_view key) const;

  std::string Text(absl::string_view key) const;  // "" when absent
  // Like Text; its absence is a problem.
  std::string RequiredText(absl::string_view key) const;
  bool Bool(absl::string_view key) const;  // false when absent
  // A day, YYYY-MM-DD; "" when absent or none (which is a problem).
  std::string Date(absl::string_view key) const;
  std::optional<double> Number(absl::string_view key) const;
  // A list of texts, or one text. Empty when absent.
  void Texts(absl::string_view key, google::protobuf::RepeatedPtrField<std::string>& out) const;
  // The entries of a list of maps.
  std::vector<const YamlNode*> Entries(absl::string_view key) const;
  // A word of a fixed set; nothing when absent or not among them (which is a problem).
  template <typename Enum>
  std::optional<Enum> OneOf(absl::string_view key, absl::Span<const Word<Enum>> words) const {
    const std::string text = Text(key);
    if (text.empty()) return std::nullopt;
    return WordAt(*Find(key), key, words);
  }
  // As OneOf for one given node.
  template <typename Enum>
  std::optional<Enum> WordAt(const YamlNode& node, absl::string_view key,
                             absl::Span<const Word<Enum>> words) const {
    const std::optional<Enum> value = ValueOf(words, node.scalar);
    if (!value.has_value()) ReportWord(node, key, knowledge::Texts(words));
    return value;
  }

  void Error(int line, std::string text, std::string remedy) const {
    context_.Error(line, std::move(text), std::move(remedy));
  }

 private:
  void ReportWord(const YamlNode& node, absl::string_view key,
                  const std::vector<absl::string_view>& words) const;

  const FileContext& context_;
  const YamlNode& node_;
  absl::string_view what_;
};

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_FIELDS_H_
