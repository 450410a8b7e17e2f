#ifndef TESTS_UNIT_SERVICES_NODE_EXEC_EXEC_TESTING_H_
#define TESTS_UNIT_SERVICES_NODE_EXEC_EXEC_TESTING_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/knowledge/load.h"
#include "common/knowledge/make_result.h"
#include "common/knowledge/rules.h"
#include "services/node/exec/output_parsers.h"
#include "tests/testing/host/fake_host.h"

namespace galen::node {

// The knowledge that ships.
inline const knowledge::Knowledge& Shipped() {
  static const auto* const knowledge = new std::shared_ptr<const knowledge::Knowledge>(
      *knowledge::Load({std::string(GALEN_SOURCE_DIR "/knowledge")}, {}));
  return **knowledge;
}

// The result of check `name` whose program printed `out`.
inline galen::v1::CheckResult ResultOf(const std::string& name, const std::string& out,
                                       int exit_code = 0, const std::string& err = "") {
  static const testing::FakeHost host("n1");
  const knowledge::v1::Check* const check = Shipped().FindCheck(name);
  if (check == nullptr) ADD_FAILURE() << name << " is not in the catalogue";
  if (check == nullptr) return {};
  host::CommandResult result;
  result.exit_code = exit_code;
  result.out = out;
  result.err = err;
  const CheckContext context{.host = host, .knowledge = Shipped()};
  const OutputParser parser = FindOutputParser(check->exec().output());
  if (parser == nullptr) ADD_FAILURE() << name << " has no parser";
  if (parser == nullptr) return {};
  return knowledge::MakeResult(*check, "n1",
                               parser({.check = *check, .context = context, .result = result}));
}

// The value of a finding as text; "(none)" if it is missing.
inline std::string ValueOf(const galen::v1::CheckResult& result, const std::string& finding,
                           const std::string& device = "") {
  for (const galen::v1::Finding& each : result.findings()) {
    if (each.name() == finding && each.subject().device() == device) {
      return knowledge::ValueText(each);
    }
  }
  return "(none)";
}

// A captured output; empty if there is none.
inline std::string Fixture(const std::string& path) {
  std::ifstream file(absl::StrCat(GALEN_SOURCE_DIR, "/../shared/fixtures/", path),
                     std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline bool HaveFixtures() {
  return std::filesystem::exists(GALEN_SOURCE_DIR "/../shared/fixtures/MANIFEST.tsv");
}

}  // namespace galen::node

#endif  // TESTS_UNIT_SERVICES_NODE_EXEC_EXEC_TESTING_H_
