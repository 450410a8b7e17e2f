#ifndef TESTS_UNIT_SERVICES_NODE_CHECKS_FIXTURES_H_
#define TESTS_UNIT_SERVICES_NODE_CHECKS_FIXTURES_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "common/knowledge/knowledge.h"
#include "common/knowledge/load.h"

namespace galen::node {

// The knowledge of this repository, loaded once.
inline const knowledge::Knowledge& RepositoryKnowledge() {
  static const std::shared_ptr<const knowledge::Knowledge> loaded = [] {
    std::vector<knowledge::Problem> problems;
    const std::string root = std::string(GALEN_SOURCE_DIR) + "/knowledge/";
    const std::vector<std::string> directories = {root + "checks", root + "kernel"};
    auto base = knowledge::Parse(directories, problems);
    if (!base.ok()) std::abort();
    return std::make_shared<const knowledge::Knowledge>(*std::move(base));
  }();
  return *loaded;
}

inline std::string FixturePath(const std::string& path) {
  return std::string(GALEN_SOURCE_DIR) + "/../shared/fixtures/" + path;
}

// The text of a fixture; empty where the fixtures are not there.
inline std::string ReadFixture(const std::string& path) {
  std::ifstream file(FixturePath(path), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline bool HaveFixtures() { return std::filesystem::exists(FixturePath("MANIFEST.tsv")); }

}  // namespace galen::node

// Real outputs of tools, read where they lie; a checkout without them skips.
#define GALEN_NEED_FIXTURES() \
  if (!HaveFixtures()) GTEST_SKIP() << "../shared/fixtures is not here"

#endif  // TESTS_UNIT_SERVICES_NODE_CHECKS_FIXTURES_H_
