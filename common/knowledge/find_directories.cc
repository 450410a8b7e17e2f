#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/knowledge/load.h"

namespace galen::knowledge {
namespace {

namespace fs = std::filesystem;

// From the directory of the program: beside it, a build tree, a preset's build tree, installed.
constexpr absl::string_view kPlaces[] = {"knowledge", "../../knowledge", "../../../knowledge",
                                         "../share/galen/knowledge"};

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindDirectories(
    absl::Span<const std::string> explicit_directories) {
  if (!explicit_directories.empty()) {
    return std::vector<std::string>(explicit_directories.begin(), explicit_directories.end());
  }
  if (const std::string named = Environment("GALEN_KNOWLEDGE"); !named.empty()) {
    return std::vector<std::string>(absl::StrSplit(named, ':', absl::SkipEmpty()));
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<std::string> tried;
  for (absl::string_view place : kPlaces) {
    const fs::path directory = (program / std::string(place)).lexically_normal();
    if (fs::is_directory(directory / "taxonomy", error)) {
      return std::vector<std::string>{directory.string()};
    }
    tried.push_back(directory.string());
  }
  return absl::NotFoundError(absl::StrCat("knowledge: none found, tried ",
                                          absl::StrJoin(tried, ", "),
                                          "; set GALEN_KNOWLEDGE to the directory"));
}

std::string DefaultCacheDirectory() {
  if (const std::string cache = Environment("XDG_CACHE_HOME"); !cache.empty()) {
    return absl::StrCat(cache, "/galen");
  }
  const std::string home = Environment("HOME");
  return home.empty() ? "" : absl::StrCat(home, "/.cache/galen");
}

}  // namespace galen::knowledge
