// A capture takes all that the catalogue reads, or knowledge/capture.txt says why not; and
// docs/bundle.md shows which check reads what. GALEN_UPDATE_GOLDENS=1 rewrites that part.
#include <fnmatch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/host/capture_plan.h"
#include "common/knowledge/load.h"
#include "tests/testing/status_matchers.h"

namespace galen::host {
namespace {

using ::galen::testing::IsOk;
using knowledge::v1::Check;

const std::string kBegin = "<!-- made from knowledge/checks -->\n";
const std::string kEnd = "<!-- end of checks -->\n";

// "<each other node>" as one word.
std::string OnePlaceholder(absl::string_view text) {
  std::string out;
  bool inside = false;
  for (const char c : text) {
    if (c == '<') inside = true;
    if (c == '>' && inside) {
      out += "<x>";
      inside = false;
    } else if (!inside) {
      out += c;
    }
  }
  return out;
}

std::vector<std::string> ExpandBraces(const std::string& text) {
  const std::size_t open = text.find('{');
  const std::size_t close = text.find('}', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return {text};
  std::vector<std::string> all;
  for (const absl::string_view part :
       absl::StrSplit(text.substr(open + 1, close - open - 1), ',')) {
    const auto rest =
        ExpandBraces(absl::StrCat(text.substr(0, open), part, text.substr(close + 1)));
    all.insert(all.end(), rest.begin(), rest.end());
  }
  return all;
}

bool TakesPath(const CapturePlan& plan, const std::string& path) {
  const std::string one = absl::StrReplaceAll(OnePlaceholder(path), {{"*", "x"}, {"<x>", "x"}});
  // A folder as a whole: something below it.
  const std::string below = absl::StrCat(path.substr(0, path.find("**")), "/");
  for (const CapturePlan::Files& files : plan.files) {
    const std::string glob = absl::StrReplaceAll(OnePlaceholder(files.glob), {{"<x>", "*"}});
    if (files.glob == path || fnmatch(glob.c_str(), one.c_str(), 0) == 0) return true;
    if (absl::StartsWith(files.glob, absl::StrReplaceAll(below, {{"//", "/"}}))) return true;
  }
  return false;
}

// A command of the plan with the same program and all the words: additional words only add output.
// A check of the node accepts no answer from inside the job. Python's packages always belong to the
// job.
bool TakesCommand(const CapturePlan& plan, const Check& check, const std::string& command) {
  const std::vector<std::string> words = absl::StrSplit(OnePlaceholder(command), ' ');
  const bool of_job =
      words.front() == "python3" ||
      std::find(check.needs().begin(), check.needs().end(), "job_context") != check.needs().end();
  for (const CapturePlan::Command& taken : plan.commands) {
    if (taken.argv.front() != words.front()) continue;
    if (!of_job && taken.view != View::kHost) continue;
    const std::set<std::string> given(taken.argv.begin(), taken.argv.end());
    bool all = true;
    for (const std::string& word : words) all = all && (word == "<x>" || given.contains(word));
    if (all && words.size() <= taken.argv.size()) return true;
  }
  return false;
}

// The source of a check's input in a bundle; empty: not captured.
std::string HowTaken(const CapturePlan& plan, const Check& check, std::string read) {
  if (check.kind() == Check::PROMQL || absl::StartsWith(read, "PromQL:") ||
      absl::StartsWith(read, "telemetry/")) {
    return "telemetry";
  }
  if (absl::StartsWith(read, "native:")) return "live";
  if (read == "env.yaml") return "taken";
  if (absl::StartsWith(read, "rootfs/")) {
    read = absl::StrReplaceAll(read.substr(6), {{"<pid>", "<job_pid>"}});
  }
  if (absl::StartsWith(read, "/")) {
    bool all = true;
    for (const std::string& path : ExpandBraces(read)) all = all && TakesPath(plan, path);
    if (all) return "taken";
  } else if (TakesCommand(plan, check, read)) {
    return "taken";
  }
  for (const CapturePlan::LeftOut& left : plan.left_out) {
    if (left.entry == read) return left.why;
  }
  return check.intrusive() ? "loads" : "";
}

class CaptureCovers : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<std::string> directories = {absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")};
    auto knowledge = knowledge::Load(directories, {});
    ASSERT_THAT(knowledge, IsOk());
    knowledge_ = *std::move(knowledge);
    auto plan = LoadCapturePlan(directories.front() + "/capture.txt");
    ASSERT_THAT(plan, IsOk());
    plan_ = *std::move(plan);
  }

  std::shared_ptr<const knowledge::Knowledge> knowledge_;
  CapturePlan plan_;
};

TEST_F(CaptureCovers, AllThatTheCatalogueReads) {
  int reads = 0;
  for (const Check& check : knowledge_->base().checks()) {
    for (const std::string& read : check.reads()) {
      ++reads;
      EXPECT_NE(HowTaken(plan_, check, read), "")
          << check.name() << " reads " << read
          << ": add it to knowledge/capture.txt, or why not as leave-out";
    }
  }
  EXPECT_GT(reads, 150);
}

TEST_F(CaptureCovers, NothingIsLeftOutThatNoCheckReads) {
  for (const CapturePlan::LeftOut& left : plan_.left_out) {
    bool read = false;
    for (const Check& check : knowledge_->base().checks()) {
      for (const std::string& entry : check.reads()) read = read || entry == left.entry;
    }
    EXPECT_TRUE(read) << left.entry;
  }
}

TEST_F(CaptureCovers, TheDocumentShowsWhichCheckReadsWhat) {
  std::map<std::string, std::set<std::string>> readers;
  std::map<std::string, std::string> marks;
  for (const Check& check : knowledge_->base().checks()) {
    for (const std::string& read : check.reads()) {
      readers[read].insert(check.name());
      const std::string how = HowTaken(plan_, check, read);
      if (how == "live" || how == "loads" || how == "telemetry") marks[read] = how;
    }
  }
  std::string shown = "| read | by |\n|---|---|\n";
  for (const auto& [read, checks] : readers) {
    const auto mark = marks.find(read);
    absl::StrAppend(&shown, "| `", absl::StrReplaceAll(read, {{"|", "\\|"}}), "`",
                    mark == marks.end() ? "" : absl::StrCat(" (*", mark->second, "*)"), " | ",
                    absl::StrJoin(checks, ", "), " |\n");
  }
  const std::string path = absl::StrCat(GALEN_SOURCE_DIR, "/docs/bundle.md");
  std::ifstream file(path, std::ios::binary);
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::size_t from = begin + kBegin.size();
  if (std::getenv("GALEN_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path, std::ios::binary) << page.substr(0, from) << "\n"
                                          << shown << "\n"
                                          << page.substr(end);
    return;
  }
  EXPECT_EQ(absl::StripAsciiWhitespace(page.substr(from, end - from)),
            absl::StripAsciiWhitespace(shown))
      << "run this test with GALEN_UPDATE_GOLDENS=1";
}

}  // namespace
}  // namespace galen::host
