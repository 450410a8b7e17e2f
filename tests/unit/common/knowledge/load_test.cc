#include "common/knowledge/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "knowledge_files.h"
#include "tests/testing/status_matchers.h"

namespace galen::knowledge {
namespace {

namespace fs = std::filesystem;

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr absl::string_view kSmall = R"(checks:
  - {name: a.one, kind: native, cost: 1s, findings: [{name: bad, type: bool, subject: node}]}
labels:
  - {label: A, title: Main, first_checks: [a.one]}
  - label: A.B
    title: Leaf
    owner: either
    severity: low
    prior: low
    confirm: [{check: a.one, finding: bad, op: ==, value: true}]
)";

std::vector<fs::path> FilesIn(const std::string& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) files.push_back(entry.path());
  return files;
}

std::string Content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Sets an environment variable for the time of a test.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  ~ScopedEnvironment() {
    before_.has_value() ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_);
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// The first YAML block of docs/knowledge.md: a site's entry for a fault of its own.
std::string DocumentedExample() {
  const std::string text = Content(GALEN_SOURCE_DIR "/docs/knowledge.md");
  const std::string open = "```yaml\n";
  const std::size_t begin = text.find(open);
  const std::size_t end = text.find("```\n", begin + open.size());
  if (begin == std::string::npos || end == std::string::npos) return "no example found";
  return text.substr(begin + open.size(), end - begin - open.size());
}

TEST(Load, AddsALabelWithItsCheckFromOneFileOfASite) {
  KnowledgeFiles site;
  site.Write("leak.yaml", DocumentedExample());
  const auto knowledge = Load({GALEN_SOURCE_DIR "/knowledge", site.path()}, {});
  ASSERT_THAT(knowledge, IsOk());
  const v1::Label* label = (*knowledge)->FindLabel("OTHER.HOST_HARDWARE.LIQUID_COOLING_LEAK");
  ASSERT_NE(label, nullptr);
  EXPECT_EQ((*knowledge)->Children("OTHER.HOST_HARDWARE").back(), label);
  EXPECT_THAT((*knowledge)->ChecksFor(*label), ElementsAre("site.leak"));
  EXPECT_EQ((*knowledge)->FindCheck("site.leak")->kind(), v1::Check::EXTRACT);
  EXPECT_NE((*knowledge)->FindSignal("other.host_hardware.liquid_cooling_leak.1"), nullptr);
}

TEST(Load, NamesEveryErrorWithFileLineAndRemedy) {
  KnowledgeFiles files;
  files.Write("good.yaml", kSmall).Write("typo.yaml", "lables: []\n");
  files.Write("rule.yaml", R"(labels:
  - label: A.C
    title: Leaf
    owner: either
    severity: low
    prior: low
    confirm: [{check: a.two, finding: bad, op: ==, value: true}]
)");
  EXPECT_THAT(
      Load({files.path()}, {}),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          AllOf(HasSubstr("knowledge: 2 errors"),
                HasSubstr("typo.yaml:1: error: unknown key \"lables\" in a knowledge file; did "
                          "you mean \"labels\"?"),
                HasSubstr("rule.yaml:7: error: rule of A.C names the unknown check a.two"))));
}

