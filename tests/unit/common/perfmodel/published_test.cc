// Claims about the tables of measurements: how people write them, and how well the published ones
// are predicted.
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/perfmodel/holdout.h"
#include "common/perfmodel/tables/read_table.h"
#include "common/yaml/yaml.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::perfmodel {
namespace {

using ::testing::HasSubstr;

using AllFacts = std::map<std::string, std::map<std::string, double>>;

const AllFacts& Shipped() {
  static const AllFacts* const all = [] {
    std::ifstream in(GALEN_SOURCE_DIR "/knowledge/hardware/gpus.yaml");
    std::ostringstream text;
    text << in.rdbuf();
    auto* facts = new AllFacts;
    const auto document = ParseYaml(text.str(), "gpus.yaml");
    if (!document.ok()) return facts;
    for (const Yaml& model : document->Find("hardware")->items) {
      for (const auto& fact : model.Find("facts")->fields) {
        double value = 0;
        if (absl::SimpleAtod(fact.value.scalar, &value)) {
          (*facts)[model.Find("model")->scalar][fact.name] = value;
        }
      }
    }
    return facts;
  }();
  return *all;
}

const std::map<std::string, double>* Facts(const std::string& model) {
  const auto found = Shipped().find(model);
  return found != Shipped().end() ? &found->second : nullptr;
}

std::string Refusal(const std::string& entry) {
  return std::string(
      ReadTable(absl::StrCat("measurements:\n", entry), "own.yaml", Facts).status().message());
}

TEST(Table, WhatIsWrongIsToldByFileAndLine) {
  struct Case {
    const char* entry;
    const char* message;
  };
  for (const Case& one : {
           Case{"  - {gpu: L40S, resource: memory, gb_s: 700}", "needs id"},
           Case{"  - {id: a, gpu: TPU, resource: memory, gb_s: 7}", "TPU is not a model"},
           Case{"  - {id: a, gpu: L40S, resource: memory, gb_s: -7}", "not a positive number"},
           Case{"  - {id: a, gpu: L40S, resource: memory, gb_s: nan}", "not a positive number"},
           Case{"  - {id: a, gpu: L40S, resource: soul, gb_s: 7}", "is not a rate"},
           Case{"  - {id: a, gpu: L40S, resource: memory}", "says nothing measured"},
           Case{"  - {id: a, gpu: L40S, resource: compute, tflops: 7}", "needs precision"},
           Case{"  - {id: a, gpu: L40S, colour: red}", "colour: unknown"},
           Case{"  - {id: a, gpu: L40S}", "needs one of"},
           Case{"  - {id: a, gpu: L40S, collective: gossip, ranks: 2, bytes: 9, bus_gb_s: 1}",
                "gossip"},
           Case{"  - {id: a, gpu: L40S, collective: all_reduce, ranks: 1, bytes: 9, bus_gb_s: 1}",
                "needs ranks"},
           Case{"  - {id: a, gpu: L40S, shape: 'layers=2', seconds: 1}", "hidden: is missing"},
           Case{"  - {id: a, gpu: L40S, nics: many, resource: memory, gb_s: 1}", "COUNTxGBITS"},
           Case{"  - {id: a, gpu: L40S, resource: memory, gb_s: 7}\n"
                "  - {id: a, gpu: L40S, resource: memory, gb_s: 7}",
                "id: a is also in own.yaml:2"},
           Case{"  - {id: a, gpu: L40S, collective: all_reduce, ranks: 2, bytes: 9, bus_gb_s: 1, "
                "microseconds: 1}",
                "bus_gb_s and microseconds"},
           Case{"  - {id: a, gpu: L40S, shape: x, seconds: 1, tokens_per_gpu: 2}",
                "seconds and tokens_per_gpu"},
           Case{"  - {id: a, gpu: L40S, resource: memory, gb_s: 7, tflops: 3}", "tflops and gb_s"},
       }) {
    EXPECT_THAT(Refusal(one.entry), HasSubstr(one.message)) << one.entry;
    EXPECT_THAT(Refusal(one.entry), HasSubstr("own.yaml:")) << one.entry;
  }
  EXPECT_THAT(std::string(ReadTable("shapes: 1", "own.yaml", Facts).status().message()),
              HasSubstr("measurements:"));
}

TEST(Table, AJobOfAFileIsReadAsAnEntryIs) {
  const auto read = ReadJobFile(
      "gpu: H100-SXM5-80GB\nnics: 8x400\nfabric: infiniband\nshape: >-\n  "
      "layers=2,hidden=64,heads=4,"
      "vocabulary=10,sequence=8,batch=8,precision=bf16,gpus=8,tp=2\n",
      "job.yaml", Facts);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->job.layout.data, 4);
  EXPECT_DOUBLE_EQ(read->machine.nics, 400e9);
  EXPECT_TRUE(read->machine.adds_in_switch);
  EXPECT_FALSE(ReadJobFile("gpu: H100-SXM5-80GB\nseconds: 3\n", "job.yaml", Facts).ok());
}

class Published : public ::testing::Test {
 protected:
  Published() {
    auto all = LoadTables({GALEN_SOURCE_DIR "/knowledge"}, Facts);
    EXPECT_TRUE(all.ok()) << all.status();
    if (all.ok()) all_ = *std::move(all);
  }
  std::vector<Measurement> all_;
};

TEST_F(Published, EachHasASourceAndIsPredicted) {
  const auto calibration = Calibrate(all_);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  EXPECT_THAT(calibration->unused, ::testing::IsEmpty());
  for (const Measurement& one : all_) {
    EXPECT_FALSE(one.source.empty()) << one.id;
    EXPECT_TRUE(Predict(one, calibration->factors).ok()) << one.id;
  }
}

TEST_F(Published, EachFileOfASourceIsThere) {
  namespace fs = std::filesystem;
  const fs::path shared = fs::path(GALEN_SOURCE_DIR) / ".." / "shared";
  if (!fs::exists(shared / "fixtures")) GTEST_SKIP() << "no ../shared/fixtures here";
  std::size_t files = 0;
  for (const Measurement& one : all_) {
    const absl::string_view source = one.source;
    if (!absl::StartsWith(source, "fixtures/")) continue;
    const std::string file(source.substr(0, source.find_first_of(",:;")));
    EXPECT_TRUE(fs::exists(shared / file)) << one.id << ": " << file;
    ++files;
  }
  EXPECT_GE(files, 50U);
}

// A median absolute error of at most 10 % after calibration on the first half was asked for.
TEST_F(Published, TheOtherHalfIsPredictedToTenPercent) {
  const auto trial = TryHalf(all_, 0.9);
  ASSERT_TRUE(trial.ok()) << trial.status();
  const Errors all = ErrorsOf(*trial, std::nullopt, false);
  EXPECT_GE(all.tested, 35U);
  EXPECT_LE(all.median, 0.10);
  // The intervals for 90 % may cover less only by three standard deviations of a fair count.
  const auto tested = static_cast<double>(all.tested);
  EXPECT_GE(static_cast<double>(all.covered), 0.9 * tested - 3 * std::sqrt(0.09 * tested));
  for (const auto kind : {Measured::kRate, Measured::kTransfer}) {
    EXPECT_LE(ErrorsOf(*trial, kind, false).median, 0.10) << ToString(kind);
  }
  EXPECT_LE(ErrorsOf(*trial, Measured::kStep, false).median, 0.15);
}

}  // namespace
}  // namespace galen::perfmodel
