#ifndef SERVICES_GATEWAY_API_FIELD_FILTER_H_
#define SERVICES_GATEWAY_API_FIELD_FILTER_H_

#include <google/protobuf/message.h>

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::gateway {

// The wanted fields of an answer: paths separated by commas, "name,report.primaryCause.label", in
// proto or JSON names. Paths go through lists: "diagnoses.name,nextPageToken". No path: all fields.
class FieldFilter {
 public:
  FieldFilter() = default;
  // INVALID_ARGUMENT with the path that `type` does not have; also if it is longer than 4 KiB.
  static absl::StatusOr<FieldFilter> Parse(absl::string_view paths,
                                           const google::protobuf::Descriptor& type);

  bool all() const { return wanted_.empty(); }
  // Removes the fields that are not wanted.
  void Apply(google::protobuf::Message& message) const;

 private:
  // By field number. An empty filter below: the whole field.
  std::map<int, FieldFilter> wanted_;
};

// A field by its name in the proto or in JSON; null if there is none.
const google::protobuf::FieldDescriptor* FindField(const google::protobuf::Descriptor& type,
                                                   absl::string_view name);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_FIELD_FILTER_H_
