#include "bench/eval/corpus/corpus.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::eval {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

class CorpusTest : public testing::Test {
 protected:
  CorpusTest()
      : directory_(fs::path(testing::TempDir()) /
                   testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(directory_);
    fs::create_directories(directory_ / "bundles");
  }
  ~CorpusTest() override { fs::remove_all(directory_); }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name, std::ios::binary) << text;
  }
  absl::Status Refused(const std::string& answers) const {
    Write("answers.jsonl", answers);
    return ReadCorpora({directory_.string()}).status();
  }

  const fs::path directory_;
};

TEST_F(CorpusTest, ReadsAnswersWithTheirIncidentsAndBundles) {
  Write("answers.jsonl",
        R"({"id": "a", "labels": ["GPU.X.Y"], "labels_secondary": ["GPU.X.Z"], )"
        R"("labels_acceptable": ["GPU.X.W"], "faulty": ["n1"], "hosts": ["n1", "n2"]})"
        "\n\n"
        R"({"id": "b", "labels": []})"
        "\n");
  Write("incidents.jsonl",
        R"({"id": "a", "title": "T", "source": "https://x/1", "description": "D", )"
        R"("logs": ["l1"], "environment": {"gpu": "H100", "nccl": 2}, "misleading": true})"
        "\n");
  fs::create_directory(directory_ / "bundles" / "a");
  Write("bundles/b.tar.gz", "");

  const auto corpus = ReadCorpora({directory_.string()});

  ASSERT_TRUE(corpus.ok()) << corpus.status();
  ASSERT_EQ(corpus->cases.size(), 2);
  const v1::Case& a = corpus->cases[0];
  EXPECT_EQ(a.id(), "a");
  EXPECT_THAT(a.labels(), ElementsAre("GPU.X.Y"));
  EXPECT_THAT(a.labels_secondary(), ElementsAre("GPU.X.Z"));
  EXPECT_THAT(a.labels_acceptable(), ElementsAre("GPU.X.W"));
  EXPECT_THAT(a.faulty(), ElementsAre("n1"));
  EXPECT_THAT(a.hosts(), ElementsAre("n1", "n2"));
  EXPECT_EQ(a.source(), "https://x/1");
  EXPECT_EQ(a.environment().at("nccl"), "2");
  EXPECT_TRUE(a.has_misleading() && a.misleading());
  EXPECT_EQ(a.bundle(), (directory_ / "bundles" / "a").string());
  const v1::Case& b = corpus->cases[1];
  EXPECT_THAT(b.labels(), IsEmpty());
  EXPECT_FALSE(b.has_misleading());
  EXPECT_EQ(b.bundle(), (directory_ / "bundles" / "b.tar.gz").string());
}

TEST_F(CorpusTest, ACaseWithoutABundleIsItsIncident) {
  Write("answers.jsonl", R"({"id": "a", "labels": ["GPU.X.Y"]})");
  Write("incidents.jsonl", R"({"id": "a", "title": "T", "description": "D"})");
  const auto corpus = ReadCorpora({directory_.string()});
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  EXPECT_EQ(corpus->cases[0].bundle(), "");
  EXPECT_EQ(corpus->cases[0].description(), "D");
}

