#include "common/log_analysis/triage/catalogue.h"

#include "common/log_analysis/triage/signatures.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/log_analysis/triage/triage_testing.h"

namespace galen::triage {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

TEST(Catalogue, WhatShipsIsReadAndCompiles) {
  const Catalogue& catalogue = RealCatalogue().catalogue();
  EXPECT_GE(catalogue.formats.size(), 10);
  EXPECT_GE(catalogue.classes.size(), 30);
  EXPECT_NE(catalogue.exits.count(137), 0);
  for (const FailureClass& one : catalogue.classes) {
    const bool by_numbers =
        one.name == kHang || one.name == kRateDrop || one.name == kLossNotFinite;
    EXPECT_EQ(one.patterns.empty() && one.signatures.empty(), by_numbers) << one.name;
  }
}

TEST(Catalogue, EachSignatureOfTheCheckHasAClass) {
  for (const auto& [full_name, pattern] : RealSignatures()) {
    const SignatureName parsed = ParseSignatureName(full_name);
    if (parsed.kind != SignatureName::Kind::kFailure) continue;
    const std::string name(parsed.name);
    bool found = false;
    for (const FailureClass& one : RealCatalogue().catalogue().classes) {
      for (const std::string& signature : one.signatures) found = found || signature == name;
    }
    EXPECT_TRUE(found) << name;
  }
}

struct BadCase {
  const char* text;
  const char* why;
};

TEST(Catalogue, AMistakeIsNamedWithItsLine) {
  for (const BadCase& one : {
           BadCase{"- a", "is not a map"},
           BadCase{"forms: []", "forms: unknown"},
           BadCase{"classes: 3", "is not a list"},
           BadCase{"formats:\n  - {name: a, framework: b, source: c, line: '(', fields: []}",
                   "not a valid RE2 expression"},
           BadCase{"formats:\n  - {name: a, framework: b, source: c, line: x, fields: [{name: "
                   "total, after: y}]}",
                   "no field that is the step"},
           BadCase{"formats:\n  - {name: a, framework: b, source: c, line: x, fields: [{name: "
                   "stop, after: y}]}",
                   "none of step, total"},
           BadCase{"formats:\n  - {name: a, framework: b, source: c, line: x, fields: [{name: "
                   "step, after: ''}]}",
                   "text before the number"},
           BadCase{"facts:\n  - {name: a, is: total_steps, pattern: x, source: s}",
                   "needs a group (?P<n>)"},
           BadCase{"facts:\n  - {name: a, is: colour, pattern: x, source: s}", "is none of"},
           BadCase{"classes:\n  - {name: a, title: b, relation: aunt}", "is none of cause"},
           BadCase{"classes:\n  - {name: a, title: b, relation: cause, colour: red}",
                   "colour: unknown"},
           BadCase{"classes:\n  - {name: a, title: b, relation: cause}\n  - {name: a, title: b, "
                   "relation: cause}",
                   "twice"},
           BadCase{"exits:\n  - {code: 300, meaning: x}", "from 0 to 255"},
           BadCase{"limits: {stall_steps: -1}", "not a number"},
           BadCase{"harmless:\n  - {pattern: '', source: s}", "empty"},
       }) {
    Catalogue catalogue;
    EXPECT_THAT(AddTo(catalogue, one.text, "site.yaml"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         ::testing::AllOf(HasSubstr("site.yaml"), HasSubstr(one.why))))
        << one.text;
  }
}

TEST(Catalogue, ASiteAddsFormatsAndClassesAndReplacesThem) {
  Catalogue catalogue = RealCatalogue().catalogue();
  const std::size_t formats = catalogue.formats.size();
  ASSERT_THAT(AddTo(catalogue,
                    "formats:\n"
                    "  - name: ours\n"
                    "    framework: Ours\n"
                    "    source: ours/train.py\n"
                    "    line: 'tick \\d+'\n"
                    "    fields: [{name: step, after: 'tick '}, {name: seconds, after: 'took '}]\n"
                    "classes:\n"
                    "  - {name: licence, title: no licence, relation: cause, ends: failed, "
                    "patterns: ['LICENCE SERVER GONE']}\n"
                    "  - {name: hang, title: it hangs, relation: cause}\n"
                    "limits: {stall_seconds: 60}\n",
                    "site.yaml"),
              IsOk());
  EXPECT_EQ(catalogue.formats.size(), formats + 1);
  EXPECT_EQ(catalogue.formats.front().name, "ours");
  EXPECT_EQ(catalogue.FindClass("hang")->title, "it hangs");
  EXPECT_EQ(catalogue.limits.stall, absl::Minutes(1));
  const auto compiled = CompiledCatalogue::Create(std::move(catalogue), RealSignatures(), "");
  ASSERT_THAT(compiled, IsOk());
  JobTriage job(**compiled, {});
  job.BeginLog("a.log");
  job.Feed("tick 1 took 2.5\ntick 2 took 2.5\nLICENCE SERVER GONE\n");
  job.EndLog();
  const JobReport report = job.Finish();
  EXPECT_EQ(report.progress.framework, "Ours");
  EXPECT_EQ(report.progress.last_step, 2);
  EXPECT_EQ(report.progress.sum_seconds, 5);
  EXPECT_EQ(PrimaryOf(report), "licence");
  EXPECT_EQ(report.decision.status, Status::kFailed);
}

TEST(Catalogue, AClassOfASignatureThatThereIsNotIsRefused) {
  Catalogue catalogue = RealCatalogue().catalogue();
  ASSERT_THAT(
      AddTo(catalogue, "classes: [{name: a, title: b, relation: cause, signatures: [gone]}]",
            "site.yaml"),
      IsOk());
  EXPECT_THAT(CompiledCatalogue::Create(std::move(catalogue), RealSignatures(), "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("gone")));
}

TEST(Catalogue, ADirectoryWithoutOneIsSaidSo) {
  EXPECT_THAT(LoadCatalogue({"/nonexistent"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("triage")));
}

}  // namespace
}  // namespace galen::triage
