#include "common/host/roots.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace galen::host {
namespace {

namespace fs = std::filesystem;

bool LiesWithin(const fs::path& path, const fs::path& root) {
  const fs::path relative = path.lexically_relative(root);
  return !relative.empty() && *relative.begin() != "..";
}

}  // namespace

absl::StatusOr<std::string> ResolveWithin(const std::string& path,
                                          const std::vector<std::string>& roots,
                                          absl::string_view flag) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path, error);
  bool allowed = roots.empty();
  for (const std::string& root : roots) {
    std::error_code ignored;
    const fs::path real_root = fs::canonical(root, ignored);
    if (!error && !ignored && LiesWithin(real, real_root)) allowed = true;
  }
  if (!allowed) {
    return absl::PermissionDeniedError(absl::StrCat(path, ": outside ", absl::StrJoin(roots, ", "),
                                                    ", the only place that ", flag,
                                                    " lets this service read"));
  }
  if (error || !fs::exists(real, error)) {
    return absl::NotFoundError(
        absl::StrCat(path, ": no such file or directory on the machine of this service"));
  }
  return real.string();
}

}  // namespace galen::host
