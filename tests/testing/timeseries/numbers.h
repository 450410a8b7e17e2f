#ifndef TESTS_TESTING_TIMESERIES_NUMBERS_H_
#define TESTS_TESTING_TIMESERIES_NUMBERS_H_

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "common/timeseries/grid.h"

namespace galen::timeseries {

// Samples around a level, the same for the same seed.
inline std::vector<float> Noise(std::size_t size, unsigned seed, float deviation = 1,
                                float level = 0) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(level, deviation);
  std::vector<float> values(size);
  for (float& value : values) value = normal(bits);
  return values;
}

inline void Put(Panel& panel, std::size_t entity, const std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) panel.Row(entity)[i] = values[i];
}

}  // namespace galen::timeseries

#endif  // TESTS_TESTING_TIMESERIES_NUMBERS_H_
