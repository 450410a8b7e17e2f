#ifndef SERVICES_CLI_KB_SITE_H_
#define SERVICES_CLI_KB_SITE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace galen::cli {

// The knowledge directories of a call with the site's own last: `site` when it is named, else the
// last of several. INVALID_ARGUMENT: there is just the knowledge that came with the program, which
// a site does not write to.
absl::StatusOr<std::vector<std::string>> WithSite(const std::vector<std::string>& knowledge,
                                                  const std::string& site);

// Today, YYYY-MM-DD in UTC.
std::string Today();

}  // namespace galen::cli

#endif  // SERVICES_CLI_KB_SITE_H_
