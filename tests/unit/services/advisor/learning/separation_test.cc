#include "services/advisor/learning/separation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace galen::advisor {
namespace {

LifeCounts::Cell CellOf(std::uint32_t machines, std::uint8_t level, double hours, int failures) {
  LifeCounts::Cell cell;
  cell.machines = machines;
  cell.signs[0] = level;
  cell.hours = hours;
  cell.failures = failures;
  return cell;
}

TEST(Separation, IsSeenByHowFailuresLieToLevels) {
  struct Lies {
    std::vector<LifeCounts::Cell> cells;
    Separation how;
  };
  for (const Lies& each : {
           Lies{{CellOf(0, 0, 9, 1), CellOf(0, 1, 9, 1)}, Separation::kBetween},
           Lies{{CellOf(0, 0, 9, 0), CellOf(0, 1, 9, 2)}, Separation::kAlwaysTop},
           Lies{{CellOf(0, 0, 9, 2), CellOf(0, 1, 9, 0)}, Separation::kNeverTop},
           // The failure's stratum has no other level: other machines say nothing about it.
           Lies{{CellOf(0, 0, 9, 0), CellOf(1, 1, 9, 2)}, Separation::kNone},
           Lies{{CellOf(0, 1, 9, 2), CellOf(0, 1, 9, 1)}, Separation::kNone},
           // In the only stratum with several levels, it was always highest.
           Lies{{CellOf(0, 0, 9, 3), CellOf(1, 0, 9, 0), CellOf(1, 2, 9, 1)},
                Separation::kAlwaysTop},
           Lies{{CellOf(0, 0, 9, 0), CellOf(0, 1, 9, 1), CellOf(0, 2, 9, 1)}, Separation::kBetween},
       }) {
    EXPECT_EQ(SeparationOf(StrataOf(each.cells), 0), each.how);
  }
}

// Ten hours of a hundred have the sign, and all three failures.
TEST(Separation, TheTailIsExactAndTheEffectThatOfEvenChances) {
  const Strata strata = StrataOf({{CellOf(0, 0, 90, 0), CellOf(0, 1, 10, 3)}});
  EXPECT_NEAR(TopTailOf(strata, {}, {}, 0), 1e-3, 1e-12);
  const TopEffect top = TopEffectOf(strata, {}, {}, 0);
  const auto effect_at = [](double chance) {
    const double each = std::cbrt(chance);
    return std::log(9 * each / (1 - each));
  };
  EXPECT_NEAR(top.effect, effect_at(0.5), 1e-9);
  EXPECT_NEAR(top.effect - 1.959963984540054 * top.error, effect_at(0.025), 1e-9);
}

TEST(Separation, WhatAnotherSignExplainsRaisesNothing) {
  // Sign 1 is always present with sign 0, with an effect that makes the observations certain.
  std::vector<LifeCounts::Cell> cells = {CellOf(0, 0, 90, 0), CellOf(0, 1, 10, 3)};
  cells[1].signs[1] = 1;
  const std::vector<std::size_t> which = {1};
  Effects effects{};
  effects[0] = 8;
  EXPECT_EQ(TopEffectOf(StrataOf(cells), which, effects, 0).effect, 0);
}

}  // namespace
}  // namespace galen::advisor
