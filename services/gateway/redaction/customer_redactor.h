#ifndef SERVICES_GATEWAY_REDACTION_CUSTOMER_REDACTOR_H_
#define SERVICES_GATEWAY_REDACTION_CUSTOMER_REDACTOR_H_

#include <google/protobuf/message.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/hot_swap.h"
#include "common/host/redact.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::gateway {

// Adapts an answer to its audience: the provider sees hardware, hosts and fabric, the customer sees
// its own concerns. knowledge/audience.txt assigns the fields, and each check assigns its output
// (customer_sees). Thread-safe once made.
class CustomerRedactor {
 public:
  // INVALID_ARGUMENT with file and line: an invalid rule, a field that the API does not have, a
  // pattern that RE2 refuses.
  static absl::StatusOr<CustomerRedactor> Parse(absl::string_view text, absl::string_view file);
  // Reads audience.txt of the last directory that has one. NOT_FOUND: none has it; without rules
  // nothing may be shown.
  static absl::StatusOr<CustomerRedactor> Load(
      const std::vector<std::string>& knowledge_directories);

  // Removes what a customer of `tenant` ("acme") must not see from an answer. The text of a
  // withheld field is also removed from other texts.
  void ForCustomer(absl::string_view tenant, google::protobuf::Message& message) const;

  // Sets which output of checks a customer sees. Customers see only the verdict of unknown checks,
  // and so of every check before the first call.
  void Use(const knowledge::v1::KnowledgeBase& knowledge) const;

 private:
  using Levels = std::map<std::string, knowledge::v1::Check::Audience, std::less<>>;  // by check
  CustomerRedactor() = default;
  class Filter;  // over one answer

  std::set<std::string> withheld_;  // full names of fields
  std::set<std::string> own_;       // of fields, and of messages
  host::Redactor redactor_;
  std::unique_ptr<HotSwap<Levels>> levels_ =
      std::make_unique<HotSwap<Levels>>(std::make_shared<const Levels>());
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_REDACTION_CUSTOMER_REDACTOR_H_
