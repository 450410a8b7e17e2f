#include "services/node/checks/rdma/nic_model.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace galen::node {

std::optional<double> NicFact(const knowledge::Knowledge& knowledge, const RdmaPort& port,
                              absl::string_view fact) {
  if (port.type.empty()) return std::nullopt;
  const std::string product =
      port.board.empty() ? port.type : absl::StrCat(port.type, " ", port.board);
  const knowledge::v1::Hardware* const model = knowledge.FindHardware(product);
  if (model == nullptr) return std::nullopt;
  const auto it = model->facts().find(std::string(fact));
  if (it == model->facts().end()) return std::nullopt;
  return it->second;
}

}  // namespace galen::node
