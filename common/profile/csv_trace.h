#ifndef COMMON_PROFILE_CSV_TRACE_H_
#define COMMON_PROFILE_CSV_TRACE_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "common/profile/families.h"
#include "common/profile/json_stream.h"

namespace galen::profile {

// Tables of profilers, told apart by the names of their columns:
// - rocprofv3's *_kernel_trace.csv, *_memory_copy_trace.csv, *_hip_api_trace.csv and
//   *_marker_api_trace.csv (ROCm/rocprofiler-sdk source/lib/output/generateCSV.cpp)
// - rocprof's results.csv (ROCm/rocprofiler bin/tblextr.py)
// - `nsys stats --report cuda_gpu_trace --format csv`
// (docs.nvidia.com/nsight-systems/AnalysisGuide)
enum class CsvTable { kNone, kKernels, kCopies, kHostCalls };

// By the first line of `head`.
CsvTable TableOfCsv(absl::string_view head);

// The tables of one process as one trace in Chrome's format, in one pass and in constant memory.
// `families` must outlive the source.
JsonStream::Source CsvAsTrace(std::vector<JsonStream::Source> tables, const Families& families);

}  // namespace galen::profile

#endif  // COMMON_PROFILE_CSV_TRACE_H_
