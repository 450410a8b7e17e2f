#include "services/gateway/api/transcode.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/json_strict.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "services/gateway/api/errors.h"

namespace galen::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int kMaxParameters = 100;
constexpr std::size_t kMaxShown = 200;

// Turns an error of the JSON reader into one with the field's path from the request: "(a.b) c:
// Cannot find field." is field a.b.c, "(a.b): invalid value ..." is field a.b.
absl::Status JsonError(absl::string_view message, const std::string& body) {
  constexpr absl::string_view kUnknown = ": Cannot find field.";
  absl::string_view rest = message;
  std::string field = body == "*" ? "" : body;
  const auto add = [&field](absl::string_view more) {
    if (!more.empty()) absl::StrAppend(&field, field.empty() ? "" : ".", more);
  };
  if (absl::ConsumePrefix(&rest, "(")) {
    const std::size_t close = rest.find(')');
    if (close != absl::string_view::npos) {
      add(rest.substr(0, close));
      rest = absl::StripLeadingAsciiWhitespace(rest.substr(close + 1));
    }
  }
  if (absl::ConsumeSuffix(&rest, kUnknown)) {
    add(CleanText(rest, kMaxShown));
    return FieldError(field, "there is no such field", "UNKNOWN_FIELD");
  }
  absl::ConsumePrefix(&rest, ": ");
  return FieldError(field, CleanText(rest, kMaxShown), "INVALID_JSON");
}

absl::Status ParseBody(const Route& route, const http::Request& request, Message& message) {
  if (route.body.empty()) {
    if (request.body.empty()) return absl::OkStatus();
    return WithReason(absl::InvalidArgumentError("this method takes no body"), "UNEXPECTED_BODY");
  }
  if (request.headers.Has("Content-Encoding")) {
    return WithReason(absl::InvalidArgumentError("a body is taken uncompressed alone"),
                      "CONTENT_ENCODING");
  }
  const absl::string_view type = request.headers.Get("Content-Type");
  if (!request.body.empty() && !type.empty() &&
      !absl::StartsWithIgnoreCase(type, "application/json")) {
    return WithReason(
        absl::InvalidArgumentError(absl::StrCat("Content-Type: \"", CleanText(type, kMaxShown),
                                                "\" is not application/json")),
        "CONTENT_TYPE");
  }
  if (!IsUtf8(request.body)) {
    return WithReason(absl::InvalidArgumentError("the body is not valid UTF-8"), "INVALID_JSON");
  }
  Message* target = &message;
  if (route.body != "*") {
    const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(route.body);
    target = message.GetReflection()->MutableMessage(&message, field);
  }
  if (absl::StripAsciiWhitespace(request.body).empty()) return absl::OkStatus();
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = false;
  const auto parsed = google::protobuf::util::JsonStringToMessage(request.body, target, options);
  if (parsed.ok()) {
    // The reader of protobuf accepts more than JSON, and takes the last of two values for one name,
    // where other readers take the first.
    if (!ParseStrictJson(request.body).is_discarded()) return absl::OkStatus();
    return FieldError(route.body == "*" ? "" : route.body,
                      "the body is not JSON (RFC 8259), or has a name twice in one object",
                      "INVALID_JSON");
  }
  const auto message_text = parsed.message();
  return JsonError({message_text.data(), message_text.size()}, route.body);
}

