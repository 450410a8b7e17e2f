#ifndef SERVICES_NODE_CHECKS_RDMA_PERFTEST_H_
#define SERVICES_NODE_CHECKS_RDMA_PERFTEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::node {

// The output of one of the tools of perftest (ib_write_bw, ib_send_bw, ib_read_bw).
struct PerftestReport {
  struct Row {
    std::int64_t bytes = 0;
    std::int64_t iterations = 0;
    double peak_gbps = 0;  // 10^9 bits a second
    double average_gbps = 0;
  };
  std::string device;
  std::int64_t mtu = 0;   // 0: not printed
  bool ethernet = false;  // "Link type : Ethernet"
  bool gpu_memory = false;
  bool both_ways = false;  // -b: each figure is the sum of both directions
  std::vector<Row> rows;

  // The row of the largest average: of those of `least_bytes` and more where there are any, else
  // of all. All zeros when there is no row.
  Row best(double least_bytes = 0) const;
};

// INVALID_ARGUMENT: it is not such output, or has no result (the test failed before). Linear. Pure.
absl::StatusOr<PerftestReport> ParsePerftest(absl::string_view text);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_PERFTEST_H_
