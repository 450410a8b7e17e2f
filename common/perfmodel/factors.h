#ifndef COMMON_PERFMODEL_FACTORS_H_
#define COMMON_PERFMODEL_FACTORS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::perfmodel {

// Measured shares of the rates in data sheets. Names have parts, the general ones first; an unknown
// "ring.pcie" has the value of "ring":
//
//   compute.VENDOR.WIDTH   large products of matrices, share of the peak
//   memory                 copies and sums over device memory, share of its rate
//   host.LINK              copies between host and device, share of the link
//   pair.LINK              copies from one GPU to another of its node, share of the link
//   ring.LINK              collectives within a node, share of a GPU's links
//   switch.LINK            all-reduce that the links' switch adds up, share of a GPU's links
//   net.FABRIC             collectives between nodes, share of the adapters
//   latency.node           seconds that a collective within a node takes beside its bytes
//   latency.net            the same of each hop between nodes
//   step.MODEL             share of the matrix and memory rates that a whole step keeps up
//   overlap                degree to which traffic that may hide hides behind work, 0 to 1
//   power.MODEL            share of the board's power that a step takes
class Factors {
 public:
  void Set(absl::string_view name, double value) { values_[std::string(name)] = value; }
  // FAILED_PRECONDITION: neither it nor a more general one is known.
  absl::StatusOr<double> At(absl::string_view name) const;
  const std::map<std::string, double>& all() const { return values_; }

 private:
  std::map<std::string, double> values_;
};

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_FACTORS_H_
