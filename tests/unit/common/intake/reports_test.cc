// Compares what is recognised in reports as people post them, and in the outputs of real tools,
// with their content.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/intake/recognise.h"
#include "re2/re2.h"
#include "tests/unit/common/intake/kinds_for_test.h"

namespace galen::intake {
namespace reports_test {

namespace fs = std::filesystem;

const std::string kShared = std::string(GALEN_SOURCE_DIR) + "/../shared";

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// An artefact that a reader found (reports.tsv).
struct Truth {
  std::string report;
  std::string file;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::string kinds;  // RE2 over ids: those that are right
  std::string host;
};

std::vector<Truth> Truths() {
  std::vector<Truth> truths;
  const std::string table =
      ReadAll(std::string(GALEN_SOURCE_DIR) + "/tests/unit/common/intake/reports.tsv");
  for (const absl::string_view line : absl::StrSplit(table, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    Truth truth{.report = fields[0], .file = fields[1], .kinds = fields[4], .host = fields[5]};
    if (absl::SimpleAtoi(fields[2], &truth.first) && absl::SimpleAtoi(fields[3], &truth.last)) {
      truths.push_back(std::move(truth));
    }
  }
  return truths;
}

TEST(Reports, NearlyAllLinesOfArtefactsAreOfTheRightKindAndMachine) {
  if (!fs::is_directory(kShared + "/eval/reports"))
    GTEST_SKIP() << "../shared/eval/reports is not here";
  std::map<std::string, Recognised> by_file;
  std::int64_t lines = 0, right = 0, hosts = 0, right_hosts = 0;
  const std::vector<Truth> truths = Truths();
  ASSERT_GT(truths.size(), 100u);
  for (const Truth& truth : truths) {
    const std::string name = absl::StrCat(truth.report, "/", truth.file);
    const auto [it, is_new] = by_file.try_emplace(name);
    if (is_new) {
      const Text text = {.name = name,
                         .content = ReadAll(absl::StrCat(kShared, "/eval/reports/", name)),
                         .attached = truth.file != "report.md"};
      it->second = Recognise(ShippedKinds(), {&text, 1});
    }
    std::int64_t own_right = 0;
    bool host_right = false;
    std::string got;
    for (std::int64_t line = truth.first; line <= truth.last; ++line) {
      for (const Artefact& artefact : it->second.artefacts) {
        if (line < artefact.first_line || line > artefact.last_line) continue;
        got = artefact.kind == nullptr ? "not understood" : artefact.kind->id;
        own_right += RE2::FullMatch(got, truth.kinds) ? 1 : 0;
        host_right = host_right || artefact.host == truth.host ||
                     std::count(artefact.writers.begin(), artefact.writers.end(), truth.host) > 0;
      }
    }
    const std::int64_t own = truth.last - truth.first + 1;
    lines += own;
    right += own_right;
    if (!truth.host.empty()) {
      ++hosts;
      right_hosts += host_right ? 1 : 0;
      if (!host_right) std::cout << name << ":" << truth.first << " is of " << truth.host << "\n";
    }
    if (own_right < own) {
      std::cout << name << ":" << truth.first << "-" << truth.last << " is " << truth.kinds
                << ", taken for " << (got.empty() ? "prose" : got) << " (" << own - own_right
                << " lines)\n";
    }
  }
  std::cout << right << " of " << lines << " lines, " << right_hosts << " of " << hosts
            << " machines\n";
  EXPECT_GE(static_cast<double>(right), 0.95 * static_cast<double>(lines));
  EXPECT_GE(static_cast<double>(right_hosts), 0.95 * static_cast<double>(hosts));
}

TEST(Fixtures, NearlyAllOutputsOfRealToolsAreRecognised) {
  const std::string root = kShared + "/fixtures";
  if (!fs::is_directory(root)) GTEST_SKIP() << "../shared/fixtures is not here";
  int files = 0, known = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file() || entry.path().parent_path() == root) continue;
    ++files;
    const Text text = {
        .name = entry.path().string(), .content = ReadAll(entry.path()), .attached = true};
    const Recognised recognised = Recognise(ShippedKinds(), {&text, 1});
    bool understood = !recognised.artefacts.empty();
    for (const Artefact& artefact : recognised.artefacts)
      understood = understood && artefact.kind != nullptr;
    // A file without a line has nothing to be recognised by.
    if (understood || entry.file_size() == 0) {
      ++known;
    } else {
      std::cout << "not recognised: " << fs::relative(entry.path(), root).string() << "\n";
    }
  }
  std::cout << known << " of " << files << " files\n";
  EXPECT_GE(known, 0.97 * files);
}

}  // namespace reports_test
}  // namespace galen::intake
