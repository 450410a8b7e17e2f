#include "services/cli/kb/site.h"

#include <filesystem>
#include <system_error>

#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/knowledge/load.h"

namespace galen::cli {

absl::StatusOr<std::vector<std::string>> WithSite(const std::vector<std::string>& knowledge,
                                                  const std::string& site) {
  GALEN_ASSIGN_OR_RETURN(std::vector<std::string> found, knowledge::FindDirectories(knowledge));
  if (!site.empty()) {
    std::error_code ignored;
    std::erase_if(found, [&](const std::string& directory) {
      return directory == site || std::filesystem::equivalent(directory, site, ignored);
    });
    found.push_back(site);
    return found;
  }
  if (found.size() > 1) return found;
  return absl::InvalidArgumentError(
      "--site: name the site's own knowledge directory; what came with the program is not "
      "written to");
}

std::string Today() { return absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone()); }

}  // namespace galen::cli