TEST(Load, RefusesATaxonomyWithACycle) {
  KnowledgeFiles files;
  files.Write("a.yaml",
              "labels:\n  - {label: A.B, parent: A.C, title: T}\n"
              "  - {label: A.C, parent: A.B, title: T}\n");
  EXPECT_THAT(Load({files.path()}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a.yaml:2: error: label A.B is its own ancestor")));
}

TEST(Load, RefusesADirectoryWithoutKnowledge) {
  KnowledgeFiles files;
  EXPECT_THAT(Load({files.path()}, {}), StatusIs(absl::StatusCode::kNotFound, HasSubstr(".yaml")));
}

TEST(Load, KeepsTheParsedFormUnderItsDigest) {
  KnowledgeFiles files;
  KnowledgeFiles cache;
  files.Write("a.yaml", kSmall);
  const auto first = Load({files.path()}, {cache.path() + "/deep"});
  ASSERT_THAT(first, IsOk());
  const auto kept = FilesIn(cache.path() + "/deep");
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_EQ(kept[0].filename().string(), "knowledge-" + (*first)->digest() + ".pb");
  const auto second = Load({files.path()}, {cache.path() + "/deep"});
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ((*second)->base().SerializeAsString(), (*first)->base().SerializeAsString());
}

TEST(Load, ReadsTheCacheInsteadOfParsingAgain) {
  KnowledgeFiles files;
  KnowledgeFiles cache;
  files.Write("a.yaml", kSmall);
  ASSERT_THAT(Load({files.path()}, {cache.path()}), IsOk());
  const fs::path kept = FilesIn(cache.path())[0];
  fs::last_write_time(kept, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto before = fs::last_write_time(kept);
  ASSERT_THAT(Load({files.path()}, {cache.path()}), IsOk());
  EXPECT_EQ(fs::last_write_time(kept), before);
}

TEST(Load, KeepsNothingThatHasMistakes) {
  KnowledgeFiles files;
  KnowledgeFiles cache;
  files.Write("a.yaml", std::string(kSmall) + "  - {label: A.C, title: No rule}\n");
  EXPECT_THAT(Load({files.path()}, {cache.path()}),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(FilesIn(cache.path()), SizeIs(0));
}

TEST(Load, IgnoresADamagedCacheAndWritesItAnew) {
  KnowledgeFiles files;
  KnowledgeFiles cache;
  files.Write("a.yaml", kSmall);
  ASSERT_THAT(Load({files.path()}, {cache.path()}), IsOk());
  const fs::path kept = FilesIn(cache.path())[0];
  const std::string sound = Content(kept);
  std::string flipped = sound;
  flipped[flipped.size() / 2] ^= 1;
  for (const std::string& damaged : {std::string(), sound.substr(0, 100), flipped, sound + "x"}) {
    std::ofstream(kept, std::ios::binary | std::ios::trunc) << damaged;
    const auto loaded = Load({files.path()}, {cache.path()});
    ASSERT_THAT(loaded, IsOk());
    EXPECT_NE((*loaded)->FindLabel("A.B"), nullptr);
    EXPECT_EQ(Content(kept), sound);
    EXPECT_THAT(FilesIn(cache.path()), SizeIs(1));  // no temporary file stays
  }
}

TEST(Load, GivesAnotherDigestForEveryChange) {
  const auto digest = [](const std::string& name, absl::string_view text) {
    KnowledgeFiles files;
    files.Write(name, text);
    const auto loaded = Load({files.path()}, {});
    EXPECT_THAT(loaded, IsOk());
    return (*loaded)->digest();
  };
  const std::string base = digest("a.yaml", kSmall);
  EXPECT_THAT(base, SizeIs(64));
  EXPECT_EQ(digest("a.yaml", kSmall), base);
  EXPECT_NE(digest("b.yaml", kSmall), base);
  EXPECT_NE(digest("a.yaml", std::string(kSmall) + "# a remark\n"), base);
}

TEST(Load, WorksWhereNoCacheCanBeWritten) {
  KnowledgeFiles files;
  files.Write("a.yaml", kSmall);
  EXPECT_THAT(Load({files.path()}, {"/proc/no/such"}), IsOk());
}

TEST(FindDirectories, TakesTheNamedOnesThenTheEnvironment) {
  ScopedEnvironment environment("GALEN_KNOWLEDGE", "/base:/site");
  EXPECT_THAT(*FindDirectories({"/mine"}), ElementsAre("/mine"));
  EXPECT_THAT(*FindDirectories({}), ElementsAre("/base", "/site"));
}

TEST(FindDirectories, SaysWhatItTried) {
  ScopedEnvironment environment("GALEN_KNOWLEDGE", nullptr);
  const auto found = FindDirectories({});
  if (found.ok()) {  // a build tree two levels below the checkout finds it next to the program
    EXPECT_TRUE(fs::is_directory(found->front() + "/taxonomy"));
    return;
  }
  EXPECT_THAT(found, StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("share/galen/knowledge"),
                                                                 HasSubstr("GALEN_KNOWLEDGE"))));
}

TEST(DefaultCacheDirectory, FollowsTheEnvironment) {
  ScopedEnvironment home("HOME", "/home/x");
  {
    ScopedEnvironment cache("XDG_CACHE_HOME", "/c");
    EXPECT_EQ(DefaultCacheDirectory(), "/c/galen");
  }
  ScopedEnvironment cache("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(DefaultCacheDirectory(), "/home/x/.cache/galen");
  ScopedEnvironment nowhere("HOME", nullptr);
  EXPECT_EQ(DefaultCacheDirectory(), "");
}

}  // namespace
}  // namespace galen::knowledge
