#ifndef COMMON_HOST_SECRETS_H_
#define COMMON_HOST_SECRETS_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/strings/string_view.h"
#include "common/host/redact.h"

// The redactor for all data that leaves Galen: results of checks, requests to language models,
// tickets, past incidents. Its rules are the "redact" lines of knowledge/capture.txt at build time,
// so that every program has them and no directory can remove them.
namespace galen::host {

// `text` with each secret replaced by kRedacted. Thread-safe.
std::string WithoutSecrets(absl::string_view text);

// Masks the secrets in every text of a message, including nested messages.
void TakeOutSecrets(google::protobuf::Message& message);

// Whether a variable of this name holds a secret.
bool IsSecretVariable(absl::string_view name, absl::string_view value);

}  // namespace galen::host

#endif  // COMMON_HOST_SECRETS_H_
