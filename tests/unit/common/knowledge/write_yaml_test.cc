#include "common/knowledge/write_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "knowledge_files.h"

namespace galen::knowledge {
namespace {

using ::testing::IsEmpty;

v1::KnowledgeBase Read(const std::string& yaml) {
  KnowledgeFiles files;
  files.Write("a.yaml", yaml);
  std::vector<Problem> problems;
  const auto base = Parse({files.path()}, problems);
  EXPECT_TRUE(base.ok()) << base.status();
  EXPECT_THAT(Lines(problems), IsEmpty()) << yaml;
  return base.ok() ? *base : v1::KnowledgeBase();
}

// The place of an entry in the file is not part of its content.
void ForgetSources(google::protobuf::Message& message) {
  const auto* descriptor = message.GetDescriptor();
  const auto* reflection = message.GetReflection();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const auto* field = descriptor->field(i);
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (field->is_map()) continue;
    if (!field->is_repeated()) {
      if (field->message_type()->name() == "SourceRef") {
        reflection->ClearField(&message, field);
      } else if (reflection->HasField(message, field)) {
        ForgetSources(*reflection->MutableMessage(&message, field));
      }
      continue;
    }
    for (int n = 0; n < reflection->FieldSize(message, field); ++n) {
      ForgetSources(*reflection->MutableRepeatedMessage(&message, field, n));
    }
  }
}

TEST(WriteYaml, EveryTextComesBackAsItWas) {
  for (const std::string text : {"plain words",
                                 "null",
                                 "~",
                                 "true",
                                 "007",
                                 "- a",
                                 "a: b",
                                 "#no comment",
                                 "it's",
                                 "\"quoted\"",
                                 "tab\there",
                                 "two\nlines",
                                 "two\nlines\n",
                                 "\nfirst empty",
                                 " leading",
                                 "trailing ",
                                 "back\\slash",
                                 "{a, b}",
                                 "[x]",
                                 "*alias",
                                 "&anchor",
                                 "%directive",
                                 "@at",
                                 "`tick`",
                                 "!tag",
                                 "|",
                                 ">",
                                 "?",
                                 "Grüße aus Köln",
                                 "line\xE2\x80\xA8separator",
                                 "next\xC2\x85line",
                                 "\x01 control",
                                 "\x7F",
                                 "a\r\nb",
                                 "\xEF\xBB\xBF bom",
                                 "a\n\n\nb",
                                 "  x\n y",
                                 "\xF0\x9F\x94\xA5 fire",
                                 "(?i)nccl.*error [0-9]+: 'x' \\d{3}"}) {
    const std::string again =
        Read(absl::StrCat("incidents:\n  - id: a\n    label: A\n", YamlText(4, "title", text)))
            .incidents(0)
            .title();
    EXPECT_EQ(again, text);
    const std::string in_flow =
        Read(absl::StrCat("incidents:\n  - {id: a, label: A, title: ", YamlScalar(text), "}\n"))
            .incidents(0)
            .title();
    EXPECT_EQ(in_flow, text);
  }
}

TEST(WriteYaml, ALongTextIsFoldedAndComesBack) {
  std::string text = "word";
  for (int i = 0; i < 300; ++i) absl::StrAppend(&text, i % 7 == 0 ? " # " : " ", "word", i, ":");
  const std::string yaml =
      absl::StrCat("incidents:\n  - id: a\n    label: A\n", YamlText(4, "description", text));
  EXPECT_TRUE(absl::StrContains(yaml, ">-\n"));
  EXPECT_EQ(Read(yaml).incidents(0).description(), text);
}

TEST(WriteYaml, TheShippedKnowledgeComesBack) {
  std::vector<Problem> problems;
  auto shipped = Parse({GALEN_SOURCE_DIR "/knowledge"}, problems);
  ASSERT_TRUE(shipped.ok());
  v1::KnowledgeBase written = *shipped;
  written.clear_error_codes();
  written.clear_hardware();
  for (v1::Label& label : *written.mutable_labels()) {
    for (v1::Rule& rule : *label.mutable_confirm()) rule.clear_with();
    for (v1::Rule& rule : *label.mutable_refute()) rule.clear_with();
  }
  const auto& all = written.checks();
  google::protobuf::RepeatedPtrField<v1::Check> declared;
  for (const v1::Check& check : all) {
    if (check.kind() == v1::Check::EXTRACT || check.kind() == v1::Check::EXEC) {
      *declared.Add() = check;
      declared.rbegin()->clear_parameters();
      declared.rbegin()->clear_comparisons();
      declared.rbegin()->clear_data();
    }
  }
  written.mutable_checks()->Swap(&declared);
  v1::KnowledgeBase again = Read(ToYaml(written));
  ForgetSources(written);
  ForgetSources(again);
  written.clear_digest();
  again.clear_digest();
  ASSERT_EQ(again.labels_size(), written.labels_size());
  for (int i = 0; i < written.labels_size(); ++i) {
    EXPECT_EQ(again.labels(i).DebugString(), written.labels(i).DebugString());
  }
  ASSERT_EQ(again.signals_size(), written.signals_size());
  for (int i = 0; i < written.signals_size(); ++i) {
    EXPECT_EQ(again.signals(i).DebugString(), written.signals(i).DebugString());
  }
  ASSERT_EQ(again.checks_size(), written.checks_size());
  for (int i = 0; i < written.checks_size(); ++i) {
    EXPECT_EQ(again.checks(i).DebugString(), written.checks(i).DebugString());
  }
  ASSERT_EQ(again.incidents_size(), written.incidents_size());
  for (int i = 0; i < written.incidents_size(); ++i) {
    EXPECT_EQ(again.incidents(i).DebugString(), written.incidents(i).DebugString());
  }
}

}  // namespace
}  // namespace galen::knowledge
