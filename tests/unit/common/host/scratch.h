#ifndef TESTS_UNIT_COMMON_HOST_SCRATCH_H_
#define TESTS_UNIT_COMMON_HOST_SCRATCH_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/string_view.h"

namespace galen::host {

// A directory of a test's own, removed afterwards.
class Scratch {
 public:
  Scratch() : path_(::testing::TempDir() + "/galen-host-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(absl::string_view name) const { return path_ + "/" + std::string(name); }

  // Writes a file, with the directories that it needs.
  void Write(absl::string_view name, absl::string_view content) const {
    const std::filesystem::path file(*this / name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
  }

  std::string Read(absl::string_view name) const {
    std::ifstream file(*this / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

 private:
  std::string path_;
};

// While it lives, this process may read what anybody may, also where root runs it.
class AsNobody {
 public:
  AsNobody() {
    if (was_ == 0 && seteuid(65534) != 0) std::abort();
  }
  ~AsNobody() {
    if (was_ == 0 && seteuid(0) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  const uid_t was_ = geteuid();
};

// The smallest bundle: one node, n1, of which `commands` is the commands.yaml.
inline void WriteBundle(const Scratch& scratch, absl::string_view commands = "[]\n") {
  scratch.Write("bundle.yaml", "format: galen.bundle/v1\nnodes: [n1]\n");
  scratch.Write("incident.yaml", "description: \"training is slow\"\n");
  scratch.Write("nodes/n1/commands.yaml", commands);
}

}  // namespace galen::host

#endif  // TESTS_UNIT_COMMON_HOST_SCRATCH_H_
