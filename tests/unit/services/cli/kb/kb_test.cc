#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/curation/proposal_store.h"
#include "services/cli/kb/add_label.h"
#include "services/cli/kb/history_commands.h"
#include "services/cli/kb/ingest_command.h"
#include "services/cli/kb/inspect.h"
#include "services/cli/kb/lint.h"
#include "services/cli/kb/review.h"
#include "services/cli/kb/table.h"
#include "tests/testing/status_matchers.h"

namespace galen::cli {
namespace {

namespace fs = std::filesystem;
using ::galen::testing::IsOk;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kBook[] = R"(checks:
  - {name: gpu.memory, kind: native, cost: 1s, reads: ['nvidia-smi -q'],
     findings: [{name: ecc_errors, type: int, subject: gpu, abnormal: {op: '>', value: 0}}]}
labels:
  - {label: GPU, title: GPU, first_checks: [gpu.memory]}
  - {label: GPU.MEMORY, title: GPU memory}
  - {label: GPU.MEMORY.ECC, title: Memory error, owner: provider, severity: high, prior: high,
     signals: [{pattern: 'uncorrectable ECC', where: job_log, strength: decisive}],
     confirm: [{check: gpu.memory, finding: ecc_errors, op: '>', value: 0}]}
incidents:
  - {id: old, date: 2025-01-02, title: Dies, label: GPU.MEMORY.ECC}
)";

class KbTest : public ::testing::Test {
 protected:
  KbTest() {
    std::string root = ::testing::TempDir() + "galen-kb-XXXXXX";
    root_ = ::mkdtemp(root.data());
    fs::create_directories(root_ + "/shipped");
    std::ofstream(root_ + "/shipped/book.yaml") << kBook;
    fs::create_directory_symlink(GALEN_SOURCE_DIR "/knowledge/talk", root_ + "/shipped/talk");
    site_ = root_ + "/site";
  }
  ~KbTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  Console& Answering(const std::string& answers) {
    in_.str(answers);
    console_.may_ask = true;
    return console_;
  }
  std::string SiteFile(const std::string& name) const {
    std::ifstream in(site_ + "/" + name);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  std::vector<std::string> Knowledge() const { return {root_ + "/shipped"}; }
  void Propose(const std::string& id, const std::string& label) {
    curation::Proposal proposal{id, "", "incident", "2026-01-02", "t.jsonl:1", "because", {}, ""};
    proposal.knowledge =
        absl::StrCat("incidents:\n  - {id: ", id, ", title: T, label: ", label, "}\n");
    ASSERT_THAT(curation::ProposalStore({site_}).Propose(proposal), IsOk());
  }
  ReviewArguments Review() const {
    ReviewArguments arguments;
    arguments.knowledge = Knowledge();
    arguments.site = site_;
    arguments.by = "ada";
    return arguments;
  }
  static absl::Status NoEditor(const std::string&) { return absl::UnavailableError("no editor"); }

  std::string root_;
  std::string site_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  Console console_{in_, out_, err_, {.interactive = false, .width = 100}, false};
};

TEST_F(KbTest, TicketsWithAnEstablishedCauseBecomeTheSitesHistory) {
  std::ofstream(root_ + "/t.jsonl")
      << R"({"id":"T-1","title":"Steps fail with ECC","label":"GPU.MEMORY.ECC"})"
      << "\n"
      << R"({"id":"T-2","title":"Other","label":"GPU.MEMORY"})"
      << "\n"
      << R"({"id":"T-3","title":"Unknown"})"
      << "\n";
  HistoryAddArguments add;
  add.knowledge = Knowledge();
  add.directory = root_ + "/history";
  add.files = {root_ + "/t.jsonl"};
  EXPECT_EQ(AddToHistory(add, console_), kOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("3 tickets: 1 added, 0 there already, 2 left out"));
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("T-2: \"GPU.MEMORY\" is not a leaf of the taxonomy"),
                                HasSubstr("T-3: names no cause; `galen kb ingest` proposes one")));
  EXPECT_EQ(AddToHistory(add, console_), kNoCause);
  EXPECT_THAT(out_.str(), HasSubstr("3 tickets: 0 added, 1 there already, 2 left out"));

  HistorySearchArguments search;
  search.directory = add.directory;
  search.words = {"ECC", "steps"};
  search.json = true;
  EXPECT_EQ(SearchHistory(search, console_), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("\"id\": \"T-1\", \"label\": \"GPU.MEMORY.ECC\""));
  search.words = {"unrelated"};
  EXPECT_EQ(SearchHistory(search, console_), kNoCause);
  search.directory = root_ + "/none";
  EXPECT_EQ(SearchHistory(search, console_), kBadInput);
  EXPECT_FALSE(fs::exists(search.directory));
}

