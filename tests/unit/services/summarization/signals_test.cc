#include "services/summarization/signals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::summarization {
namespace {

using galen::v1::Signal;
using ::testing::ElementsAre;

Signal SignalOf(const char* name, std::optional<int> second, const char* source, int line,
                galen::v1::Strength strength = galen::v1::WEAK,
                galen::v1::SignalRole role = galen::v1::PRIMARY) {
  Signal signal;
  signal.set_signal(name);
  signal.set_source(source);
  signal.set_first_line(line);
  signal.set_strength(strength);
  signal.set_role(role);
  if (second.has_value()) signal.mutable_first_time()->set_seconds(*second);
  return signal;
}

std::vector<std::string> Names(const std::vector<Signal>& signals) {
  std::vector<std::string> names;
  for (const Signal& signal : signals) names.push_back(signal.signal());
  return names;
}

TEST(SortSignals, GoesByTimeThenSourceThenLine) {
  std::vector<Signal> signals = {
      SignalOf("f", std::nullopt, "b.log", 1),
      SignalOf("e", std::nullopt, "a.log", 9),
      SignalOf("d", std::nullopt, "a.log", 2),
      SignalOf("c", 7, "b.log", 3),
      SignalOf("b", 7, "a.log", 5),
      SignalOf("a", 5, "z.log", 5),
  };
  SortSignals(signals);
  EXPECT_THAT(Names(signals), ElementsAre("a", "b", "c", "d", "e", "f"));
}

TEST(KeepStrongest, DropsTheWeakThenTheEffectsThenTheLate) {
  using namespace galen::v1;
  const std::vector<Signal> all = {
      SignalOf("weak", 1, "a", 1, WEAK),
      SignalOf("effect", 2, "a", 2, STRONG, SECONDARY),
      SignalOf("decisive", 9, "a", 3, DECISIVE, CONTEXT),
      SignalOf("early", 3, "a", 4, STRONG),
      SignalOf("late", 4, "a", 5, STRONG),
  };
  std::vector<Signal> signals = all;
  EXPECT_EQ(KeepStrongest(signals, 5), 0u);
  EXPECT_EQ(signals.size(), 5u);
  EXPECT_EQ(KeepStrongest(signals, 3), 2u);
  EXPECT_THAT(Names(signals), ElementsAre("early", "late", "decisive"));
  EXPECT_EQ(KeepStrongest(signals, 2), 1u);
  EXPECT_THAT(Names(signals), ElementsAre("early", "decisive"));
}

TEST(WhereOf, IsTheKindOfTheLogOrWhatThePatternExpects) {
  using galen::v1::LogSource;
  knowledge::v1::SignalPattern kernel;
  kernel.add_where(galen::v1::DESCRIPTION);
  kernel.add_where(galen::v1::KERNEL_LOG);
  Source source;
  EXPECT_EQ(WhereOf(source, kernel), galen::v1::KERNEL_LOG);
  EXPECT_EQ(WhereOf(source, {}), galen::v1::JOB_LOG);
  source.kind = LogSource::JOB;
  EXPECT_EQ(WhereOf(source, kernel), galen::v1::JOB_LOG);
  source.kind = LogSource::SYSTEM;
  EXPECT_EQ(WhereOf(source, {}), galen::v1::KERNEL_LOG);
  source.kind = LogSource::SCHEDULER;
  EXPECT_EQ(WhereOf(source, {}), galen::v1::TOOL_OUTPUT);
  source.description = true;
  EXPECT_EQ(WhereOf(source, kernel), galen::v1::DESCRIPTION);
}

}  // namespace
}  // namespace galen::summarization
