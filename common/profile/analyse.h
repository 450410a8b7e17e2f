#ifndef COMMON_PROFILE_ANALYSE_H_
#define COMMON_PROFILE_ANALYSE_H_

#include <cstddef>
#include <vector>

#include "common/profile/families.h"
#include "common/profile/report.h"
#include "common/profile/trace.h"

namespace galen::profile {

struct AnalyseOptions {
  std::size_t kernels = 10;
  std::size_t drawn_streams = 8;
};

// The report of a trace, for each of its GPUs. Pure.
TraceReport Analyse(Trace trace, const Families& families, const AnalyseOptions& options = {});

// The spans of a lane of nested instructions, cut so that at each moment only the innermost is
// left.
std::vector<Span> Innermost(std::vector<Span> spans);

}  // namespace galen::profile

#endif  // COMMON_PROFILE_ANALYSE_H_
