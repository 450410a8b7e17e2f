// docs/checks.md shows the catalogue. GALEN_UPDATE_GOLDENS=1 rewrites its generated part.
#include "services/cli/checks_doc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/knowledge/load.h"
#include "services/node/executor.h"
#include "services/node/registry.h"

namespace galen::cli {
namespace {

using ::testing::HasSubstr;

const std::string kBegin = "<!-- made by galen checks doc -->\n";
const std::string kEnd = "<!-- end -->\n";
const std::string kPath = absl::StrCat(GALEN_SOURCE_DIR, "/docs/checks.md");

std::shared_ptr<const knowledge::Knowledge> TheKnowledge() {
  const std::vector<std::string> directories = {absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")};
  return knowledge::Load(directories, {}).value();
}

std::set<std::string> Available(const std::shared_ptr<const knowledge::Knowledge>& knowledge) {
  const node::LocalHosts hosts({});
  const node::NodeExecutor executor(hosts, knowledge, node::AllChecks(), {});
  const auto description = executor.Describe();
  return {description.checks().begin(), description.checks().end()};
}

std::string ReadPage() {
  std::ifstream file(kPath, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(ChecksDocument, IsThePageInDocs) {
  const auto knowledge = TheKnowledge();
  const std::string shown = ChecksDocument(*knowledge, Available(knowledge));
  const std::string page = ReadPage();
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::size_t from = begin + kBegin.size();
  if (std::getenv("GALEN_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(kPath, std::ios::binary) << page.substr(0, from) << "\n"
                                           << shown << page.substr(end);
    return;
  }
  EXPECT_EQ(absl::StripAsciiWhitespace(page.substr(from, end - from)),
            absl::StripAsciiWhitespace(shown))
      << "run this test with GALEN_UPDATE_GOLDENS=1";
}

// The part that people write names checks as `group.name`.
TEST(ChecksDocument, NamesNoCheckThatThereIsNot) {
  const auto knowledge = TheKnowledge();
  const std::string page = ReadPage();
  const std::string written = page.substr(0, page.find(kBegin));
  int named = 0;
  for (const absl::string_view line : absl::StrSplit(written, '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, "](#");
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const absl::string_view check = parts[i].substr(parts[i].rfind('[') + 1);
      EXPECT_NE(knowledge->FindCheck(check), nullptr) << check;
      ++named;
    }
  }
  EXPECT_GE(named, 16);
}

TEST(ChecksDocument, AtLeast110ChecksAreAvailable) {
  EXPECT_GE(Available(TheKnowledge()).size(), 110u);
}

TEST(ChecksDocument, ShowsParametersLimitsThresholdsAndCauses) {
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::Check& check = *base.add_checks();
  check.set_name("gpu.copy");
  check.set_title("Copies");
  check.add_reads("tool a|b");
  check.set_intrusive(true);
  check.set_occupies("gpu");
  check.mutable_cost()->set_seconds(2);
  knowledge::v1::Parameter& parameter = *check.add_parameters();
  parameter.set_name("seconds");
  parameter.set_default_value("5");
  parameter.set_min(1);
  parameter.set_max(60);
  knowledge::v1::FindingSpec& finding = *check.add_findings();
  finding.set_name("rate");
  finding.set_type("float");
  finding.mutable_abnormal()->set_op(knowledge::v1::Rule::LT);
  finding.mutable_abnormal()->set_value("rate_floor");
  knowledge::v1::CheckDatum& datum = *check.add_data();
  datum.set_name("share");
  datum.set_number(0.8);
  datum.set_reference("a paper");
  knowledge::v1::Label& label = *base.add_labels();
  label.set_label("GPU.SLOW");
  label.add_confirm()->set_check("gpu.copy");
  const std::string page = ChecksDocument(knowledge::Knowledge(base), {"gpu.copy"});
  EXPECT_THAT(page, HasSubstr("[gpu.copy](#gpucopy)"));
  EXPECT_THAT(page, HasSubstr("`tool a\\|b`"));
  EXPECT_THAT(page, HasSubstr("1 to 60"));
  EXPECT_THAT(page, HasSubstr("`< rate_floor`"));
  EXPECT_THAT(page, HasSubstr("| `share` | 0.8 | a paper |"));
  EXPECT_THAT(page, HasSubstr("Points to `GPU.SLOW`"));
  EXPECT_THAT(page, HasSubstr("**intrusive**"));
  EXPECT_THAT(ChecksDocument(knowledge::Knowledge(base), {}), HasSubstr("not in this version"));
}

}  // namespace
}  // namespace galen::cli
