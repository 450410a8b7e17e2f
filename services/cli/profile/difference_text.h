#ifndef SERVICES_CLI_PROFILE_DIFFERENCE_TEXT_H_
#define SERVICES_CLI_PROFILE_DIFFERENCE_TEXT_H_

#include <string>

#include "nlohmann/json.hpp"
#include "services/cli/profile/profile_page.h"
#include "services/cli/terminal.h"

namespace galen::cli {

// The page of `galen profile A --against B`; the page has a difference. Pure.
std::string DifferenceText(const ProfilePage& page, const Terminal& terminal);
// The same for JSON; times in seconds of a step.
nlohmann::ordered_json DifferenceJson(const ProfilePage& page);

}  // namespace galen::cli

#endif  // SERVICES_CLI_PROFILE_DIFFERENCE_TEXT_H_
