#ifndef TESTS_SCENARIOS_RANDOM_H_
#define TESTS_SCENARIOS_RANDOM_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace galen::scenarios {

// Random numbers from a seed, the same on every machine (those of <random>'s distributions are
// not). Each thing has its own stream, so that adding one thing leaves all others unchanged.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // A stream that depends only on the name and the number, not on values drawn from this one.
  Random Of(absl::string_view name, std::uint64_t number = 0) const {
    std::uint64_t hash = state_ ^ 0xcbf29ce484222325U;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    Random mixed(hash + number * 0x9e3779b97f4a7c15U);
    return Random(mixed.Next());
  }

  std::uint64_t Next() {  // splitmix64
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  double Between(double low, double high) { return low + (high - low) * Uniform(); }
  // Evenly on a logarithmic scale.
  double Scale(double low, double high) { return low * std::exp(std::log(high / low) * Uniform()); }
  int Int(int low, int high) {
    return low + static_cast<int>(Uniform() * static_cast<double>(high - low + 1));
  }
  bool Chance(double probability) { return Uniform() < probability; }
  // About normal: the sum of four even ones, which has no wild values.
  double Normal() {
    const std::uint64_t bits = Next();
    const double sum = static_cast<double>(bits & 0xffff) +
                       static_cast<double>((bits >> 16) & 0xffff) +
                       static_cast<double>((bits >> 32) & 0xffff) + static_cast<double>(bits >> 48);
    return (sum / 65536.0 - 2.0) * 1.7320508075688772;
  }
  template <typename T>
  const T& Pick(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(Int(0, static_cast<int>(choices.size()) - 1))];
  }
  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[static_cast<std::size_t>(Int(0, static_cast<int>(i) - 1))]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace galen::scenarios

#endif  // TESTS_SCENARIOS_RANDOM_H_
