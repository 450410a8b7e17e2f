#ifndef TESTS_UNIT_SERVICES_NODE_CHECKS_CHECK_TESTING_H_
#define TESTS_UNIT_SERVICES_NODE_CHECKS_CHECK_TESTING_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

inline const knowledge::Knowledge& NoKnowledge() {
  static const knowledge::Knowledge none{knowledge::v1::KnowledgeBase()};
  return none;
}

// "name=value" of a finding; "?" for one without a value; an event by its code.
inline std::string Shown(const v1::Finding& finding) {
  switch (finding.value_case()) {
    case v1::Finding::kBoolValue:
      return finding.bool_value() ? "true" : "false";
    case v1::Finding::kIntValue:
      return absl::StrCat(finding.int_value());
    case v1::Finding::kDoubleValue:
      return absl::StrCat(finding.double_value());
    case v1::Finding::kTextValue:
      return finding.text_value();
    case v1::Finding::kEventValue:
      return absl::StrCat(finding.event_value().code(), "*", finding.event_value().count());
    case v1::Finding::VALUE_NOT_SET:
      return "?";
  }
  return "?";
}

// The value of the finding `name` of `device`; "absent" if it is missing.
inline std::string ValueOf(const CheckOutput& output, absl::string_view name,
                           absl::string_view device = "") {
  for (const v1::Finding& finding : output.findings) {
    if (finding.name() == name && finding.subject().device() == device) return Shown(finding);
  }
  return "absent";
}

}  // namespace galen::node

#endif  // TESTS_UNIT_SERVICES_NODE_CHECKS_CHECK_TESTING_H_
