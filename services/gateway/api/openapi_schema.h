#ifndef SERVICES_GATEWAY_API_OPENAPI_SCHEMA_H_
#define SERVICES_GATEWAY_API_OPENAPI_SCHEMA_H_

#include <google/protobuf/descriptor.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace galen::gateway {

// JSON Schemas (2020-12) of messages in ProtoJSON, each once, under its name.
class SchemaRegistry {
 public:
  // {"$ref": ...}; the message is added to schemas() with everything that it refers to.
  nlohmann::ordered_json Ref(const google::protobuf::Descriptor& message);
  // The schema of one field, without its comment.
  nlohmann::ordered_json Of(const google::protobuf::FieldDescriptor& field);
  // An object with the fields of a message, except those in `leave_out`.
  nlohmann::ordered_json Object(const google::protobuf::Descriptor& message,
                                const std::set<std::string>& leave_out = {});
  const nlohmann::ordered_json& schemas() const { return schemas_; }

 private:
  nlohmann::ordered_json Single(const google::protobuf::FieldDescriptor& field);
  nlohmann::ordered_json schemas_ = nlohmann::ordered_json::object();
};

// The comment before a descriptor, or after it, as running text; "" if there is none.
template <typename Descriptor>
std::string CommentOf(const Descriptor& descriptor);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_OPENAPI_SCHEMA_H_
