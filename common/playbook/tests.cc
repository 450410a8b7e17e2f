#include "common/playbook/tests.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/playbook/test_parts.h"

namespace galen::playbook {

double TestInput::Number(absl::string_view name) const {
  const auto given = numbers.find(std::string(name));
  if (given != numbers.end()) return given->second;
  const NumberSpec* const spec = test == nullptr ? nullptr : test->FindNumber(name);
  return spec == nullptr ? 0 : spec->usual;
}

const NumberSpec* Test::FindNumber(absl::string_view number) const {
  const auto found = std::find_if(numbers.begin(), numbers.end(),
                                  [&](const NumberSpec& spec) { return spec.name == number; });
  return found == numbers.end() ? nullptr : &*found;
}

absl::Span<const Test> Tests() {
  static const auto& kTests = *new std::vector<Test>([] {
    std::vector<Test> all;
    for (const auto& some :
         {LevelTests(), PeerTests(), WaitTests(), AliveTests(), JobTests(), CompareTests()}) {
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }());
  return kTests;
}

const Test* FindTest(absl::string_view name) {
  for (const Test& test : Tests()) {
    if (test.name == name) return &test;
  }
  return nullptr;
}

std::string TestNames() {
  std::string names;
  for (const Test& test : Tests()) absl::StrAppend(&names, names.empty() ? "" : ", ", test.name);
  return names;
}

}  // namespace galen::playbook
