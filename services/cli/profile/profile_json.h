#ifndef SERVICES_CLI_PROFILE_PROFILE_JSON_H_
#define SERVICES_CLI_PROFILE_PROFILE_JSON_H_

#include <string>

#include "services/cli/profile/profile_page.h"

namespace galen::cli {

// The same as a JSON object in one line; times in seconds. Unknown values are absent. Pure.
std::string ProfileJson(const ProfilePage& page);

}  // namespace galen::cli

#endif  // SERVICES_CLI_PROFILE_PROFILE_JSON_H_
