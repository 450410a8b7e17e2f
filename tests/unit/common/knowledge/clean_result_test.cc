#include "common/knowledge/clean_result.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "common/base/text.h"

namespace galen::knowledge {
namespace {

// A hostile node may put this into any text.
std::string Nonsense() {
  std::string text = "\x1b[2Jred\xff\xfe ";
  while (text.size() < (std::size_t{1} << 20)) text += "nonsense ";
  return text;
}

TEST(CleanResult, LeavesNothingLongNorUnreadable) {
  const std::string nonsense = Nonsense();
  galen::v1::CheckResult result;
  result.set_message(nonsense);
  result.set_excerpt(nonsense);
  for (galen::v1::Finding* finding : {result.add_findings(), result.add_findings()}) {
    finding->set_name(nonsense);
    finding->set_unit(nonsense);
    finding->set_expected(nonsense);
    galen::v1::Device& subject = *finding->mutable_subject();
    subject.set_device(nonsense);
    subject.set_pci_address(nonsense);
    subject.set_serial(nonsense);
  }
  result.mutable_findings(0)->set_text_value(nonsense);
  result.mutable_findings(1)->mutable_event_value()->set_code(nonsense);
  result.mutable_findings(1)->mutable_event_value()->set_text(nonsense);
  CleanResult(result);
  EXPECT_LT(result.ByteSizeLong(), std::size_t{16} << 10);
  for (const std::string& text :
       {result.message(), result.excerpt(), result.findings(0).name(),
        result.findings(0).text_value(), result.findings(0).subject().device(),
        result.findings(1).event_value().text(), result.findings(1).unit()}) {
    EXPECT_TRUE(IsUtf8(text));
    EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("\x1b")));
    EXPECT_THAT(text, ::testing::StartsWith("red"));
  }
}

TEST(CleanResult, TakesOutTimesThatThereAreNot) {
  for (const std::int64_t seconds :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    galen::v1::CheckResult result;
    result.mutable_duration()->set_seconds(seconds);
    result.add_findings()->mutable_event_value()->mutable_time()->set_seconds(seconds);
    CleanResult(result);
    std::string json;
    EXPECT_TRUE(google::protobuf::util::MessageToJsonString(result, &json).ok());
    EXPECT_FALSE(result.has_duration());
    EXPECT_FALSE(result.findings(0).event_value().has_time());
  }
}

TEST(CleanResult, LeavesWhatIsSoundAsItIs) {
  galen::v1::CheckResult result;
  result.set_id("gpu.ecc@n1");
  result.set_message("2 uncorrectable errors");
  result.set_excerpt("ECC Errors\n\tVolatile: 2\n");
  result.add_findings()->set_name("dram_uncorrectable_volatile");
  result.mutable_findings(0)->mutable_subject()->set_device("gpu:1");
  result.mutable_findings(0)->set_int_value(2);
  galen::v1::CheckResult cleaned = result;
  CleanResult(cleaned);
  EXPECT_EQ(cleaned.SerializeAsString(), result.SerializeAsString());
}

}  // namespace
}  // namespace galen::knowledge
