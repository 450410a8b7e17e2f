#ifndef SERVICES_CLI_PROFILE_PROFILE_TEXT_H_
#define SERVICES_CLI_PROFILE_PROFILE_TEXT_H_

#include <string>

#include "services/cli/profile/profile_page.h"
#include "services/cli/terminal.h"

namespace galen::cli {

// A page for a person, in aligned columns. Pure.
std::string ProfileText(const ProfilePage& page, const Terminal& terminal);

}  // namespace galen::cli

#endif  // SERVICES_CLI_PROFILE_PROFILE_TEXT_H_
