#ifndef COMMON_HOST_SECRETS_H_
#define COMMON_HOST_SECRETS_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/strings/string_view.h"
#include "common/host/redact.h"

// The one redactor of what leaves Galen: results of checks, requests to language models, tickets,
// past incidents. Its rules are the "redact" lines of knowledge/capture.txt as they were when the
// program was built, so that no program is without them and no directory can take them away.
namespace galen::host {

// `text` with each secret replaced by kRedacted. Thread-safe.
std::string WithoutSecrets(absl::string_view text);

// The same of every text in a message and below it.
void TakeOutSecrets(google::protobuf::Message& message);

// Whether a variable of this name holds a secret.
bool IsSecretVariable(absl::string_view name, absl::string_view value);

}  // namespace galen::host

#endif  // COMMON_HOST_SECRETS_H_
