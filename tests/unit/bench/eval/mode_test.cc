#include "bench/eval/runner/mode.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::eval {
namespace mode_test {

using testing::ElementsAre;
using testing::IsEmpty;

knowledge::v1::Label& AddLabel(knowledge::v1::KnowledgeBase& base, const std::string& name,
                               const std::string& parent, const std::string& check = "") {
  knowledge::v1::Label& label = *base.add_labels();
  label.set_label(name);
  label.set_parent(parent);
  for (knowledge::v1::Label& each : *base.mutable_labels()) {
    if (each.label() == parent) each.add_children(name);
  }
  if (!check.empty()) label.add_confirm()->set_check(check);
  return label;
}

// GPU with the leaves GPU.A (by gpu.a, in context of gpu.c) and GPU.SUB.B (by gpu.b).
knowledge::v1::KnowledgeBase Base() {
  knowledge::v1::KnowledgeBase base;
  AddLabel(base, "GPU", "");
  knowledge::v1::Label& a = AddLabel(base, "GPU.A", "GPU", "gpu.a");
  knowledge::v1::Rule& context = *a.add_confirm();
  context.set_check("gpu.c");
  context.set_context(true);
  AddLabel(base, "GPU.SUB", "GPU");
  AddLabel(base, "GPU.SUB.B", "GPU.SUB", "gpu.b").add_secondary_effects("GPU.A");
  for (const char* check : {"gpu.a", "gpu.b", "gpu.c"}) base.add_checks()->set_name(check);
  knowledge::v1::SignalPattern& signal = *base.add_signals();
  signal.add_labels("GPU.A");
  signal.add_labels("GPU.SUB.B");
  base.add_signals()->add_labels("GPU.A");
  base.add_signals();  // of no label: says only how ranks and steps go
  return base;
}

v1::Case CaseOf(const std::string& label, const std::string& acceptable = "") {
  v1::Case a_case;
  a_case.add_labels(label);
  if (!acceptable.empty()) a_case.add_labels_acceptable(acceptable);
  return a_case;
}

std::vector<std::string> Off(const knowledge::v1::KnowledgeBase& base) {
  std::vector<std::string> off;
  for (const auto& check : base.checks()) {
    if (check.off()) off.push_back(check.name());
  }
  return off;
}

std::vector<std::string> Names(const knowledge::v1::KnowledgeBase& base) {
  std::vector<std::string> names;
  for (const auto& label : base.labels()) names.push_back(label.label());
  return names;
}

TEST(Restrict, APlainCaseAndAnUnseenOneKnowTheWholeTaxonomy) {
  for (const Mode mode : {Mode::kPlain, Mode::kUnseen, Mode::kMeasured}) {
    knowledge::v1::KnowledgeBase base = Base();
    Restrict(mode, CaseOf("GPU.A"), base);
    EXPECT_THAT(Off(base), IsEmpty());
    EXPECT_EQ(base.labels_size(), 4);
  }
}

TEST(Restrict, WhatDecidesIsWithheldUnderEveryNameOfTheCause) {
  knowledge::v1::KnowledgeBase base = Base();
  Restrict(Mode::kWithheld, CaseOf("GPU.A"), base);
  EXPECT_THAT(Off(base), ElementsAre("gpu.a")) << "context confirms nothing, so it stays";
  base = Base();
  Restrict(Mode::kWithheld, CaseOf("GPU.A", "GPU.SUB.B"), base);
  EXPECT_THAT(Off(base), ElementsAre("gpu.a", "gpu.b"));
}

TEST(Restrict, AMessageThatDecidesIsWithheldAndOneThatHintsIsNot) {
  knowledge::v1::KnowledgeBase base = Base();
  base.mutable_signals(0)->set_strength(galen::v1::STRONG);
  base.mutable_signals(1)->set_strength(galen::v1::WEAK);
  Restrict(Mode::kWithheld, CaseOf("GPU.A"), base);
  EXPECT_THAT(base.signals(0).labels(), IsEmpty());
  EXPECT_THAT(base.signals(1).labels(), ElementsAre("GPU.A"));
}

TEST(Restrict, OutsideTheTaxonomyNothingKnowsTheLabel) {
  knowledge::v1::KnowledgeBase base = Base();
  Restrict(Mode::kOutside, CaseOf("GPU.A"), base);
  EXPECT_THAT(Names(base), ElementsAre("GPU", "GPU.SUB", "GPU.SUB.B"));
  EXPECT_THAT(base.labels(0).children(), ElementsAre("GPU.SUB"));
  EXPECT_THAT(base.labels(2).secondary_effects(), IsEmpty());
  ASSERT_EQ(base.signals_size(), 2) << "the message that GPU.A alone leaves is not known either";
  EXPECT_THAT(base.signals(0).labels(), ElementsAre("GPU.SUB.B"));
  EXPECT_THAT(base.signals(1).labels(), IsEmpty());
}

TEST(Restrict, ABranchWithoutLeavesGoesWithItsLastOne) {
  knowledge::v1::KnowledgeBase base = Base();
  Restrict(Mode::kOutside, CaseOf("GPU.SUB.B"), base);
  EXPECT_THAT(Names(base), ElementsAre("GPU", "GPU.A"));
}

TEST(Judged, OutsideTheTaxonomyEveryNameIsWrong) {
  EXPECT_TRUE(Judged(Mode::kOutside, CaseOf("GPU.A")).outside());
  EXPECT_FALSE(Judged(Mode::kWithheld, CaseOf("GPU.A")).outside());
  EXPECT_FALSE(Judged(Mode::kOutside, v1::Case()).outside());
}

}  // namespace mode_test
}  // namespace galen::eval
