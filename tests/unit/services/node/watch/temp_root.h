#ifndef TESTS_UNIT_SERVICES_NODE_WATCH_TEMP_ROOT_H_
#define TESTS_UNIT_SERVICES_NODE_WATCH_TEMP_ROOT_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/string_view.h"

namespace galen::node {

// A directory that replaces a machine's /, removed at the end.
class TempRoot {
 public:
  TempRoot() {
    std::string pattern = std::filesystem::temp_directory_path() / "galen-watch-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TempRoot() { std::filesystem::remove_all(path_); }
  void Write(const std::string& path, absl::string_view text) const {
    const std::filesystem::path whole(path_ + path);
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary | std::ios::trunc) << text;
  }
  void Remove(const std::string& path) const { std::filesystem::remove_all(path_ + path); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace galen::node

#endif  // TESTS_UNIT_SERVICES_NODE_WATCH_TEMP_ROOT_H_
