#ifndef TESTS_TESTING_SCRATCH_H_
#define TESTS_TESTING_SCRATCH_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/string_view.h"

namespace galen::testing {

// A directory of a test's own, removed afterwards.
class Scratch {
 public:
  Scratch() : path_(::testing::TempDir() + "/galen-test-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(absl::string_view name) const { return path_ + "/" + std::string(name); }

  // Writes a file, with the directories that it needs; gives its path.
  std::string Write(absl::string_view name, absl::string_view content) const {
    const std::filesystem::path file(*this / name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file;
  }

  // As Write(), of a file that can be run.
  std::string WriteProgram(absl::string_view name, absl::string_view content) const {
    std::string file = Write(name, content);
    std::filesystem::permissions(file, std::filesystem::perms::owner_exec,
                                 std::filesystem::perm_options::add);
    return file;
  }

  std::string Read(absl::string_view name) const {
    std::ifstream file(*this / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

 private:
  std::string path_;
};

}  // namespace galen::testing

#endif  // TESTS_TESTING_SCRATCH_H_
