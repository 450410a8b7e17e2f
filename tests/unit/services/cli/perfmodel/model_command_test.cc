// Claims about `galen model`.
#include "services/cli/perfmodel/model_command.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace galen::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kShape[] =
    "layers=32,hidden=4096,heads=32,kv_heads=8,ffn=14336,gated=true,vocabulary=128256,sequence="
    "8192,"
    "batch=32,precision=bf16,gpus=32,zero=3,recompute=selective,flash=true";

class ModelCommandTest : public ::testing::Test {
 protected:
  ModelCommandTest() {
    std::string root = ::testing::TempDir() + "galen-model-XXXXXX";
    root_ = ::mkdtemp(root.data());
  }
  ~ModelCommandTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(fs::path(root_) / name) << text;
    return (fs::path(root_) / name).string();
  }
  ExitCode Run(std::vector<std::string> words) {
    words.insert(words.end(), {"--knowledge", GALEN_SOURCE_DIR "/knowledge"});
    return RunAlone(std::move(words));
  }
  ExitCode RunSteady(std::vector<std::string> words) {
    words.insert(words.begin(), {"model", "steady"});
    return RunAlone(std::move(words));
  }
  ExitCode RunAlone(std::vector<std::string> words) {
    CLI::App app;
    ModelArguments arguments;
    const CLI::App* model = DeclareModel(app, arguments);
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(words);
    out_.str("");
    err_.str("");
    return RunModel(*model, arguments, console_);
  }
  std::vector<std::string> Predict(const std::string& command) {
    return {"model",  command,  "--shape",  kShape, "--gpu", "NVIDIA H100 80GB HBM3",
            "--nics", "32x100", "--fabric", "efa"};
  }

  std::string root_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  Console console_{in_, out_, err_, Terminal{}};
};

TEST_F(ModelCommandTest, PredictsAStepByTheNameThatADriverGives) {
  ASSERT_EQ(Run(Predict("predict")), kOk) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("step"), HasSubstr("at 9"), HasSubstr("tokens"),
                                HasSubstr("power       unknown")));
}

TEST_F(ModelCommandTest, ExplainsWhereTheTimeGoesAndDrawsIt) {
  const std::string roofline = root_ + "/roof.svg";
  const std::string mix = root_ + "/mix.svg";
  auto words = Predict("explain");
  words.insert(words.end(), {"--roofline", roofline, "--mix", mix});
  ASSERT_EQ(Run(words), kOk) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("products of matrices"), HasSubstr("all_gather"),
                                HasSubstr("may hide"), HasSubstr("bytes of memory")));
  EXPECT_GT(fs::file_size(roofline), 1000U);
  EXPECT_GT(fs::file_size(mix), 1000U);
}

TEST_F(ModelCommandTest, JsonSaysTheSameAndItsPartsAddUp) {
  auto words = Predict("explain");
  words.emplace_back("--json");
  ASSERT_EQ(Run(words), kOk) << err_.str();
  const auto json = nlohmann::json::parse(out_.str(), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  const auto& parts = json["seconds"];
  EXPECT_NEAR(parts["compute"].get<double>() + parts["memory"].get<double>() +
                  parts["interconnect"].get<double>() + parts["bubble"].get<double>(),
              json["step_seconds"]["expected"].get<double>(), 1e-9);
  EXPECT_TRUE(json["power_watts"].is_null());
}

TEST_F(ModelCommandTest, OwnMeasurementsCalibrate) {
  const std::string own = Write("own.yaml", R"(measurements:
  - {id: own-1, gpu: H100-SXM5-80GB, nics: 32x100, fabric: efa, seconds: 3.0, power_w: 500, shape: ")" +
                                                std::string(kShape) + R"("}
  - {id: own-2, gpu: H100-SXM5-80GB, nics: 32x100, fabric: efa, seconds: 3.0, power_w: 500, shape: ")" +
                                                std::string(kShape) + R"("}
  - {id: own-3, gpu: H100-SXM5-80GB, nics: 32x100, fabric: efa, seconds: 3.0, power_w: 500, shape: ")" +
                                                std::string(kShape) + R"("}
)");
  auto words = Predict("predict");
  words.emplace_back("--json");
  ASSERT_EQ(Run(words), kOk) << err_.str();
  const auto before = nlohmann::json::parse(out_.str(), nullptr, false);
  words.insert(words.end(), {"--measured", own});
  ASSERT_EQ(Run(words), kOk) << err_.str();
  const auto after = nlohmann::json::parse(out_.str(), nullptr, false);
  const auto miss = [](const nlohmann::json& json) {
    return std::abs(json["step_seconds"]["expected"].get<double>() - 3.0);
  };
  EXPECT_LT(miss(after), miss(before) / 2);
  EXPECT_NEAR(after["power_watts"]["expected"].get<double>(), 500, 1);
}

TEST_F(ModelCommandTest, TheTestPrintsItsTable) {
  ASSERT_EQ(Run({"model", "calibrate", "--test", "--splits", "3"}), kOk) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("median"), HasSubstr("held out"), HasSubstr("transfers"),
                                HasSubstr("3 other halves")));
  ASSERT_EQ(Run({"model", "calibrate"}), kOk) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("ring.nvlink"), HasSubstr("overlap")));
}

