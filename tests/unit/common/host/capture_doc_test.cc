// docs/bundle.md shows what knowledge/capture.txt lists. GALEN_UPDATE_GOLDENS=1 rewrites the page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace galen::host {
namespace {

constexpr char kBegin[] = "<!-- made from knowledge/capture.txt -->\n";
constexpr char kEnd[] = "<!-- end -->\n";

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The list as the page shows it: a block for each section, then the redaction.
std::string Shown(absl::string_view list) {
  std::string page;
  std::string kinds;
  std::string paths;
  std::string names;
  std::string kept;
  bool open = false;
  bool left_out = false;
  const auto close = [&] {
    if (open) absl::StrAppend(&page, "```\n\n");
    if (left_out) absl::StrAppend(&page, "\n");
    open = false;
    left_out = false;
  };
  for (absl::string_view line : absl::StrSplit(list, '\n')) {
    if (absl::ConsumePrefix(&line, "# --- ")) {
      close();
      absl::StrAppend(&page, "**", line, "**\n\n");
      continue;
    }
    if (line.empty() || line.front() == '#') continue;
    const std::pair<absl::string_view, absl::string_view> entry =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (entry.first == "redact") {
      const std::string kind =
          absl::StrReplaceAll(entry.second.substr(0, entry.second.find(' ')), {{"-", " "}});
      // A kind may have several patterns.
      const std::string shown = absl::StrCat("- ", kind, "\n");
      if (!absl::StrContains(kinds, shown)) absl::StrAppend(&kinds, shown);
    } else if (entry.first == "redact-path") {
      const absl::string_view kind = entry.second.substr(0, entry.second.find(' '));
      absl::StrAppend(&paths, "- ", absl::StrReplaceAll(kind, {{"-", " "}}), "\n");
    } else if (entry.first == "leave-out") {
      const std::pair<absl::string_view, absl::string_view> left =
          absl::StrSplit(entry.second, absl::MaxSplits(' ', 1));
      absl::StrAppend(&page, "- `", left.second,
                      "`: ", absl::StrReplaceAll(left.first, {{"-", " "}}), "\n");
      left_out = true;
    } else if (entry.first == "redact-variable") {
      absl::StrAppend(&names, entry.second, "\n");
    } else if (entry.first == "redact-not") {
      absl::StrAppend(&kept, entry.second, "\n");
    } else {
      if (!open) absl::StrAppend(&page, "```\n");
      open = true;
      absl::StrAppend(&page, absl::StartsWith(entry.first, "job-") ? "job: " : "", entry.second,
                      "\n");
    }
  }
  close();
  absl::StrAppend(
      &page, "From text:\n\n", kinds,
      "\nand the values of variables whose names match one of\n\n```\n", names,
      "```\n\nbut nothing of which all, with the name before it, matches one of\n\n```\n", kept,
      "```\n\nWith `--redact-paths` also what stands below\n\n", paths);
  return page;
}

TEST(CaptureDocument, ShowsWhatIsCaptured) {
  const std::string path = absl::StrCat(GALEN_SOURCE_DIR, "/docs/bundle.md");
  const std::string page = ReadText(path);
  const std::string shown =
      Shown(ReadText(absl::StrCat(GALEN_SOURCE_DIR, "/knowledge/capture.txt")));
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::size_t from = begin + absl::string_view(kBegin).size();
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
