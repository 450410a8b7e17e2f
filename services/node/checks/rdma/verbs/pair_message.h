#ifndef SERVICES_NODE_CHECKS_RDMA_VERBS_PAIR_MESSAGE_H_
#define SERVICES_NODE_CHECKS_RDMA_VERBS_PAIR_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/rdma/verbs/endpoint.h"

namespace galen::node {

// No line of the protocol is longer.
inline constexpr std::size_t kMostPairLine = 1024;

// A line of the pair protocol: a verb and words of the form name=value, parted by one blank.
struct PairMessage {
  std::string verb;
  std::map<std::string, std::string, std::less<>> values;

  // "" where there is none.
  absl::string_view Text(absl::string_view name) const;
  // INVALID_ARGUMENT: missing, no number, or outside of the bounds.
  absl::StatusOr<std::int64_t> Integer(absl::string_view name, std::int64_t least,
                                       std::int64_t most) const;
  // A number from 0 to 10^9.
  absl::StatusOr<double> Number(absl::string_view name) const;
};

// INVALID_ARGUMENT: not a line of the protocol. Linear in the line. Pure.
absl::StatusOr<PairMessage> ParsePairMessage(absl::string_view line);

// `text` fit to be a value: every byte that is not printable ASCII, and every blank, becomes `_`.
std::string AsValue(absl::string_view text);

// An endpoint's address as words, and back. Pure.
std::string EndpointWords(const EndpointAddress& address);
absl::StatusOr<EndpointAddress> ParseEndpoint(const PairMessage& message);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_RDMA_VERBS_PAIR_MESSAGE_H_
