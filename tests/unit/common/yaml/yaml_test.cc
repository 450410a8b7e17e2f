#include "common/yaml/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tests/testing/status_matchers.h"

namespace galen {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Yaml, KeepsValuesTheirOrderAndTheirLines) {
  const auto document = ParseYaml("b: [x, 'y z']\na:\n  c: 7\n  d:\n", "f.yaml");
  ASSERT_THAT(document, IsOk());
  ASSERT_EQ(document->fields.size(), 2u);
  EXPECT_EQ(document->fields[0].name, "b");
  EXPECT_EQ(document->fields[0].value.items[1].scalar, "y z");
  const Yaml* const a = document->Find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->Find("c")->line, 3);
  EXPECT_EQ(a->Find("d")->kind, Yaml::Kind::kNull);
  EXPECT_EQ(a->Find("e"), nullptr);
}

TEST(Yaml, TakesAnEmptyTextForANullValue) {
  const auto document = ParseYaml("# nothing\n", "f.yaml");
  ASSERT_THAT(document, IsOk());
  EXPECT_EQ(document->kind, Yaml::Kind::kNull);
}

struct Broken {
  const char* text;
  const char* begins;
  const char* says;
};

class BrokenYaml : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenYaml, IsRefusedWithFileAndLine) {
  EXPECT_THAT(ParseYaml(GetParam().text, "n/c.yaml"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(StartsWith(GetParam().begins), HasSubstr(GetParam().says))));
}

INSTANTIATE_TEST_SUITE_P(
    Each, BrokenYaml,
    ::testing::Values(Broken{"a: 1\nb: [1, 2\nc: 3\n", "n/c.yaml:", "end of sequence"},
                      Broken{"a: 1\n\tb: 2\n", "n/c.yaml:2: ", ""},
                      Broken{"a: 1\na: 2\n", "n/c.yaml:2: ", "occurs twice"},
                      Broken{"a: &x [1]\nb: 2\n", "n/c.yaml:1: ", "anchors and aliases"},
                      Broken{"a: 1\nb: *x\n", "n/c.yaml:2: ", ""},
                      Broken{"a: 1\n---\nb: 1\n", "n/c.yaml:3: ", "second document"},
                      Broken{"? [a]\n: b\n", "n/c.yaml:1: ", "a key is not a plain word"},
                      Broken{"a: \"\\x\"\n", "n/c.yaml:", "hex"},
                      // Truncated within a quotation, at any place in its line.
                      Broken{"a: 'b", "n/c.yaml:1: ", "EOF"}, Broken{"a: 'b\n", "n/c.yaml:", "EOF"},
                      Broken{"a: \"b\n\n", "n/c.yaml:", "EOF"},
                      Broken{"a: 'b\r\n", "n/c.yaml:", "EOF"},
                      Broken{"a: 'b\n  c: d\n \t", "n/c.yaml:", "EOF"}));

TEST(Yaml, TheEndOfATextBelongsToItsLastValue) {
  for (const auto& [text, value] :
       std::vector<std::pair<std::string, std::string>>{{"a: b", "b"},
                                                        {"a: b \n", "b"},
                                                        {"a: b\n  ", "b"},
                                                        {"a: 'b'\n", "b"},
                                                        {"a: |\n  b\n", "b\n"},
                                                        {"a: |+\n  b\n\n", "b\n\n"},
                                                        {"a: |\n  b #", "b #"},
                                                        {"a: b # c", "b"},
                                                        {"a: >\n  b\n", "b\n"}}) {
    const auto document = ParseYaml(text, "n/c.yaml");
    ASSERT_THAT(document, IsOk()) << text;
    EXPECT_EQ(document->Find("a")->scalar, value) << text;
  }
}

