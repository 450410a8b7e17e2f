#ifndef COMMON_PERFMODEL_PICTURE_H_
#define COMMON_PERFMODEL_PICTURE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace galen::perfmodel {

// The roofs of one GPU: operations and bytes a second, by the data sheet and as calibrated.
struct Roofs {
  std::string name;
  double peak = 0;
  double matrices = 0;
  double memory_peak = 0;
  double memory = 0;
};

struct RoofPoint {
  std::string name;
  double intensity = 0;  // operations for each byte of memory
  double rate = 0;       // operations a second
};

// A roofline as SVG (Williams et al., CACM 52(4), 2009): both axes logarithmic. A second curve
// shows the limit if compute and memory alternate, as in real steps. "" if a rate is not a positive
// number.
std::string RooflineSvg(const Roofs& roofs, absl::Span<const RoofPoint> points);

// Mixtures of two single-resource tasks, as SVG: for each pair of resources the share of either
// that is in use as the mix goes from one alone to the other alone, by the calibrated overlap, and
// if all could work at once (../shared/papers/baai-cluster-diagnosis-agent.txt, figure 3).
std::string MixSvg(double overlap);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_PICTURE_H_
