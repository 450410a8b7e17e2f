// Claims about `galen model`.
#include "services/cli/perfmodel/model_command.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace galen::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

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
    CLI::App app;
    ModelArguments arguments;
    const CLI::App* model = DeclareModel(app, arguments);
    words.insert(words.end(), {"--knowledge", GALEN_SOURCE_DIR "/knowledge"});
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
