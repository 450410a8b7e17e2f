#include "services/execution/playbook/series_tests.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/execution/playbook/series_test_parts.h"

namespace galen::playbook {

double SeriesTestInput::Number(absl::string_view name) const {
  const auto given = numbers.find(std::string(name));
  if (given != numbers.end()) return given->second;
  const NumberSpec* const spec = test == nullptr ? nullptr : test->FindNumber(name);
  return spec == nullptr ? 0 : spec->usual;
}

const NumberSpec* SeriesTest::FindNumber(absl::string_view number) const {
  const auto found = std::find_if(numbers.begin(), numbers.end(),
                                  [&](const NumberSpec& spec) { return spec.name == number; });
  return found == numbers.end() ? nullptr : &*found;
}

absl::Span<const SeriesTest> SeriesTests() {
  static const auto& kTests = *new std::vector<SeriesTest>([] {
    std::vector<SeriesTest> all;
    for (const auto& some :
         {LevelTests(), PeerTests(), WaitTests(), AliveTests(), JobTests(), CompareTests()}) {
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }());
  return kTests;
}

const SeriesTest* FindSeriesTest(absl::string_view name) {
  for (const SeriesTest& test : SeriesTests()) {
    if (test.name == name) return &test;
  }
  return nullptr;
}

std::string SeriesTestNames() {
  std::string names;
  for (const SeriesTest& test : SeriesTests())
    absl::StrAppend(&names, names.empty() ? "" : ", ", test.name);
  return names;
}

}  // namespace galen::playbook