// Sets one field that is not a message from its text.
absl::Status SetField(Message& message, const FieldDescriptor& field, absl::string_view shown,
                      const std::string& text) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const auto bad = [&](absl::string_view what) {
    return FieldError(shown, absl::StrCat("\"", CleanText(text, kMaxShown), "\" is not ", what));
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.type() == FieldDescriptor::TYPE_STRING && IsUtf8(text)) {
        reflection.SetString(&message, &field, text);
        return absl::OkStatus();
      }
      return bad("valid UTF-8");
    case FieldDescriptor::CPPTYPE_INT32: {
      std::int32_t number = 0;
      if (!absl::SimpleAtoi(text, &number)) return bad("a number of 32 bits");
      reflection.SetInt32(&message, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      std::int64_t number = 0;
      if (!absl::SimpleAtoi(text, &number)) return bad("a number of 64 bits");
      reflection.SetInt64(&message, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      if (text != "true" && text != "false") return bad("true or false");
      reflection.SetBool(&message, &field, text == "true");
      return absl::OkStatus();
    default:
      return FieldError(shown, "cannot be set in the query", "UNKNOWN_FIELD");
  }
}

absl::Status ApplyQuery(const Match& match, const Query& query, Message& message,
                        std::string& fields) {
  std::set<std::string> seen;
  for (const auto& [name, value] : query) {
    const std::string shown = CleanText(name, kMaxShown);
    if (!seen.insert(name).second) return FieldError(shown, "appears in the query twice");
    if (name == "fields" || name == "$fields") {
      fields = value;
      continue;
    }
    const FieldDescriptor* field = FindField(*message.GetDescriptor(), name);
    // Fields of the body are not allowed in the query; with "*" these are all fields.
    const bool elsewhere = field == nullptr || match.route->body == "*" ||
                           match.route->body == field->name() ||
                           match.fields.count(field->name()) > 0 || field->is_repeated();
    if (elsewhere) return FieldError(shown, "there is no such parameter", "UNKNOWN_FIELD");
    if (!seen.insert(field->name()).second && name != field->name()) {
      return FieldError(shown, "appears in the query twice");
    }
    GALEN_RETURN_IF_ERROR(SetField(message, *field, shown, value));
  }
  return absl::OkStatus();
}

// The fields of the path; a body that contradicts them is refused.
absl::Status ApplyPath(const Match& match, Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  for (const auto& [name, value] : match.fields) {
    const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
    const std::string had = reflection.GetString(message, field);
    if (!had.empty() && had != value) {
      return FieldError(name, absl::StrCat("is not \"", value, "\", which the path names"));
    }
    GALEN_RETURN_IF_ERROR(SetField(message, *field, name, value));
  }
  return absl::OkStatus();
}

absl::Status ApplyIdempotencyKey(const http::Request& request, Message& message) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName("request_id");
  absl::string_view key = request.headers.Get("Idempotency-Key");
  if (field == nullptr || key.empty()) return absl::OkStatus();
  // The draft of the IETF has it in quotes (a structured string), most clients send it without.
  if (key.size() >= 2 && absl::StartsWith(key, "\"") && absl::EndsWith(key, "\"")) {
    key = key.substr(1, key.size() - 2);
  }
  const std::string had = message.GetReflection()->GetString(message, field);
  if (!had.empty() && had != key) {
    return FieldError("request_id", "differs from the header Idempotency-Key");
  }
  return SetField(message, *field, "request_id", std::string(key));
}

}  // namespace

absl::StatusOr<Query> ParseQuery(absl::string_view query) {
  Query parsed;
  for (const absl::string_view part : absl::StrSplit(query, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> sides =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    auto name = PercentDecode(sides.first, /*plus_is_space=*/true);
    auto value = PercentDecode(sides.second, /*plus_is_space=*/true);
    if (!name || !value) {
      return WithReason(absl::InvalidArgumentError("the query is not percent-encoded correctly"),
                        "INVALID_QUERY");
    }
    parsed.emplace_back(*std::move(name), *std::move(value));
    if (parsed.size() > kMaxParameters) {
      return WithReason(absl::InvalidArgumentError("the query has too many parameters"),
                        "INVALID_QUERY");
    }
  }
  return parsed;
}

absl::StatusOr<Transcoded> TranscodeRequest(const Match& match, absl::string_view query,
                                            const http::Request& request) {
  Transcoded made;
  const Descriptor* type = match.route->method->input_type();
  made.request.reset(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
  GALEN_RETURN_IF_ERROR(ParseBody(*match.route, request, *made.request));
  GALEN_ASSIGN_OR_RETURN(const Query parameters, ParseQuery(query));
  std::string fields;
  GALEN_RETURN_IF_ERROR(ApplyQuery(match, parameters, *made.request, fields));
  GALEN_RETURN_IF_ERROR(ApplyPath(match, *made.request));
  GALEN_RETURN_IF_ERROR(ApplyIdempotencyKey(request, *made.request));
  GALEN_ASSIGN_OR_RETURN(made.filter,
                         FieldFilter::Parse(fields, *match.route->method->output_type()));
  return made;
}

absl::StatusOr<std::string> ToJson(const Message& message) {
  std::string json;
  const auto made = google::protobuf::util::MessageToJsonString(message, &json);
  if (made.ok()) return json;
  return absl::InternalError(
      absl::StrCat(message.GetTypeName(), ": cannot be written as JSON: ", made.ToString()));
}

}  // namespace galen::gateway
