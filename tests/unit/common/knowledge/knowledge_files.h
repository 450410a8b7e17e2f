#ifndef TESTS_UNIT_COMMON_KNOWLEDGE_KNOWLEDGE_FILES_H_
#define TESTS_UNIT_COMMON_KNOWLEDGE_KNOWLEDGE_FILES_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/knowledge/load.h"

namespace galen::knowledge {

// A directory of knowledge files that lives as long as the object.
class KnowledgeFiles {
 public:
  KnowledgeFiles() {
    std::string path = ::testing::TempDir() + "galen-knowledge-XXXXXX";
    root_ = ::mkdtemp(path.data());
  }
  ~KnowledgeFiles() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  KnowledgeFiles(const KnowledgeFiles&) = delete;
  KnowledgeFiles& operator=(const KnowledgeFiles&) = delete;

  KnowledgeFiles& Write(const std::string& name, absl::string_view text) {
    const std::filesystem::path path = std::filesystem::path(root_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return *this;
  }

  const std::string& path() const { return root_; }

 private:
  std::string root_;
};

// The problems that reading and linting one file finds.
inline std::vector<Problem> ProblemsOf(absl::string_view yaml) {
  KnowledgeFiles files;
  files.Write("site.yaml", yaml);
  std::vector<Problem> problems;
  const auto base = Parse({files.path()}, problems);
  EXPECT_TRUE(base.ok()) << base.status();
  if (base.ok()) {
    for (Problem& problem : Lint(*base)) problems.push_back(std::move(problem));
  }
  return problems;
}

inline std::vector<std::string> Lines(const std::vector<Problem>& problems) {
  std::vector<std::string> lines;
  for (const Problem& problem : problems) lines.push_back(ToString(problem));
  return lines;
}

}  // namespace galen::knowledge

#endif  // TESTS_UNIT_COMMON_KNOWLEDGE_KNOWLEDGE_FILES_H_
