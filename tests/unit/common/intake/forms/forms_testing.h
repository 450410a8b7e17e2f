#ifndef TESTS_UNIT_COMMON_INTAKE_FORMS_FORMS_TESTING_H_
#define TESTS_UNIT_COMMON_INTAKE_FORMS_FORMS_TESTING_H_

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/intake/forms/forms.h"

namespace galen::intake {

// The text of a conversion, or the error of one that fails.
inline std::string TextOf(absl::string_view form, absl::string_view text,
                          absl::string_view command = "") {
  const absl::StatusOr<Converted> converted = Convert(form, text, command);
  return converted.ok() ? converted->text : converted.status().ToString();
}

inline bool IsPartial(absl::string_view form, absl::string_view text,
                      absl::string_view command = "") {
  const absl::StatusOr<Converted> converted = Convert(form, text, command);
  return converted.ok() && converted->partial;
}

// Whether the text is refused because it does not have this form.
inline bool IsRefused(absl::string_view form, absl::string_view text,
                      absl::string_view command = "") {
  return Convert(form, text, command).status().code() == absl::StatusCode::kInvalidArgument;
}

// The values of an XML text with one element per line, by their paths: "gpu0/pci/pci_bus_id".
// Values of repeated elements, other than GPUs, are joined by commas; an element without content
// has an empty value.
inline std::map<std::string, std::string> XmlValues(absl::string_view xml) {
  std::map<std::string, std::string> values;
  std::vector<std::string> open;
  int gpus = 0;
  for (absl::string_view line : absl::StrSplit(xml, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.size() < 3 || line[0] != '<' || line[1] == '?' || line[1] == '!') continue;
    if (line[1] == '/') {
      if (!open.empty()) open.pop_back();
      continue;
    }
    const std::size_t end = line.find('>');
    std::string tag(line.substr(1, end - 1));
    tag.resize(std::min(tag.find(' '), tag.size()));
    if (tag == "gpu") tag = absl::StrCat("gpu", gpus++);
    open.push_back(tag);
    if (open.size() == 1) continue;  // the root
    const std::string path = absl::StrJoin(open.begin() + 1, open.end(), "/");
    const std::size_t close = line.find("</", end);
    std::string& value = values[path];
    if (close == absl::string_view::npos) continue;
    absl::StrAppend(&value, value.empty() ? "" : ",", line.substr(end + 1, close - end - 1));
    open.pop_back();
  }
  return values;
}

}  // namespace galen::intake

#endif  // TESTS_UNIT_COMMON_INTAKE_FORMS_FORMS_TESTING_H_
