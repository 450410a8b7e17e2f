#ifndef COMMON_KNOWLEDGE_WRITE_YAML_H_
#define COMMON_KNOWLEDGE_WRITE_YAML_H_

#include <string>

#include "absl/strings/string_view.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::knowledge {

// `text` on one line as YAML that reads back as the same text, within `[...]` and `{...}` too:
// plain where that is safe, else in quotes. `text` is UTF-8. Pure.
std::string YamlScalar(absl::string_view text);

// "key: text" and a line end, `indent` columns in; a long or many-lined text as a block below.
std::string YamlText(int indent, absl::string_view key, absl::string_view text);

// Labels, signals, checks and past incidents as a knowledge file: Parse() gives the same entries
// back, but for their sources. A signal without an id goes into the label that it names first.
// Checks are written as far as a site declares them: kinds extract and exec. Conditions `with` of
// rules, error codes and hardware are left out. Pure.
std::string ToYaml(const v1::KnowledgeBase& base);

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_WRITE_YAML_H_
