#include "services/cli/reasoning_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace galen::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using v1::ReasoningStep;

ReasoningStep Step(const std::string& id, ReasoningStep::Kind kind, const std::string& text,
                   const std::vector<std::string>& parents) {
  ReasoningStep step;
  step.set_id(id);
  step.set_kind(kind);
  step.set_text(text);
  for (const std::string& parent : parents) step.add_parents(parent);
  return step;
}

std::vector<ReasoningStep> Steps() {
  std::vector<ReasoningStep> steps = {
      Step("p", ReasoningStep::PROPOSITION, "it resembles an old one", {}),
      Step("v", ReasoningStep::VERIFICATION, "confirmed: the link is down", {"p"}),
      Step("m", ReasoningStep::CRITIQUE, "what of the port?", {"v"}),
      Step("s", ReasoningStep::SUMMARY, "Link down", {"v", "m"}),
  };
  steps[0].set_label("NET.LINK.DOWN");
  steps[1].add_evidence_ids("rdma.link@n1");
  steps[2].set_model("m-1");
  return steps;
}

TEST(ReasoningForm, IsOneOfThree) {
  EXPECT_EQ(*ParseReasoningForm("text"), ReasoningForm::kText);
  EXPECT_EQ(*ParseReasoningForm("dot"), ReasoningForm::kDot);
  EXPECT_EQ(*ParseReasoningForm("mermaid"), ReasoningForm::kMermaid);
  EXPECT_THAT(std::string(ParseReasoningForm("svg").status().message()),
              HasSubstr("use text, dot or mermaid"));
}

TEST(ReasoningText, StandsBelowWhatItFollowsFrom) {
  EXPECT_EQ(ReasoningText(Steps(), ReasoningForm::kText, {}),
            "proposition NET.LINK.DOWN\n"
            "    it resembles an old one\n"
            "  verification\n"
            "      confirmed: the link is down\n"
            "      [rdma.link@n1]\n"
            "    critique (m-1)\n"
            "        what of the port?\n"
            "summary\n"
            "    Link down\n");
}

TEST(ReasoningText, IsDrawnForGraphviz) {
  const std::string dot = ReasoningText(Steps(), ReasoningForm::kDot, {});
  EXPECT_THAT(dot, HasSubstr("digraph reasoning {\n"));
  EXPECT_THAT(dot, HasSubstr("label=\"proposition NET.LINK.DOWN\\nit resembles an old one\""));
  EXPECT_THAT(dot, HasSubstr("  s0 -> s1;\n"));
  EXPECT_THAT(dot, HasSubstr("  s2 -> s3;\n"));
}

TEST(ReasoningText, IsDrawnForMermaid) {
  const std::string mermaid = ReasoningText(Steps(), ReasoningForm::kMermaid, {});
  EXPECT_THAT(mermaid, HasSubstr("flowchart TD\n"));
  EXPECT_THAT(mermaid, HasSubstr("s1([\"verification<br/>confirmed: the link is down\"])\n"));
  EXPECT_THAT(mermaid, HasSubstr("  s1 --> s3\n"));
}

TEST(ReasoningText, ForeignWordsAddNoNodeAndNoEdge) {
  std::vector<ReasoningStep> steps = {
      Step("x", ReasoningStep::PROPOSITION,
           "a\"];\n  evil -> s0; \\\" <script>alert(1)</script> `#quot;`\n\x1b[31m --> s9", {})};
  const std::string dot = ReasoningText(steps, ReasoningForm::kDot, {});
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '\n'), 5);
  EXPECT_THAT(dot, HasSubstr("a\\\"];"));
  EXPECT_THAT(dot, HasSubstr("\\\\\\\""));
  const std::string mermaid = ReasoningText(steps, ReasoningForm::kMermaid, {});
  EXPECT_EQ(std::count(mermaid.begin(), mermaid.end(), '\n'), 2);
  EXPECT_EQ(std::count(mermaid.begin(), mermaid.end(), '"'), 2);
  EXPECT_THAT(mermaid, Not(HasSubstr("<script>")));
  for (const ReasoningForm form :
       {ReasoningForm::kText, ReasoningForm::kDot, ReasoningForm::kMermaid}) {
    EXPECT_THAT(ReasoningText(steps, form, {}), Not(HasSubstr("\x1b[31m")));
  }
}

TEST(ReasoningText, ACircleAndAParentThatIsNotThereAreShownAndDoNotHang) {
  const std::vector<ReasoningStep> steps = {
      Step("a", ReasoningStep::CRITIQUE, "first", {"b", "a", "none"}),
      Step("b", ReasoningStep::CRITIQUE, "second", {"a", "a"}),
  };
  const std::string text = ReasoningText(steps, ReasoningForm::kText, {});
  EXPECT_THAT(text, HasSubstr("first"));
  EXPECT_THAT(text, HasSubstr("second"));
  EXPECT_EQ(ReasoningText({}, ReasoningForm::kText, {}), "");
}

}  // namespace
}  // namespace galen::cli