TEST_F(KbTest, TheGuideAsksForEverythingAndWritesWhatLintAccepts) {
  AddLabelArguments arguments;
  arguments.knowledge = Knowledge();
  arguments.site = site_;
  EXPECT_EQ(AddLabel(arguments, Answering("GPU.MEMORY.HOT\nMemory too hot\nIt throttles.\n"
                                          "slow steps\n\n"
                                          "kernel_log strong HBM over temperature\n\n"
                                          "site.heat\n/run/heat\nhot bool node ^hot\n\n"
                                          "site.heat hot == true\n\n\n"
                                          "site.heat hot == false\n\n"
                                          "provider\nhigh\nlow\nCool it\n")),
            kOk)
      << err_.str();
  const std::string text = SiteFile("gpu.memory.hot.yaml");
  EXPECT_THAT(text, AllOf(HasSubstr("label: GPU.MEMORY.HOT"), HasSubstr("name: site.heat"),
                          HasSubstr("file: /run/heat"), HasSubstr("mitigation: Cool it"),
                          HasSubstr("defining: true"), HasSubstr("pattern: HBM over temperature"),
                          HasSubstr("added: 20")));
  EXPECT_EQ(LintKnowledge({root_ + "/shipped", site_}, false, console_), kOk) << out_.str();
}

TEST_F(KbTest, TheGuideThatIsLeftWritesNothing) {
  AddLabelArguments arguments;
  arguments.knowledge = Knowledge();
  arguments.site = site_;
  EXPECT_EQ(AddLabel(arguments, Answering("GPU.MEMORY.HOT\nMemory too hot\n")), kBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("gpu.memory.hot.yaml:2: error: label GPU.MEMORY.HOT is a leaf "
                                    "without a rule"));
  EXPECT_FALSE(fs::exists(site_ + "/gpu.memory.hot.yaml"));
}

TEST_F(KbTest, ALabelThatThereIsAlreadyIsReplacedOnlyWhenAsked) {
  AddLabelArguments arguments;
  arguments.knowledge = Knowledge();
  arguments.site = site_;
  arguments.label = "GPU.MEMORY.ECC";
  arguments.title = "Ours";
  arguments.confirm = {"gpu.memory ecc_errors > 3"};
  arguments.owner = "provider";
  arguments.severity = "high";
  arguments.prior = "high";
  EXPECT_EQ(AddLabel(arguments, console_), kBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("is already in book.yaml:7; --replace"));
  arguments.replace = true;
  EXPECT_EQ(AddLabel(arguments, console_), kOk) << err_.str();
}

TEST_F(KbTest, ReviewShowsAsksAndRecords) {
  Propose("a", "GPU.MEMORY.ECC");
  Propose("b", "GPU.MEMORY.ECC");
  Propose("c", "GPU.MEMORY.ECC");
  EXPECT_EQ(ReviewProposals(Review(), &NoEditor, Answering("a\nr\nthe same as a\ns\n")), kOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("incident a"), HasSubstr("because"),
                                HasSubstr("accepted a: "), HasSubstr("rejected b")));
  EXPECT_THAT(SiteFile("accepted/a.yaml"), HasSubstr("# Accepted by ada on "));
  out_.str("");
  ReviewArguments list = Review();
  list.list = true;
  EXPECT_EQ(ReviewProposals(list, &NoEditor, console_), kOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("c "), HasSubstr("1 proposal waits")));
  list.decisions = true;
  EXPECT_EQ(ReviewProposals(list, &NoEditor, console_), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("the same as a"));
}

TEST_F(KbTest, AnEditIsTakenAndAMistakeOfItIsToldUntilItIsMended) {
  Propose("a", "GPU.MEMORY.ECC");
  int edits = 0;
  const Editor edit = [&](const std::string& path) {
    std::ifstream in(path);
    std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const std::string from = edits == 0 ? "GPU.MEMORY.ECC" : "GPU.MEMORY.EEC";
    const std::string to = edits == 0 ? "GPU.MEMORY.EEC" : "GPU.MEMORY.ECC";
    ++edits;
    text.replace(text.find(from), from.size(), to);
    std::ofstream(path) << text;
    return absl::OkStatus();
  };
  EXPECT_EQ(ReviewProposals(Review(), edit, Answering("e\na\ne\na\n")), kOk);
  EXPECT_EQ(edits, 2);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("proposals/a.yaml:"),
                                HasSubstr("names the unknown label GPU.MEMORY.EEC; did you mean"),
                                HasSubstr("accepted a: ")));
}

TEST_F(KbTest, AnEditorThatFailsChangesNothing) {
  Propose("a", "GPU.MEMORY.ECC");
  EXPECT_EQ(ReviewProposals(Review(), &NoEditor, Answering("e\nq\n")), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("no editor"));
  EXPECT_TRUE(fs::exists(site_ + "/proposals/a.yaml"));
}

