#ifndef SERVICES_GATEWAY_WEBHOOKS_YAML_READER_H_
#define SERVICES_GATEWAY_WEBHOOKS_YAML_READER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/knowledge/fields.h"
#include "services/gateway/webhooks/sender.h"

// The common part of the files of senders and of endpoints. For this folder alone.
namespace galen::gateway::webhooks {

// Every problem on a line of its own, as INVALID_ARGUMENT; OK if there is none.
absl::Status ToStatus(const std::vector<knowledge::Problem>& problems);

// Reads the parts of an entry; an invalid part is a problem at its line.
class PartReader {
 public:
  PartReader(const knowledge::Fields& fields, const knowledge::FileContext& context)
      : fields_(fields), context_(context) {}

  std::vector<std::string> Texts(absl::string_view key) const;
  std::map<std::string, std::string> TextMap(absl::string_view key) const;
  std::optional<Pointer> PointerAt(absl::string_view key) const;
  std::optional<Selector> SelectorAt(absl::string_view key) const;
  std::vector<Selector> Selectors(absl::string_view key) const;
  Template TemplateAt(absl::string_view key) const;
  std::map<std::string, Template> Templates(absl::string_view key) const;
  std::vector<Condition> Conditions(absl::string_view key) const;
  // A whole number within bounds; `otherwise` if it is absent.
  int Integer(absl::string_view key, int least, int most, int otherwise) const;
  absl::Duration DurationAt(absl::string_view key, absl::Duration least, absl::Duration most,
                            absl::Duration otherwise) const;
  bool BoolAt(absl::string_view key, bool otherwise) const;

  // Nothing, and a problem at `line`, if it failed.
  template <typename T>
  std::optional<T> Take(absl::StatusOr<T> made, int line, absl::string_view remedy) const {
    if (made.ok()) return *std::move(made);
    context_.Error(line, std::string(made.status().message()), std::string(remedy));
    return std::nullopt;
  }

 private:
  // Keys and scalar values of a map.
  std::vector<const knowledge::YamlNode::Field*> Pairs(absl::string_view key) const;

  const knowledge::Fields& fields_;
  const knowledge::FileContext& context_;
};

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_YAML_READER_H_
