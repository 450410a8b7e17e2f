#include "services/conclusion/model_note.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace galen::conclusion {
namespace {

using galen::v1::Reasoned;

using Records = google::protobuf::RepeatedPtrField<Reasoned>;

Reasoned& Add(Records& records, Reasoned::Fallback fallback, const std::string& detail = "") {
  Reasoned& reasoned = *records.Add();
  reasoned.set_model("m-1");
  reasoned.set_fallback(fallback);
  reasoned.set_detail(detail);
  if (fallback == Reasoned::NONE) {
    reasoned.set_calls(1);
    reasoned.set_input_tokens(1000);
    reasoned.set_output_tokens(50);
  }
  return reasoned;
}

TEST(ModelNote, SaysNothingWhereNoModelWasToAnswer) {
  Records records;
  EXPECT_EQ(ModelNote(records, ""), "");
  Add(records, Reasoned::NOT_NEEDED);
  EXPECT_EQ(ModelNote(records, ""), "");
}

TEST(ModelNote, CountsAnswersAndWhatTheyTook) {
  Records records;
  Add(records, Reasoned::NONE);
  EXPECT_EQ(ModelNote(records, ""),
            "The model m-1 answered 1 question; 1 call, 1000 tokens in, 50 out");
  Reasoned& kept = Add(records, Reasoned::NONE);
  kept.set_cached(true);
  kept.set_calls(0);
  kept.set_input_tokens(0);
  kept.set_output_tokens(0);
  records.Mutable(0)->set_estimated(true);
  EXPECT_EQ(ModelNote(records, "USD 0.0030"),
            "The model m-1 answered 2 questions, 1 of them from the cache; 1 call, 1000 tokens in, "
            "50 out (counted by length), USD 0.0030");
}

TEST(ModelNote, TellsWhyTheBuiltInReasonerAnswered) {
  Records records;
  Add(records, Reasoned::NONE);
  Add(records, Reasoned::BUDGET_SPENT, "6 of 6 calls of this diagnosis are spent");
  EXPECT_EQ(
      ModelNote(records, ""),
      "The model m-1 answered 1 question; the built-in reasoner answered 1 in its place: the "
      "budget is spent (6 of 6 calls of this diagnosis are spent); 1 call, 1000 tokens in, 50 "
      "out");
  Records down;
  Add(down, Reasoned::UNAVAILABLE, "http://e/v1: refused");
  Add(down, Reasoned::GAVE_UP, "the model failed this diagnosis before");
  Add(down, Reasoned::GAVE_UP, "the model failed this diagnosis before");
  EXPECT_EQ(ModelNote(down, ""),
            "The model m-1 answered 0 questions; the built-in reasoner answered 3 in its place: it "
            "had failed before (2), it could not be asked (1) (http://e/v1: refused); 0 calls, 0 "
            "tokens in, 0 out");
}

}  // namespace
}  // namespace galen::conclusion
