#include "common/observability/trace/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>

namespace galen::trace {
namespace {

constexpr char kGood[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr char kTraceId[] = "4bf92f3577b34da6a3ce929d0e0e4736";

TEST(Parse, ReadsWhatTheStandardShows) {
  const std::optional<Context> context = Parse(kGood);
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(TraceIdOf(*context), kTraceId);
  EXPECT_EQ(context->flags, 1);
  EXPECT_EQ(Format(*context), kGood);
}

TEST(Parse, TakesNothingThatIsNotStrictlySo) {
  const std::string good = kGood;
  const struct {
    const char* what;
    std::string text;
  } cases[] = {
      {"empty", ""},
      {"cut off", good.substr(0, 54)},
      {"one byte more", good + "0"},
      {"version 00 with more behind it", good + "-00"},
      {"version ff", "ff" + good.substr(2)},
      {"a version that is no number", "0g" + good.substr(2)},
      {"upper case", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"},
      {"a trace id of zeros", "00-00000000000000000000000000000000-00f067aa0ba902b7-01"},
      {"a span id of zeros", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"},
      {"no digit in the trace id", "00-4bf92f3577b34da6a3ce929d0e0e473x-00f067aa0ba902b7-01"},
      {"no digit in the flags", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0 "},
      {"another separator", "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
      {"a space before", " " + good.substr(0, 54)},
      {"a byte of zero", good.substr(0, 10) + std::string(1, '\0') + good.substr(11)},
      {"a later version that goes on without a separator", "01" + good.substr(2) + "00"},
      {"two of them", good + "," + good},
      {"more than anybody needs", "01" + good.substr(2) + "-" + std::string(1000, 'a')},
  };
  for (const auto& one : cases) EXPECT_FALSE(Parse(one.text).has_value()) << one.what;
}

TEST(Parse, ReadsOfALaterVersionWhatItKnows) {
  const std::string later = "cc" + std::string(kGood).substr(2) + "-what-the-future-will-be-like";
  const std::optional<Context> context = Parse(later);
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(Format(*context), kGood);
}

TEST(Parse, PassesNoFlagOnThatItDoesNotKnow) {
  EXPECT_EQ(Parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff")->flags, 1);
  EXPECT_EQ(Parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fe")->flags, 0);
}

TEST(Context, OfNobodyHasNoTraceId) {
  EXPECT_FALSE(Context().valid());
  EXPECT_EQ(TraceIdOf(Context()), "");
}

TEST(NewTrace, IsOneOfItsOwn) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const Context context = NewTrace();
    ASSERT_TRUE(context.valid());
    EXPECT_TRUE(seen.insert(TraceIdOf(context)).second);
    EXPECT_EQ(Format(*Parse(Format(context))), Format(context));
  }
}

TEST(ChildOf, StaysInTheTraceWithASpanOfItsOwn) {
  const Context parent = *Parse(kGood);
  const Context child = ChildOf(parent);
  EXPECT_EQ(TraceIdOf(child), kTraceId);
  EXPECT_NE(child.span_id, parent.span_id);
  EXPECT_EQ(child.flags, parent.flags);
}

TEST(InTrace, TakesOnlyATraceId) {
  EXPECT_EQ(TraceIdOf(InTrace(kTraceId).value()), kTraceId);
  for (const char* none :
       {"", "x", "00000000000000000000000000000000", "4bf92f3577b34da6a3ce929d0e0e47360", kGood}) {
    EXPECT_FALSE(InTrace(none).has_value()) << none;
  }
}

TEST(Scope, NestsAndEndsWithItsBlock) {
  EXPECT_FALSE(Current().context.valid());
  {
    const Scope outer({NewTrace(), "tenants/t/diagnoses/a"});
    const std::string trace = TraceIdOf(Current().context);
    {
      const Scope inner({NewTrace(), "tenants/t/diagnoses/b"});
      EXPECT_NE(TraceIdOf(Current().context), trace);
      EXPECT_EQ(Current().diagnosis, "tenants/t/diagnoses/b");
      std::thread([] { EXPECT_EQ(Current().diagnosis, ""); }).join();
    }
    EXPECT_EQ(TraceIdOf(Current().context), trace);
    EXPECT_EQ(Current().diagnosis, "tenants/t/diagnoses/a");
  }
  EXPECT_FALSE(Current().context.valid());
}

TEST(DiagnosisName, LetsNothingElsePass) {
  EXPECT_EQ(DiagnosisName("tenants/t-1/diagnoses/0af3"), "tenants/t-1/diagnoses/0af3");
  const std::string too_long(64, 'a');
  for (const std::string& none :
       {std::string(), std::string("tenants/t"), std::string("tenants//diagnoses/a"),
        std::string("tenants/t/diagnoses/"), std::string("tenants/T/diagnoses/a"),
        std::string("tenants/t/diagnoses/a\n"), std::string("tenants/t/diagnoses/a/b"),
        "tenants/t/diagnoses/" + too_long, "tenants/" + too_long + "/diagnoses/a"}) {
    EXPECT_EQ(DiagnosisName(none), "") << none;
  }
}

}  // namespace
}  // namespace galen::trace
