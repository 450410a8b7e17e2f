#include "common/base/steady.h"

namespace galen {
namespace {

absl::Time TimeOfDay() { return absl::FromChrono(std::chrono::system_clock::now()); }

}  // namespace

absl::Time SteadyNow() {
  using Steady = std::chrono::steady_clock;
  struct Begin {
    absl::Time time_of_day = TimeOfDay();
    Steady::time_point steady = Steady::now();
  };
  static const Begin begin;
  return begin.time_of_day + absl::FromChrono(Steady::now() - begin.steady);
}

absl::Time ToSteady(absl::Time time_of_day) { return SteadyNow() + (time_of_day - TimeOfDay()); }

absl::Time ToTimeOfDay(absl::Time steady) { return TimeOfDay() + (steady - SteadyNow()); }

std::chrono::system_clock::time_point ClockIn(absl::Duration left) {
  return absl::ToChronoTime(TimeOfDay() + left);
}

}  // namespace galen
