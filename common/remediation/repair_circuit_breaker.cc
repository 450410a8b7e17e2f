#include "common/remediation/repair_circuit_breaker.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace galen::remediation {
namespace {

using gateway::v1::RepairHistory;

constexpr char kFleetSpace[] = "actions.fleet";
constexpr char kKey[] = "history";

struct Read {
  RepairHistory history;
  std::int64_t version = 0;
};

absl::StatusOr<Read> Get(store::Records& records) {
  GALEN_ASSIGN_OR_RETURN(const std::optional<store::Record> record, records.Get(kFleetSpace, kKey));
  Read read;
  if (!record) return read;
  read.version = record->version;
  if (read.history.ParseFromString(record->value)) return read;
  return absl::DataLossError("records actions.fleet: history: is corrupt");
}

absl::Time BeginOf(const RepairHistory::Entry& entry) {
  return absl::FromUnixSeconds(entry.begin_s());
}

// When it ended, or had to end.
absl::Time EndOf(const RepairHistory::Entry& entry, const FleetLimits& limits) {
  return entry.end_s() != 0 ? absl::FromUnixSeconds(entry.end_s())
                            : BeginOf(entry) + limits.longest;
}

}  // namespace

absl::Status MayBegin(const RepairHistory& history, absl::string_view node,
                      const FleetLimits& limits, absl::Time now) {
  int under_way = 0;
  int failed = 0;
  for (const RepairHistory::Entry& entry : history.entries()) {
    const absl::Time end = EndOf(entry, limits);
    const bool is_under_way = entry.end_s() == 0 && now < end;
    if (is_under_way && entry.node() == node) {
      return absl::ResourceExhaustedError(
          absl::StrCat(node, ": another repair of it is under way"));
    }
    under_way += is_under_way ? 1 : 0;
    const bool did = entry.failed() || entry.end_s() == 0;
    failed += !is_under_way && did && now - end < limits.window ? 1 : 0;
  }
  if (failed >= limits.failures) {
    return absl::FailedPreconditionError(absl::StrCat(
        failed, " repairs of the fleet failed within ", absl::FormatDuration(limits.window),
        ": none is begun until fewer did; look at what they have in common"));
  }
  if (under_way >= limits.at_once) {
    return absl::ResourceExhaustedError(
        absl::StrCat(under_way, " repairs of the fleet are under way, as many as may be"));
  }
  return absl::OkStatus();
}

absl::Status RepairCircuitBreaker::Begin(const std::string& action, const std::string& node,
                                         absl::Time now) {
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(Read read, Get(records_));
    auto& entries = *read.history.mutable_entries();
    const bool begun = std::any_of(entries.begin(), entries.end(), [&](const auto& entry) {
      return entry.action() == action && entry.end_s() == 0 && now < EndOf(entry, limits_);
    });
    if (begun) return absl::OkStatus();
    GALEN_RETURN_IF_ERROR(MayBegin(read.history, node, limits_, now));
    entries.erase(std::remove_if(entries.begin(), entries.end(),
                                 [&](const auto& entry) {
                                   return now - EndOf(entry, limits_) > limits_.window;
                                 }),
                  entries.end());
    RepairHistory::Entry& entry = *entries.Add();
    entry.set_action(action);
    entry.set_node(node);
    entry.set_begin_s(absl::ToUnixSeconds(now));
    const auto put =
        records_.Put(kFleetSpace, kKey, read.history.SerializeAsString(), read.version);
    if (!absl::IsAborted(put.status())) return put.status();
  }
}

absl::Status RepairCircuitBreaker::End(const std::string& action, bool failed, absl::Time now) {
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(Read read, Get(records_));
    bool found = false;
    for (RepairHistory::Entry& entry : *read.history.mutable_entries()) {
      if (entry.action() != action || entry.end_s() != 0) continue;
      entry.set_end_s(absl::ToUnixSeconds(now));
      entry.set_failed(failed);
      found = true;
    }
    if (!found) return absl::OkStatus();
    const auto put =
        records_.Put(kFleetSpace, kKey, read.history.SerializeAsString(), read.version);
    if (!absl::IsAborted(put.status())) return put.status();
  }
}

}  // namespace galen::remediation
