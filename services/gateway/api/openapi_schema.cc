#include "services/gateway/api/openapi_schema.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace galen::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using Json = nlohmann::ordered_json;

// Messages with a special form in ProtoJSON; null for all others.
Json WellKnown(const Descriptor& message) {
  const std::string& name = message.full_name();
  if (name == "google.protobuf.Timestamp") return {{"type", "string"}, {"format", "date-time"}};
  if (name == "google.protobuf.Duration") {
    return {{"type", "string"}, {"pattern", "^-?\\d+(\\.\\d{1,9})?s$"}};
  }
  if (name == "google.protobuf.Any") {
    return {{"type", "object"},
            {"properties", {{"@type", {{"type", "string"}}}}},
            {"required", {"@type"}},
            {"additionalProperties", true}};
  }
  return nullptr;
}

}  // namespace

template <typename Described>
std::string CommentOf(const Described& descriptor) {
  google::protobuf::SourceLocation location;
  if (!descriptor.GetSourceLocation(&location)) return "";
  const std::string& comment =
      location.leading_comments.empty() ? location.trailing_comments : location.leading_comments;
  std::vector<absl::string_view> lines;
  for (const absl::string_view line : absl::StrSplit(comment, '\n', absl::SkipWhitespace())) {
    lines.push_back(absl::StripAsciiWhitespace(line));
  }
  return absl::StrJoin(lines, " ");
}
template std::string CommentOf(const google::protobuf::MethodDescriptor&);
template std::string CommentOf(const google::protobuf::Descriptor&);
template std::string CommentOf(const FieldDescriptor&);
template std::string CommentOf(const google::protobuf::ServiceDescriptor&);

Json SchemaRegistry::Ref(const Descriptor& message) {
  const std::string name = message.full_name();
  if (!schemas_.contains(name)) {
    schemas_[name] = nullptr;  // a message may hold itself
    Json made = WellKnown(message);
    if (made.is_null()) made = Object(message);
    schemas_[name] = std::move(made);
  }
  return {{"$ref", absl::StrCat("#/components/schemas/", name)}};
}

Json SchemaRegistry::Object(const Descriptor& message, const std::set<std::string>& leave_out) {
  Json object = {{"type", "object"}};
  if (const std::string comment = CommentOf(message); !comment.empty()) {
    object["description"] = comment;
  }
  Json properties = Json::object();
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (leave_out.count(field.name()) > 0) continue;
    Json schema = Of(field);
    if (const std::string comment = CommentOf(field); !comment.empty()) {
      schema["description"] = comment;
    }
    properties[field.json_name()] = std::move(schema);
  }
  object["properties"] = std::move(properties);
  return object;
}

Json SchemaRegistry::Of(const FieldDescriptor& field) {
  if (field.is_map()) {
    return {{"type", "object"},
            {"additionalProperties", Single(*field.message_type()->FindFieldByNumber(2))}};
  }
  if (field.is_repeated()) return {{"type", "array"}, {"items", Single(field)}};
  return Single(field);
}

Json SchemaRegistry::Single(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.type() == FieldDescriptor::TYPE_BYTES) {
        return {{"type", "string"}, {"contentEncoding", "base64"}};
      }
      return {{"type", "string"}};
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_UINT32:
      return {{"type", "integer"}, {"format", "int32"}};
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
      return {{"type", "string"}, {"format", "int64"}};
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return {{"type", "number"}, {"format", "double"}};
    case FieldDescriptor::CPPTYPE_BOOL:
      return {{"type", "boolean"}};
    case FieldDescriptor::CPPTYPE_ENUM: {
      // Open: a client must accept values that are not in this list yet.
      Json values = Json::array();
      for (int i = 0; i < field.enum_type()->value_count(); ++i) {
        values.push_back(field.enum_type()->value(i)->name());
      }
      return {{"type", "string"}, {"x-extensible-enum", std::move(values)}};
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Ref(*field.message_type());
  }
  return {};
}

}  // namespace galen::gateway