TEST(Yaml, RefusesWhatWouldExhaustThisProcess) {
  EXPECT_THAT(ParseYaml(std::string(100'000, '['), "f"),
              StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("f:1: ")));
  std::string nested;
  for (int i = 0; i < 70; ++i) nested += std::string(static_cast<std::size_t>(i), ' ') + "-\n";
  std::string deep;
  for (int i = 0; i < 70; ++i) deep += "- ";
  EXPECT_THAT(ParseYaml(deep + "x", "f"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("deeper than 64")));
  std::string wide = "[";
  while (wide.size() < 2'400'000) wide += "a,";
  EXPECT_THAT(ParseYaml(wide + "]", "f"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than 1000000 values")));
  EXPECT_THAT(ParseYaml(std::string((16u << 20) + 1, '#'), "f"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("larger than 16 MiB")));
}

TEST(Yaml, SurvivesAnyBytes) {
  // Each of these once stopped or crashed some YAML reader; here an answer of either kind is right.
  for (const std::string& text :
       {std::string("!2"), std::string("!<"), std::string("%"), std::string("&"), std::string("*"),
        std::string("'"), std::string("\0\0", 2), std::string("\xff\xfe\x00x", 4),
        std::string("\xef\xbb\xbf"), std::string(": :"), std::string("|"), std::string("- ? :"),
        std::string("{{{}"), std::string("a: !"), std::string("\x80\x80")}) {
    const auto document = ParseYaml(text, "f");
    if (!document.ok()) {
      EXPECT_THAT(document, StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("f:")));
    }
  }
}

TEST(Yaml, ReadersSayWhichFieldIsWrong) {
  const auto document = ParseYaml("n: many\nl: x\nm: [1]\nt: [a]\nb: yes\n", "f.yaml");
  ASSERT_THAT(document, IsOk());
  EXPECT_THAT(YamlInteger(*document->Find("n"), "f.yaml", "n"),
              StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("f.yaml:1: n: ")));
  EXPECT_THAT(YamlTexts(*document->Find("l"), "f.yaml", "l"),
              StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("f.yaml:2: l: ")));
  EXPECT_THAT(YamlTextMap(*document->Find("m"), "f.yaml", "m"),
              StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("f.yaml:3: m: ")));
  EXPECT_THAT(YamlText(*document->Find("t"), "f.yaml", "t"),
              StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("f.yaml:4: t: ")));
  EXPECT_THAT(YamlBool(*document->Find("b"), "f.yaml", "b"),
              StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("f.yaml:5: b: ")));
}

TEST(Yaml, TakesNothingForAListThatIsNone) {
  const Yaml map = ParseYaml("a: [1, 2]\nb:\nc: {d: 1}\n", "f").value();
  EXPECT_EQ(YamlItems(map, "f", "a")->size(), 2u);
  EXPECT_TRUE(YamlItems(map, "f", "b")->empty());
  EXPECT_TRUE(YamlItems(map, "f", "not there")->empty());
  EXPECT_THAT(YamlItems(map, "f", "c").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f:3: c: is not a list")));
}

TEST(Yaml, NamesTheFieldThatIsUnknownOrMissing) {
  const Yaml map = ParseYaml("a: x\nb: y\n", "f").value();
  EXPECT_THAT(YamlFields(map, "f", {"a", "b"}), IsOk());
  EXPECT_THAT(
      YamlFields(map, "f", {"a", "c"}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f:2: b: unknown; there are a, c")));
  EXPECT_THAT(YamlFields(*map.Find("a"), "f", {"a"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not a map")));
  EXPECT_EQ(YamlNeeded(map, "f", "a").value(), "x");
  EXPECT_THAT(YamlNeeded(map, "f", "c").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f:1: needs c")));
}

TEST(Yaml, ReadsBackWhatItQuotes) {
  for (const std::string& text :
       {std::string("plain"), std::string("a: b # c"), std::string("\"quoted\" \\ back"),
        std::string("two\nlines\tand\r\x01"), std::string("gr\xc3\xbc\xc3\x9f"), std::string(""),
        std::string("~"), std::string("null")}) {
    const auto document = ParseYaml("v: " + YamlQuote(text) + "\n", "f");
    ASSERT_THAT(document, IsOk());
    EXPECT_EQ(document->Find("v")->scalar, text);
  }
}

}  // namespace
}  // namespace galen
