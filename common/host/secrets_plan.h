#ifndef COMMON_HOST_SECRETS_PLAN_H_
#define COMMON_HOST_SECRETS_PLAN_H_

#include "absl/strings/string_view.h"

namespace galen::host {

// knowledge/capture.txt at build time.
absl::string_view SecretsPlan();

}  // namespace galen::host

#endif  // COMMON_HOST_SECRETS_PLAN_H_