TEST_F(ModelCommandTest, AMeasurementCountsOnce) {
  const std::string entry = R"(measurements:
  - {id: memory-1, gpu: H100-SXM5-80GB, resource: memory, gb_s: 2510}
)";
  const std::string own = Write("own.yaml", entry);
  EXPECT_EQ(Run({"model", "calibrate", own}), kOk) << err_.str();
  EXPECT_EQ(Run({"model", "calibrate", own, own}), kBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("own.yaml:2: id: memory-1 is also in"));
  // The same file in the site's own knowledge.
  fs::create_directories(root_ + "/site/perfmodel");
  const std::string site = Write("site/perfmodel/runs.yaml", entry);
  EXPECT_EQ(Run({"model", "calibrate", own, "--knowledge", root_ + "/site"}), kBadInput);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr(own), HasSubstr("site/perfmodel/runs.yaml")));
}

TEST_F(ModelCommandTest, AFileOfAJobAndFlagsOfOneExcludeEachOther) {
  const std::string job =
      Write("job.yaml",
            "gpu: H100-SXM5-80GB\nnics: 32x100\nfabric: efa\nshape: " + std::string(kShape) + "\n");
  ASSERT_EQ(Run({"model", "predict", "--job", job}), kOk) << err_.str();
  for (const auto& [flag, value] :
       std::vector<std::pair<std::string, std::string>>{{"--nics", "8x400"},
                                                        {"--gpus-per-node", "4"},
                                                        {"--fabric", "roce"},
                                                        {"--gpu", "A100-SXM4-80GB"},
                                                        {"--shape", kShape}}) {
    EXPECT_THROW(Run({"model", "predict", "--job", job, flag, value}), CLI::ExcludesError) << flag;
  }
}

TEST_F(ModelCommandTest, IntervalsOfACalibrationAreAtTheConfidenceAskedFor) {
  ASSERT_EQ(Run({"model", "calibrate", "--confidence", "0.8"}), kOk) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("interval at 80 %"), Not(HasSubstr("(90 %)"))));
  ASSERT_EQ(Run({"model", "calibrate", "--confidence", "0.5", "--json"}), kOk) << err_.str();
  const auto narrow = nlohmann::json::parse(out_.str(), nullptr, false);
  ASSERT_EQ(Run({"model", "calibrate", "--json"}), kOk) << err_.str();
  const auto wide = nlohmann::json::parse(out_.str(), nullptr, false);
  EXPECT_EQ(narrow["intervals"]["rate"]["confidence"], 0.5);
  EXPECT_LT(narrow["intervals"]["rate"]["high"].get<double>(),
            wide["intervals"]["rate"]["high"].get<double>());
}

TEST_F(ModelCommandTest, AMeasuredStepStandsToWhatIsExpected) {
  struct Case {
    const char* seconds;
    const char* standing;
  };
  for (const Case& one : {Case{"0.1", "below"}, Case{"1.2", "within"}, Case{"100", "above"}}) {
    auto words = Predict("predict");
    words.insert(words.end(), {"--took", one.seconds});
    ASSERT_EQ(Run(words), kOk) << err_.str();
    EXPECT_THAT(out_.str(), HasSubstr(std::string(one.standing) + " what is expected"));
    words.emplace_back("--json");
    ASSERT_EQ(Run(words), kOk) << err_.str();
    EXPECT_EQ(nlohmann::json::parse(out_.str(), nullptr, false)["took"]["standing"], one.standing);
  }
}

