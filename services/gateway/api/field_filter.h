#ifndef SERVICES_GATEWAY_API_FIELD_FILTER_H_
#define SERVICES_GATEWAY_API_FIELD_FILTER_H_

#include <google/protobuf/message.h>

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::gateway {

// Which fields of an answer are wanted: paths by comma, "name,report.primaryCause.label"; in names
// of either case, and through lists, "diagnoses.name,nextPageToken". No path: all fields.
class FieldFilter {
 public:
  FieldFilter() = default;
  // INVALID_ARGUMENT with the path that `type` does not have; also for more than 4 KiB.
  static absl::StatusOr<FieldFilter> Parse(absl::string_view paths,
                                           const google::protobuf::Descriptor& type);

  bool all() const { return wanted_.empty(); }
  // Takes out what is not wanted.
  void Apply(google::protobuf::Message& message) const;

 private:
  // By field number. An empty filter below: the whole field.
  std::map<int, FieldFilter> wanted_;
};

// A field by its name in the proto or in JSON; null when there is none.
const google::protobuf::FieldDescriptor* FindField(const google::protobuf::Descriptor& type,
                                                   absl::string_view name);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_FIELD_FILTER_H_
