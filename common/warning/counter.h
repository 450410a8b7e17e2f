#ifndef COMMON_WARNING_COUNTER_H_
#define COMMON_WARNING_COUNTER_H_

#include <cstdint>

namespace galen::warning {

// How much a counter grew, out of its readings. 16 bytes, nothing else is kept.
class Counter {
 public:
  // `value` as it was read at `minute`; NaN: it was not. Gives growth a minute since the reading
  // before; NaN (unknown, not zero) when there is none, or it is `longest` minutes ago or more. A
  // counter that is lower than before was reset: it grew by what it has counted since, and what
  // it counted between the reading and the reset is lost.
  float Add(double value, std::int64_t minute, std::int64_t longest = 60);

 private:
  double last_ = 0;
  std::int64_t at_ = -1;
};

}  // namespace galen::warning

#endif  // COMMON_WARNING_COUNTER_H_
