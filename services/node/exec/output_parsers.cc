#include "services/node/exec/output_parsers.h"

#include <map>

#include "services/node/exec/json_lines.h"
#include "services/node/exec/parsers.h"

namespace galen::node {
namespace {

const std::map<absl::string_view, OutputParser>& Parsers() {
  static const auto* const parsers = new std::map<absl::string_view, OutputParser>{
      {"cuda_bandwidth_test", ParseCudaBandwidthTest},
      {"dcgmi_diag", ParseDcgmDiag},
      {"dcgmi_nvlink", ParseDcgmNvlink},
      {"fio", ParseFio},
      {"gpcnet", ParseGpcnet},
      {"gpu_burn", ParseGpuBurn},
      {"hip_bus_bandwidth", ParseHipBusBandwidth},
      {"json_lines", ParseJsonLines},
      {"nccl_tests", ParseNcclTests},
      {"nhc", ParseNhc},
      {"nvbandwidth", ParseNvbandwidth},
      {"perftest", ParsePerftest},
      {"rocm_bandwidth_test", ParseRocmBandwidthTest},
      {"stream", ParseStream},
      {"superbench_gpu_stream", ParseSuperbenchGpuStream},
  };
  return *parsers;
}

}  // namespace

OutputParser FindOutputParser(absl::string_view name) {
  const auto found = Parsers().find(name);
  return found == Parsers().end() ? nullptr : found->second;
}

std::vector<std::string> OutputParserNames() {
  std::vector<std::string> names;
  for (const auto& [name, parser] : Parsers()) names.emplace_back(name);
  return names;
}

}  // namespace galen::node
