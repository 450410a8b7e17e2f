#include "common/node_history/node_failure_store.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/node_history/failures.h"

namespace galen::node_history {
namespace {

using execution::v1::NodeFailures;

constexpr char kFailures[] = "failures";  // by node

absl::StatusOr<NodeFailures> Parsed(const store::Record& record) {
  NodeFailures failures;
  if (failures.ParseFromString(record.value)) return failures;
  return absl::DataLossError(
      absl::StrCat("records ", kFailures, ": ", CleanText(record.key, 200),
                   ": is not a list of a node's failures; remove this record from the "
                   "store: the node's history then starts again"));
}

bool Older(const Failure& a, const Failure& b) {
  if (a.time().seconds() != b.time().seconds()) return a.time().seconds() < b.time().seconds();
  return a.time().nanos() < b.time().nanos();
}

// Replaces this diagnosis' earlier findings by the new ones.
NodeFailures With(NodeFailures before, const std::string& diagnosis,
                  const std::vector<Failure>& found) {
  std::vector<Failure> all(found);
  for (Failure& failure : *before.mutable_failures()) {
    if (failure.diagnosis() != diagnosis) all.push_back(std::move(failure));
  }
  std::stable_sort(all.begin(), all.end(), Older);
  const auto surplus = static_cast<std::ptrdiff_t>(all.size()) - kMostFailures;
  if (surplus > 0) all.erase(all.begin(), all.begin() + surplus);
  NodeFailures after;
  after.mutable_failures()->Assign(all.begin(), all.end());
  return after;
}

}  // namespace

absl::Status NodeFailureStore::Note(const galen::v1::Diagnosis& diagnosis) const {
  for (const auto& [node, found] : FailuresOf(diagnosis)) {
    for (;;) {
      GALEN_ASSIGN_OR_RETURN(const std::optional<store::Record> record,
                             records_.Get(kFailures, node));
      NodeFailures before;
      if (record) {
        GALEN_ASSIGN_OR_RETURN(before, Parsed(*record));
      }
      const std::string value = With(before, diagnosis.name(), found).SerializeAsString();
      if (value == (record ? record->value : "")) break;
      const auto put = records_.Put(kFailures, node, value, record ? record->version : 0);
      if (put.ok()) break;
      if (!absl::IsAborted(put.status())) return put.status();
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<NodeFailures> NodeFailureStore::Of(const std::string& node) const {
  if (node.empty()) return NodeFailures();
  GALEN_ASSIGN_OR_RETURN(const std::optional<store::Record> record, records_.Get(kFailures, node));
  if (!record) return NodeFailures();
  return Parsed(*record);
}

absl::StatusOr<bool> NodeFailureStore::HasAny() const {
  GALEN_ASSIGN_OR_RETURN(const std::vector<store::Record> first, records_.List(kFailures, "", 1));
  return !first.empty();
}

}  // namespace galen::node_history