// A run that warms up, then alternates by half a percent.
std::string Samples(int count, const char* before = "") {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += before + std::to_string((i < 12 ? 150 - 4 * i : 100) + (i % 2) * 0.5) + "\n";
  }
  return text;
}

TEST_F(ModelCommandTest, SaysWhetherAMeanIsKnown) {
  const std::string many = Write("many.txt", Samples(160));
  ASSERT_EQ(RunSteady({many}), kOk) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("mean        100.25"), HasSubstr("160 read; 12 of warm-up"),
                    HasSubstr("known       yes")));
  ASSERT_EQ(RunSteady({many, "--json"}), kOk) << err_.str();
  const auto json = nlohmann::json::parse(out_.str(), nullptr, false);
  EXPECT_EQ(json["enough"], true);
  EXPECT_EQ(json["warm_up"], 12);
  EXPECT_LE(json["low"].get<double>(), json["mean"].get<double>());
  // The same as a column of a table, by its name and by its number.
  const std::string table = Write("table.csv", "gpu,\"step ms\"\n" + Samples(160, "3, "));
  for (const char* column : {"step ms", "2"}) {
    ASSERT_EQ(RunSteady({table, "--column", column}), kOk) << err_.str();
    EXPECT_THAT(out_.str(), HasSubstr("mean        100.25"));
  }
}

TEST_F(ModelCommandTest, SaysWhyAMeanIsNotKnown) {
  ASSERT_EQ(RunSteady({Write("few.txt", Samples(39))}), kOk) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("unknown"), HasSubstr("no: 39 samples are too few")));
  ASSERT_EQ(RunSteady({Write("few.txt", Samples(39)), "--json"}), kOk);
  EXPECT_TRUE(nlohmann::json::parse(out_.str(), nullptr, false)["mean"].is_null());
  std::string drift;
  for (int i = 0; i < 160; ++i) drift += std::to_string(1000 - i) + "\n";
  ASSERT_EQ(RunSteady({Write("drift.txt", drift)}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("known       no"));
  std::string wide;
  for (int i = 0; i < 160; ++i) wide += std::to_string(100 + (i * 7919) % 101) + "\n";
  ASSERT_EQ(RunSteady({Write("wide.txt", wide), "--within", "0.001"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("0.1 % is asked for"));
}

TEST_F(ModelCommandTest, SamplesThatAreNoneAreToldByTheirLine) {
  struct Case {
    const char* text;
    const char* column;
    const char* message;
  };
  for (const Case& one :
       {Case{"1\nfast\n", "", "s.txt:2: fast: is not a number"}, Case{"nan\n", "", "s.txt:1: nan"},
        Case{"1,2\n", "", "s.txt:1: has several fields"},
        Case{"a,b\n1,2\n", "c", "names no column c"},
        Case{"a,b\n1,2\n3\n", "b", "s.txt:3: has no column 2"},
        Case{"1\n", "0", "columns count from 1"}, Case{"a\nb\n", "1", "s.txt:2: b"}}) {
    std::vector<std::string> words = {Write("s.txt", one.text)};
    if (*one.column != '\0') words.insert(words.end(), {"--column", one.column});
    EXPECT_EQ(RunSteady(words), kBadInput) << one.text;
    EXPECT_THAT(err_.str(), HasSubstr(one.message));
  }
  EXPECT_EQ(RunSteady({root_ + "/none.txt"}), kBadInput);
  EXPECT_EQ(RunSteady({Write("s.txt", "1\n"), "--within", "0"}), kBadInput);
}

TEST_F(ModelCommandTest, WhatIsWrongIsTold) {
  EXPECT_EQ(Run({"model", "predict"}), kBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("--shape"));
  EXPECT_EQ(Run({"model", "predict", "--shape", kShape, "--gpu", "Abacus"}), kBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("Abacus"));
  EXPECT_EQ(Run({"model", "calibrate", root_ + "/none.yaml"}), kBadInput);
  EXPECT_EQ(Run({"model", "calibrate", "--alone"}), kBadInput);
  EXPECT_EQ(Run({"model", "calibrate", Write("bad.yaml", "measurements: 7\n")}), kBadInput);
  EXPECT_THAT(err_.str(), HasSubstr("bad.yaml:"));
}

}  // namespace
}  // namespace galen::cli
