#include "common/intake/kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/unit/common/intake/kinds_for_test.h"

namespace galen::intake {
namespace kinds_test {

using ::testing::HasSubstr;

std::string KindOf(absl::string_view text, const char* typed = "", absl::string_view path = "") {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  std::vector<LineShape> shapes;
  for (const absl::string_view line : lines) shapes.push_back(ShippedKinds().ShapeOf(line));
  const KindMatch match = ShippedKinds().Recognise(lines, shapes, ReadCommand(typed), path);
  return match.kind == nullptr ? "" : match.kind->id;
}

knowledge::v1::KnowledgeBase With(const char* expression, const char* reads_as) {
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::ArtefactKind& kind = *base.add_artefact_kinds();
  kind.set_id("some.kind");
  kind.add_lines(expression);
  kind.set_reads_as(reads_as);
  return base;
}

TEST(Compile, RefusesWhatCannotBeLookedForOrRead) {
  EXPECT_THAT(std::string(Kinds::Compile(With("(", "nothing")).status().message()),
              HasSubstr("some.kind"));
  EXPECT_EQ(Kinds::Compile(With("x", "magic")).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Kinds::Compile(With("x", "log of nobody")).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Kinds::Compile(With("x", "command df -PT")).ok());
}

TEST(ShippedKinds, AreMany) { EXPECT_GE(ShippedKinds().all().size(), 60u); }

TEST(Recognise, KnowsAKernelLogInEachOfItsForms) {
  for (const char* line :
       {"[ 1234.567890] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.",
        "[Thu Jan  1 10:00:00 2026] pcieport 0000:3a:00.0: AER: Corrected error received",
        "2026-02-01T10:00:00,123456+0100 mlx5_core 0000:17:00.0: Port module event",
        "Feb 01 10:00:00 gpu07 kernel: NVRM: Xid (PCI:0000:3b:00): 48, pid=1",
        "NVRM: Xid (PCI:0000:3b:00): 48, pid=1, name=python"}) {
    const std::string kind = KindOf(line);
    EXPECT_TRUE(kind == "kernel.log" || kind == "journal") << kind << ": " << line;
  }
}

TEST(Recognise, WhatWasTypedDecides) {
  EXPECT_EQ(KindOf("", "df -h"), KindOf("Filesystem      Size  Used Avail Use% Mounted on\n"
                                        "overlay         1.8T  611G  1.1T  36% /"));
}

TEST(Recognise, SaysNothingOfWhatItDoesNotKnow) {
  EXPECT_EQ(KindOf("We moved to the new partition on Monday.\nSince then it is slow."), "");
  EXPECT_EQ(KindOf(""), "");
}

TEST(ShapeOf, TakesHostileLines) {
  EXPECT_TRUE(ShippedKinds().ShapeOf(std::string(100'000, 'a')).headers.empty());
  ShippedKinds().ShapeOf(std::string("\xff\x00[ 1.0]", 8));
}

}  // namespace kinds_test
}  // namespace galen::intake
