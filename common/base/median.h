#ifndef COMMON_BASE_MEDIAN_H_
#define COMMON_BASE_MEDIAN_H_

#include <vector>

namespace galen {

// For an even number the mean of both in the middle; 0 if there are none. For series with gaps see
// common/timeseries/robust.h.
double Median(std::vector<double> values);

}  // namespace galen

#endif  // COMMON_BASE_MEDIAN_H_
