#ifndef SERVICES_NODE_EXEC_PARSERS_H_
#define SERVICES_NODE_EXEC_PARSERS_H_

#include "absl/status/statusor.h"
#include "services/node/checks/check.h"
#include "services/node/exec/output_parsers.h"

namespace galen::node {

// Parsers of well-known programs (see OutputParser). knowledge/checks/exec.yaml has their findings;
// a declaration that omits one is an error.

// dcgmi diag -j, of DCGM 3 and 4.
absl::StatusOr<CheckOutput> ParseDcgmDiag(const ProgramOutput& output);
// dcgmi nvlink -e -j
absl::StatusOr<CheckOutput> ParseDcgmNvlink(const ProgramOutput& output);
// all_reduce_perf and its siblings, also below mpirun --tag-output.
absl::StatusOr<CheckOutput> ParseNcclTests(const ProgramOutput& output);
// nvbandwidth, text form.
absl::StatusOr<CheckOutput> ParseNvbandwidth(const ProgramOutput& output);
// bandwidthTest of the CUDA samples.
absl::StatusOr<CheckOutput> ParseCudaBandwidthTest(const ProgramOutput& output);
// rocm-bandwidth-test: -s/-d and the matrices of -A and -a.
absl::StatusOr<CheckOutput> ParseRocmBandwidthTest(const ProgramOutput& output);
// hipBusBandwidth
absl::StatusOr<CheckOutput> ParseHipBusBandwidth(const ProgramOutput& output);
// gpu_burn
absl::StatusOr<CheckOutput> ParseGpuBurn(const ProgramOutput& output);
// gpu_stream of SuperBench.
absl::StatusOr<CheckOutput> ParseSuperbenchGpuStream(const ProgramOutput& output);
// AzNHC and NHC: lines of failed checks and of measured rates; of a run on several nodes those of
// this one.
absl::StatusOr<CheckOutput> ParseNhc(const ProgramOutput& output);
// ib_write_bw, ib_read_bw and ib_send_bw.
absl::StatusOr<CheckOutput> ParsePerftest(const ProgramOutput& output);
// network_test and network_load_test of GPCNeT.
absl::StatusOr<CheckOutput> ParseGpcnet(const ProgramOutput& output);
// STREAM (John McCalpin's).
absl::StatusOr<CheckOutput> ParseStream(const ProgramOutput& output);
// fio --output-format=json
absl::StatusOr<CheckOutput> ParseFio(const ProgramOutput& output);

}  // namespace galen::node

#endif  // SERVICES_NODE_EXEC_PARSERS_H_