TEST_F(CorpusTest, AReportIsItsTextAndTheFilesBesideIt) {
  fs::create_directories(directory_ / "r1" / "files");
  Write("r1/report.md", "it hangs");
  Write("r1/files/train.log", "");
  Write("r1/files/dmesg.txt", "");
  Write("answers.jsonl",
        R"({"id": "r1", "labels": ["GPU.X.Y"], "acceptable": ["GPU.X.Z"], "never": ["GPU.X.W"], )"
        R"("host": "n1", "device": "gpu:4", "source": "https://x/1"})");
  const auto corpus = ReadCorpora({directory_.string()});
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  const v1::Case& report = corpus->cases[0];
  EXPECT_THAT(report.texts(), ElementsAre((directory_ / "r1" / "report.md").string(),
                                          (directory_ / "r1" / "files" / "dmesg.txt").string(),
                                          (directory_ / "r1" / "files" / "train.log").string()));
  EXPECT_THAT(report.labels_acceptable(), ElementsAre("GPU.X.Z"));
  EXPECT_THAT(report.never(), ElementsAre("GPU.X.W"));
  EXPECT_THAT(report.hosts(), ElementsAre("n1"));
  EXPECT_THAT(report.faulty(), ElementsAre("n1", "gpu:4"));
  EXPECT_EQ(report.source(), "https://x/1");
}

TEST_F(CorpusTest, SeveralCorporaAreReadInOrderAndEachCaseKnowsItsOwn) {
  for (const char* name : {"one", "two"}) {
    fs::create_directories(directory_ / name);
    Write(std::string(name) + "/incidents.jsonl",
          std::string("{\"id\": \"") + name + "\", \"description\": \"D\"}");
    Write(std::string(name) + "/answers.jsonl",
          std::string("{\"id\": \"") + name + "\", \"labels\": []}");
  }
  const std::string one = (directory_ / "one").string();
  const std::string two = (directory_ / "two").string();
  const auto corpora = ReadCorpora({two, one});
  ASSERT_TRUE(corpora.ok()) << corpora.status();
  EXPECT_THAT(corpora->directories, ElementsAre(two, one));
  ASSERT_EQ(corpora->cases.size(), 2);
  EXPECT_EQ(corpora->cases[0].corpus(), "two");
  EXPECT_EQ(corpora->cases[1].corpus(), "one");
  // One answer would be scored twice.
  EXPECT_EQ(ReadCorpora({one, one}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CorpusTest, NodesDeclareWhatChecksSawInTheFormThatChecksRunPrints) {
  Write("answers.jsonl", R"({"id": "a", "labels": []})");
  Write("incidents.jsonl",
        R"({"id": "a", "description": "D", "nodes": [{"name": "n1", "results": [)"
        R"({"check": "gpu.ecc", "findings": [{"name": "errors", "intValue": "3"}]}]}]})");
  const auto corpus = ReadCorpora({directory_.string()});
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  ASSERT_EQ(corpus->cases[0].nodes_size(), 1);
  EXPECT_EQ(corpus->cases[0].nodes(0).results(0).findings(0).int_value(), 3);
}

TEST_F(CorpusTest, AMistakeInANodeNamesFileLineAndNode) {
  Write("answers.jsonl", R"({"id": "a", "labels": []})");
  const struct {
    const char* nodes;
    const char* named;
  } kMistakes[] = {
      {R"("n1")", "incidents.jsonl:1: nodes is no list"},
      {R"([{"results": []}])", "incidents.jsonl:1: nodes is no list"},
      {R"([{"name": "../x"}])", "is no host name, or stands twice"},
      {R"([{"name": "n1"}, {"name": "n1"}])", "is no host name, or stands twice"},
      {R"([{"name": "n1", "results": [{"chek": "gpu.ecc"}]}])",
       "incidents.jsonl:1: node \"n1\", result 1"},
  };
  for (const auto& mistake : kMistakes) {
    Write("incidents.jsonl",
          std::string(R"({"id": "a", "description": "D", "nodes": )") + mistake.nodes + "}");
    const auto corpus = ReadCorpora({directory_.string()});
    EXPECT_EQ(corpus.status().code(), absl::StatusCode::kInvalidArgument) << mistake.nodes;
    EXPECT_THAT(std::string(corpus.status().message()), HasSubstr(mistake.named));
  }
}

TEST_F(CorpusTest, SaysWhichRecordsHaveNoAnswer) {
  Write("answers.jsonl", R"({"id": "a", "labels": []})");
  Write("incidents.jsonl", "{\"id\": \"a\", \"description\": \"D\"}\n{\"id\": \"lost\"}\n");
  const auto corpus = ReadCorpora({directory_.string()});
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  EXPECT_THAT(corpus->remarks, ElementsAre(HasSubstr("lost")));
}

TEST_F(CorpusTest, EachMistakeNamesItsFileAndLine) {
  const struct {
    const char* answers;
    const char* named;
  } kMistakes[] = {
      {"{\"id\": \"a\", \"labels\": []}\n{", "answers.jsonl:2: is no JSON object"},
      {"[1]", "answers.jsonl:1: is no JSON object"},
      {R"({"labels": []})", "answers.jsonl:1: id is missing"},
      {R"({"id": "../etc", "labels": []})", "answers.jsonl:1: id is missing or cannot name"},
      {R"({"id": 7, "labels": []})", "answers.jsonl:1: id is no text"},
      {R"({"id": "a"})", "answers.jsonl:1: has no labels"},
      {R"({"id": "a", "labels": "GPU"})", "answers.jsonl:1: labels is no list"},
      {R"({"id": "a", "labels": [1]})", "answers.jsonl:1: labels is no list"},
      {"{\"id\": \"a\", \"labels\": []}\n\n{\"id\": \"a\", \"labels\": []}",
       "answers.jsonl:3: id \"a\" stands on line 1 already"},
      {R"({"id": "a", "labels": []})", "answers.jsonl:1: case \"a\" has neither bundles/a.tar.gz"},
      {"\xff", "answers.jsonl:1: is not UTF-8"},
      {"\n", "answers.jsonl: holds no case"},
  };
  for (const auto& mistake : kMistakes) {
    const absl::Status status = Refused(mistake.answers);
    EXPECT_FALSE(status.ok()) << mistake.answers;
    EXPECT_THAT(std::string(status.message()), HasSubstr(mistake.named));
  }
}

TEST_F(CorpusTest, NestingWithoutEndIsRefused) {
  const absl::Status status = Refused(R"({"id": "a", "labels": )" + std::string(100'000, '['));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("answers.jsonl:1: nested deeper"));
}

TEST_F(CorpusTest, AMissingDirectoryOrAnswersFileIsNotFound) {
  EXPECT_EQ(ReadCorpora({(directory_ / "none").string()}).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadCorpora({directory_.string()}).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace galen::eval
