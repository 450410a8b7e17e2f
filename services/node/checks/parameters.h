#ifndef SERVICES_NODE_CHECKS_PARAMETERS_H_
#define SERVICES_NODE_CHECKS_PARAMETERS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "galen/knowledge/v1/knowledge.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::node {

// Values of a check's parameters: what the caller set, and the catalogue's defaults for the rest.
class Parameters {
 public:
  Parameters() = default;

  // INVALID_ARGUMENT: `asked` names a parameter that `spec` does not declare, or a value that is
  // not of its type, lies outside its bounds or is none of its choices.
  static absl::StatusOr<Parameters> Resolve(const knowledge::v1::Check& spec,
                                            const galen::v1::CheckParameters& asked);

  // The value of a declared parameter; 0, false or "" of one that is not declared.
  std::int64_t Integer(absl::string_view name) const;
  double Number(absl::string_view name) const;
  bool Flag(absl::string_view name) const;
  const std::string& Text(absl::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_PARAMETERS_H_
