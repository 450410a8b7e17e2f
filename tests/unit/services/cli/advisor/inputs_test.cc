#include "services/cli/advisor/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/testing/status_matchers.h"

namespace galen::cli {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(HardwareFile, IsReadAsYamlAndAsJson) {
  for (const char* text :
       {"gpu: NVIDIA H100 80GB HBM3\nnic: MT4129\ndriver: 535.129.03\ngpus_per_node: 8\n"
        "clock_limit: 1\npower_limit: 0.8\nsettings: {ecc: 'on'}\nconditions: [acs_enabled]\n"
        "versions: {nccl: 2.19.3, fabric_manager: [535.104.12, 535.129.03]}\n",
        R"({"gpu": "NVIDIA H100 80GB HBM3", "nic": "MT4129", "driver": "535.129.03",
            "gpus_per_node": 8, "clock_limit": 1, "power_limit": 0.8, "settings": {"ecc": "on"},
            "conditions": ["acs_enabled"],
            "versions": {"nccl": "2.19.3", "fabric_manager": ["535.104.12", "535.129.03"]}})"}) {
    advisor::v1::RegisterJobRequest request;
    ASSERT_THAT(ReadHardware(text, "hardware", request), IsOk());
    EXPECT_EQ(request.hardware().gpu(), "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(request.hardware().nic(), "MT4129");
    EXPECT_EQ(request.hardware().driver(), "535.129.03");
    EXPECT_EQ(request.hardware().gpus_per_node(), 8);
    EXPECT_EQ(request.hardware().power_limit(), 0.8);
    EXPECT_EQ(request.hardware().settings().at("ecc"), "on");
    EXPECT_THAT(request.conditions(), ElementsAre("acs_enabled"));
    EXPECT_THAT(request.versions().at("nccl").versions(), ElementsAre("2.19.3"));
    EXPECT_THAT(request.versions().at("fabric_manager").versions(),
                ElementsAre("535.104.12", "535.129.03"));
  }
}

TEST(HardwareFile, RefusesWhatItDoesNotKnowAndSaysWhere) {
  const auto refused = [](const char* text, const char* why) {
    advisor::v1::RegisterJobRequest request;
    EXPECT_THAT(ReadHardware(text, "hardware", request),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)))
        << text;
  };
  refused("- gpu", "is a map");
  refused("gpu: A\nGPU: A", "hardware:2: GPU: unknown");
  refused("gpus_per_node: -1", "between 0 and 1,024");
  refused("power_limit: much", "power_limit: is a number");
  refused("power_limit: nan", "power_limit: is a number");
  refused("settings: [ecc]", "settings");
  refused("versions: 2.19", "versions: is a map");
  refused("gpu: [A", "hardware:");
}

TEST(SignatureFile, IsWhatSignPrints) {
  const auto signature = ReadSignature(R"({"archetype": "a", "stack": "b"})", "s.json");
  ASSERT_THAT(signature, IsOk());
  EXPECT_EQ(signature->archetype(), "a");
  EXPECT_EQ(signature->stack(), "b");
  for (const char* text : {"", "archetype a", "[]", R"({"key": "secret"})"}) {
    EXPECT_THAT(ReadSignature(text, "s.json"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("s.json: is not what")))
        << text;
  }
}

TEST(Settings, AreNamesAndValues) {
  const auto setting = ParseSetting("--setting", "a=b=c");
  ASSERT_THAT(setting, IsOk());
  EXPECT_EQ(setting->name, "a");
  EXPECT_EQ(setting->value, "b=c");
  for (const char* text : {"", "a", "=b", "a="}) {
    EXPECT_THAT(ParseSetting("--setting", text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--setting")));
  }
  advisor::v1::ReportProgressRequest request;
  ASSERT_THAT(ParseSigns({"ecc_corrected=2"}, request), IsOk());
  EXPECT_EQ(request.signs(0).level(), 2);
  EXPECT_THAT(ParseSigns({"ecc_corrected=4"}, request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a level is 0, 1, 2 or 3")));
}

TEST(Inputs, AreBoundedAndKeysLoseTheEndOfTheirLine) {
  std::istringstream in("0123456789abcdef\n");
  EXPECT_EQ(*ReadKey("-", in), "0123456789abcdef");
  std::istringstream large(std::string(5000, 'k'));
  EXPECT_THAT(ReadKey("-", large),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than 4096")));
  EXPECT_THAT(ReadInput("/there/is/none", in),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/there/is/none")));
}

}  // namespace
}  // namespace galen::cli
