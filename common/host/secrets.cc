#include "common/host/secrets.h"

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "common/host/capture_plan.h"
#include "common/host/secrets_plan.h"

namespace galen::host {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// No pattern matches a shorter text.
constexpr std::size_t kShortest = 8;

// Null: the rules cannot be read, which is a defect of the build; then no text is shown.
const Redactor* Rules() {
  static const Redactor* const rules = []() -> const Redactor* {
    absl::StatusOr<CapturePlan> plan = ParseCapturePlan(SecretsPlan(), "capture.txt");
    return plan.ok() ? new Redactor(std::move(plan->redactor)) : nullptr;
  }();
  return rules;
}

void CleanField(Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  if (!field.is_repeated()) {
    std::string text = reflection.GetString(message, &field);
    std::string clean = WithoutSecrets(text);
    if (clean != text) reflection.SetString(&message, &field, std::move(clean));
    return;
  }
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    std::string text = reflection.GetRepeatedString(message, &field, i);
    std::string clean = WithoutSecrets(text);
    if (clean != text) reflection.SetRepeatedString(&message, &field, i, std::move(clean));
  }
}

}  // namespace

std::string WithoutSecrets(absl::string_view text) {
  if (text.size() < kShortest) return std::string(text);
  const Redactor* const rules = Rules();
  if (rules == nullptr) return std::string(kRedacted);
  std::map<std::string, int> counts;
  return rules->Redact(text, counts);
}

void TakeOutSecrets(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      CleanField(message, *field);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!field->is_repeated()) {
        TakeOutSecrets(*reflection.MutableMessage(&message, field));
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        TakeOutSecrets(*reflection.MutableRepeatedMessage(&message, field, i));
      }
    }
  }
}

bool IsSecretVariable(absl::string_view name, absl::string_view value) {
  const Redactor* const rules = Rules();
  return rules == nullptr || rules->IsSecret(name, value);
}

}  // namespace galen::host
