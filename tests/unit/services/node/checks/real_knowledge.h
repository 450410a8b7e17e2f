#ifndef TESTS_UNIT_SERVICES_NODE_CHECKS_REAL_KNOWLEDGE_H_
#define TESTS_UNIT_SERVICES_NODE_CHECKS_REAL_KNOWLEDGE_H_

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/knowledge/knowledge.h"
#include "common/knowledge/load.h"
#include "services/node/checks/parameters.h"
#include "tests/unit/services/node/checks/fixtures.h"

namespace galen::node {

// The checks, the hardware and the kernel lines of the knowledge that ships.
inline const knowledge::Knowledge& RealKnowledge() {
  static const knowledge::Knowledge* const real = [] {
    const std::string root = absl::StrCat(GALEN_SOURCE_DIR, "/knowledge/");
    std::vector<knowledge::Problem> problems;
    auto base = knowledge::Parse(
        std::vector<std::string>{root + "checks", root + "hardware", root + "kernel"}, problems);
    return new knowledge::Knowledge(base.ok() ? *base : knowledge::v1::KnowledgeBase());
  }();
  return *real;
}

// The parameters of a check: these values, and for the others those of the catalogue.
inline Parameters ParametersOf(absl::string_view check,
                               const std::map<std::string, std::string>& values = {}) {
  v1::CheckParameters asked;
  for (const auto& [name, value] : values) (*asked.mutable_values())[name] = value;
  const auto* const spec = RealKnowledge().FindCheck(check);
  if (spec == nullptr) return Parameters();
  const auto parameters = Parameters::Resolve(*spec, asked);
  return parameters.ok() ? *parameters : Parameters();
}

// A file of ../shared/fixtures; "" where it is not here.
inline std::string Fixture(const std::string& path) {
  std::ifstream file(std::filesystem::path(GALEN_SOURCE_DIR) / "../shared/fixtures" / path,
                     std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

}  // namespace galen::node

#endif  // TESTS_UNIT_SERVICES_NODE_CHECKS_REAL_KNOWLEDGE_H_
