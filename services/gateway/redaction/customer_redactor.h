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

// One finding has two audiences: the provider sees hardware, hosts and fabric, the customer sees
// what concerns it. Which is which stands in knowledge/audience.txt, and for what a check saw with
// the check (customer_sees). Thread-safe once made.
class CustomerRedactor {
 public:
  // INVALID_ARGUMENT with file and line: a rule that is none, a field that the API does not have, a
  // pattern that RE2 refuses.
  static absl::StatusOr<CustomerRedactor> Parse(absl::string_view text, absl::string_view file);
  // audience.txt of the last of the directories that has one; NOT_FOUND when none does: without
  // rules nothing may be shown.
  static absl::StatusOr<CustomerRedactor> Load(
      const std::vector<std::string>& knowledge_directories);

  // Takes out of an answer what a customer of `tenant` ("acme") is not shown. What a withheld field
  // says is taken out of the texts, too.
  void ForCustomer(absl::string_view tenant, google::protobuf::Message& message) const;

  // From now on: what its checks show a customer. Of a check that is not there the verdict alone is
  // shown, so before the first call that is so of every check.
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
