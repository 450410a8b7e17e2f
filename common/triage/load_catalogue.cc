#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/triage/catalogue.h"

namespace galen::triage {
namespace {

constexpr std::uintmax_t kMostFile = 4 << 20;
constexpr std::size_t kMostFiles = 256;

}  // namespace

absl::StatusOr<Catalogue> LoadCatalogue(const std::vector<std::string>& directories) {
  Catalogue catalogue;
  bool found = false;
  for (const std::string& directory : directories) {
    std::vector<std::string> files;
    std::error_code error;
    std::filesystem::directory_iterator it(absl::StrCat(directory, "/triage"), error);
    for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
      const std::string path = it->path().string();
      if (it->path().extension() == ".yaml" && files.size() < kMostFiles) files.push_back(path);
    }
    std::sort(files.begin(), files.end());
    for (const std::string& path : files) {
      std::error_code ignored;
      const auto size = std::filesystem::file_size(path, ignored);
      std::ifstream in(path, std::ios::binary);
      std::ostringstream text;
      if (!ignored && size <= kMostFile) text << in.rdbuf();
      if (ignored || !in || size > kMostFile) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": cannot be read, or has more than ", kMostFile, " bytes"));
      }
      GALEN_RETURN_IF_ERROR(AddTo(catalogue, text.str(), path));
      found = true;
    }
  }
  if (!found) return absl::NotFoundError("triage/*.yaml: no directory of the knowledge has any");
  for (const absl::string_view name : {kHang, kRateDrop, kLossNotFinite}) {
    if (catalogue.FindClass(name) == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("triage/classes.yaml: class ", name, " is missing; it is found by numbers"));
    }
  }
  return catalogue;
}

}  // namespace galen::triage
