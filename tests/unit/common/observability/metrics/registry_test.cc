#include "common/observability/metrics/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "prometheus/counter.h"
#include "prometheus/registry.h"

namespace galen::metrics {
namespace {

constexpr Description kThings = {"a_total", MetricType::Counter, "Things", "use", ""};
constexpr Description kOpen = {"b_open", MetricType::Gauge, "Open", "state", ""};
constexpr Description kA = {"a", MetricType::Gauge, "A", "of", ""};

class Fixed final : public prometheus::Collectable {
 public:
  explicit Fixed(std::vector<prometheus::MetricFamily> families) : families_(std::move(families)) {}
  std::vector<prometheus::MetricFamily> Collect() const override { return families_; }

 private:
  const std::vector<prometheus::MetricFamily> families_;
};

std::shared_ptr<const prometheus::Collectable> Source(
    std::vector<prometheus::MetricFamily> families) {
  return std::make_shared<const Fixed>(std::move(families));
}

TEST(Registry, WithoutSourcesSaysNothing) { EXPECT_EQ(Registry().Text(), ""); }

TEST(Registry, WritesFamiliesByNameInPrometheusText) {
  Registry registry;
  registry.Add(Source({FamilyWith(kOpen, {{{{"state", "yes"}}, 1}})}));
  registry.Add(Source({FamilyWith(kThings, {{{}, 3}})}));
  EXPECT_EQ(registry.Text(),
            "# HELP a_total Things\n# TYPE a_total counter\na_total 3\n"
            "# HELP b_open Open\n# TYPE b_open gauge\nb_open{state=\"yes\"} 1\n");
}

TEST(Registry, MakesOneFamilyOfThoseWithTheSameName) {
  Registry registry;
  for (const char* use : {"x", "y"}) {
    registry.Add(Source({FamilyWith(kThings, {{{{"use", use}}, 1}})}));
  }
  EXPECT_EQ(registry.Text(),
            "# HELP a_total Things\n# TYPE a_total counter\na_total{use=\"x\"} 1\n"
            "a_total{use=\"y\"} 1\n");
}

TEST(Registry, LetsNoLabelBreakItsLine) {
  Registry registry;
  registry.Add(Source({FamilyWith(kA, {{{{"of", "\"}\n\\evil 1"}}, 1}})}));
  EXPECT_EQ(registry.Text(), "# HELP a A\n# TYPE a gauge\na{of=\"\\\"}\\n\\\\evil 1\"} 1\n");
}

TEST(Registry, TakesCountersThatAreCountedWhereThingsHappen) {
  const auto counted = std::make_shared<prometheus::Registry>();
  auto& calls = prometheus::BuildCounter().Name("calls_total").Help("Calls").Register(*counted);
  Registry registry;
  registry.Add(counted);
  calls.Add({{"of", "x"}}).Increment(2);
  EXPECT_THAT(registry.Text(), ::testing::HasSubstr("calls_total{of=\"x\"} 2\n"));
}

}  // namespace
}  // namespace galen::metrics
