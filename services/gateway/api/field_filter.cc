#include "services/gateway/api/field_filter.h"

#include <google/protobuf/descriptor.h>

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/gateway/api/errors.h"

namespace galen::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr std::size_t kMaxPaths = 4 << 10;

}  // namespace

const FieldDescriptor* FindField(const Descriptor& type, absl::string_view name) {
  const std::string text(name);
  if (const FieldDescriptor* field = type.FindFieldByName(text)) return field;
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->json_name() == text) return type.field(i);
  }
  return nullptr;
}

absl::StatusOr<FieldFilter> FieldFilter::Parse(absl::string_view paths, const Descriptor& type) {
  FieldFilter filter;
  if (paths.size() > kMaxPaths) {
    return FieldError("fields", absl::StrCat("has more than ", kMaxPaths, " bytes"));
  }
  for (absl::string_view path : absl::StrSplit(paths, ',', absl::SkipWhitespace())) {
    path = absl::StripAsciiWhitespace(path);
    // The whole path is resolved before it is added: a path below one that is already wanted whole
    // adds nothing.
    std::vector<int> numbers;
    const Descriptor* in = &type;
    for (const absl::string_view name : absl::StrSplit(path, '.')) {
      const FieldDescriptor* field = in == nullptr ? nullptr : FindField(*in, name);
      if (field == nullptr) {
        return FieldError("fields", absl::StrCat("\"", path, "\": there is no such field"),
                          "UNKNOWN_FIELD");
      }
      numbers.push_back(field->number());
      in = field->is_map() ? nullptr : field->message_type();
    }
    FieldFilter* at = &filter;
    bool whole = false;
    for (const int number : numbers) {
      const auto [next, fresh] = at->wanted_.try_emplace(number);
      whole = !fresh && next->second.all();
      if (whole) break;
      at = &next->second;
    }
    if (!whole) at->wanted_.clear();
  }
  return filter;
}

void FieldFilter::Apply(google::protobuf::Message& message) const {
  if (all()) return;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const auto wanted = wanted_.find(field->number());
    if (wanted == wanted_.end()) {
      reflection.ClearField(&message, field);
    } else if (!wanted->second.all() && field->is_repeated()) {
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        wanted->second.Apply(*reflection.MutableRepeatedMessage(&message, field, i));
      }
    } else if (!wanted->second.all()) {
      wanted->second.Apply(*reflection.MutableMessage(&message, field));
    }
  }
}

}  // namespace galen::gateway