TEST_F(KbTest, OneOfManyThatIsRefusedDoesNotKeepTheOthersWaiting) {
  Propose("a", "NO.SUCH.LABEL");
  Propose("b", "GPU.MEMORY.ECC");
  ReviewArguments all = Review();
  all.accept = {"all"};
  EXPECT_EQ(ReviewProposals(all, &NoEditor, console_), kBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("proposal a is not accepted"));
  EXPECT_TRUE(fs::exists(site_ + "/accepted/b.yaml"));
  EXPECT_TRUE(fs::exists(site_ + "/proposals/a.yaml"));
}

TEST_F(KbTest, WithoutASiteNothingIsWrittenToTheShippedKnowledge) {
  ReviewArguments arguments = Review();
  arguments.site.clear();
  EXPECT_EQ(ReviewProposals(arguments, &NoEditor, console_), kBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("--site"));
}

TEST_F(KbTest, ADryRunOfIngestionWritesNothing) {
  std::ofstream(root_ + "/t.jsonl")
      << "{\"id\": \"T\", \"title\": \"Dies\", \"logs\": [\"uncorrectable ECC\"]}\n";
  IngestArguments arguments;
  arguments.knowledge = Knowledge();
  arguments.site = site_;
  arguments.files = {root_ + "/t.jsonl"};
  arguments.dry_run = true;
  EXPECT_EQ(IngestTickets(arguments, console_), kOk) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("GPU.MEMORY.ECC"), HasSubstr("1 proposals, none written")));
  EXPECT_FALSE(fs::exists(site_));
  arguments.files = {root_ + "/none.jsonl"};
  EXPECT_EQ(IngestTickets(arguments, console_), kBadInput);
}

TEST_F(KbTest, StatisticsAreATableAndTheSameAsJson) {
  EXPECT_EQ(TellStatistics(Knowledge(), false, console_), kOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("GPU            1          1       1        1.00"),
                                HasSubstr("2025-01           1          1  #")));
  out_.str("");
  EXPECT_EQ(TellStatistics(Knowledge(), true, console_), kOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("\"recurrence\": 1.0000"),
                                HasSubstr("\"new_labels\": [\"GPU.MEMORY.ECC\"]")));
}

TEST_F(KbTest, LintAsJsonNamesFileAndLine) {
  fs::create_directories(site_);
  std::ofstream(site_ + "/bad.yaml") << "labels:\n  - {label: GPU.MEMORY.X, title: T}\n";
  EXPECT_EQ(LintKnowledge({root_ + "/shipped", site_}, true, console_), kBadInput);
  EXPECT_THAT(out_.str(), HasSubstr(absl::StrCat("{\"severity\": \"error\", \"file\": \"", site_,
                                                 "/bad.yaml\", \"line\": 2")));
}

TEST_F(KbTest, LintReadsWhatALogTriageGoesBy) {
  fs::create_directories(site_ + "/triage");
  std::ofstream(site_ + "/triage/ours.yaml")
      << "classes:\n  - {name: licence, title: T, relation: cause, patterns: ['(']}\n";
  EXPECT_EQ(LintKnowledge({root_ + "/shipped", site_}, false, console_), kBadInput);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr(site_ + "/triage/ours.yaml:2"),
                                HasSubstr("\"(\" is not a valid RE2 expression")));
}

TEST_F(KbTest, SearchThatFindsNothingSaysSo) {
  SearchArguments arguments;
  arguments.knowledge = Knowledge();
  arguments.words = {"zebra"};
  EXPECT_EQ(SearchKnowledge(arguments, console_), kNoCause);
  arguments.words = {"memory", "error"};
  EXPECT_EQ(SearchKnowledge(arguments, console_), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("label     GPU.MEMORY.ECC"));
}

TEST_F(KbTest, DiffOfADigestThatNobodyLoadedSaysWhatToGiveInstead) {
  DiffArguments arguments{"0123456789abcdef", root_ + "/shipped", false};
  EXPECT_NE(DiffKnowledge(arguments, console_), kOk);
  EXPECT_THAT(err_.str(), HasSubstr("give its directories"));
}

TEST_F(KbTest, LintReadsTheWordsOfTalk) {
  fs::create_directories(site_ + "/talk");
  std::ofstream(site_ + "/talk/ours.yaml") << "lists:\n  came_right: {phrases: [purrs]}\n";
  EXPECT_EQ(LintKnowledge({root_ + "/shipped", site_}, false, console_), kOk) << out_.str();
  std::ofstream(site_ + "/talk/ours.yaml") << "lists:\n  came_rightt: {phrases: [purrs]}\n";
  EXPECT_EQ(LintKnowledge({root_ + "/shipped", site_}, false, console_), kBadInput);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("talk/ours.yaml:2: came_rightt: no list has this name"),
                                HasSubstr("outcomes.yaml")));
}

TEST(Table, ColumnsLineUpAndNothingTrails) {
  EXPECT_EQ(Table({"name", ">count"}, {{"a", "1"}, {"longer", "1000"}}, {}),
            "name    count\na           1\nlonger   1000\n");
}

}  // namespace
}  // namespace galen::cli
