#include "common/remediation/repair_outcome_store.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::remediation {
namespace {

using gateway::v1::RepairOutcomes;

constexpr char kOutcomes[] = "actions.outcomes";  // by label and run
constexpr int kOutcomesPage = 500;
constexpr std::size_t kMostSaid = 300;

// (Neither holds the character.)
std::string KeyOf(const std::string& label, const std::string& run) {
  return absl::StrCat(CleanText(label, 300), "|", CleanText(run, 100));
}

absl::StatusOr<RepairOutcomes> Parsed(const store::Record& record) {
  RepairOutcomes outcomes;
  if (outcomes.ParseFromString(record.value)) return outcomes;
  return absl::DataLossError(
      absl::StrCat("records ", kOutcomes, ": ", CleanText(record.key, 200), ": is corrupt"));
}

// Changes one record, and repeats it after a conflict. `change` returns whether there is anything
// to store.
absl::Status Change(store::Records& records, const std::string& key,
                    const std::function<bool(RepairOutcomes&)>& change) {
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const std::optional<store::Record> record, records.Get(kOutcomes, key));
    RepairOutcomes outcomes;
    if (record) {
      GALEN_ASSIGN_OR_RETURN(outcomes, Parsed(*record));
    }
    if (!change(outcomes)) return absl::OkStatus();
    const auto put =
        records.Put(kOutcomes, key, outcomes.SerializeAsString(), record ? record->version : 0);
    if (!absl::IsAborted(put.status())) return put.status();
  }
}

}  // namespace

galen::v1::TrackRecord TrackRecordOf(const RepairOutcomes& outcomes) {
  galen::v1::TrackRecord record;
  for (const RepairOutcomes::Outcome& outcome : outcomes.outcomes()) {
    if (!outcome.struck_by().empty()) continue;
    record.set_carried_out(record.carried_out() + 1);
    if (outcome.helped()) record.set_helped(record.helped() + 1);
  }
  return record;
}

absl::Status RepairOutcomeStore::Add(const galen::v1::Action& action) {
  const bool succeeded = action.state() == galen::v1::Action::SUCCEEDED;
  if (!action.carried_out() || (!succeeded && action.state() != galen::v1::Action::FAILED)) {
    return absl::OkStatus();
  }
  return Change(records_, KeyOf(action.label(), action.run()), [&](RepairOutcomes& outcomes) {
    const std::int64_t begin_s = action.consume_time().seconds();
    for (const RepairOutcomes::Outcome& there : outcomes.outcomes()) {
      if (there.action() == action.name() && there.begin_s() == begin_s) return false;
    }
    outcomes.set_label(action.label());
    outcomes.set_run(action.run());
    RepairOutcomes::Outcome& outcome = *outcomes.add_outcomes();
    outcome.set_action(action.name());
    outcome.set_node(action.target().node());
    outcome.set_begin_s(begin_s);
    outcome.set_helped(succeeded);
    outcome.set_text(CleanText(action.outcome(), kMostSaid));
    outcome.set_approved_by(CleanText(action.decided_by(), kMostSaid));
    if (outcomes.outcomes_size() > kMostOutcomes) {
      outcomes.mutable_outcomes()->DeleteSubrange(0, outcomes.outcomes_size() - kMostOutcomes);
    }
    return true;
  });
}

absl::StatusOr<std::vector<RepairOutcomes>> RepairOutcomeStore::List() const {
  std::vector<RepairOutcomes> all;
  std::string after;
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<store::Record> page,
                           records_.List(kOutcomes, after, kOutcomesPage));
    for (const store::Record& record : page) {
      GALEN_ASSIGN_OR_RETURN(RepairOutcomes outcomes, Parsed(record));
      all.push_back(std::move(outcomes));
    }
    if (page.size() < static_cast<std::size_t>(kOutcomesPage)) return all;
    after = page.back().key;
  }
}

absl::StatusOr<RepairOutcomes> RepairOutcomeStore::Of(const std::string& label,
                                                      const std::string& run) const {
  GALEN_ASSIGN_OR_RETURN(const std::optional<store::Record> record,
                         records_.Get(kOutcomes, KeyOf(label, run)));
  if (!record) return RepairOutcomes();
  return Parsed(*record);
}

absl::Status RepairOutcomeStore::Strike(const std::string& action, const std::string& by,
                                        const std::string& why) {
  const std::string who(absl::StripAsciiWhitespace(CleanText(by, kMostSaid)));
  const std::string reason(absl::StripAsciiWhitespace(CleanText(why, kMostSaid)));
  if (who.empty() || reason.empty()) {
    return absl::InvalidArgumentError("who strikes an outcome, and why, must be said");
  }
  GALEN_ASSIGN_OR_RETURN(const std::vector<RepairOutcomes> all, List());
  bool found = false;
  const auto strike = [&](RepairOutcomes& outcomes) {
    for (int i = outcomes.outcomes_size() - 1; i >= 0; --i) {
      RepairOutcomes::Outcome& outcome = *outcomes.mutable_outcomes(i);
      if (outcome.action() != action) continue;
      found = true;
      if (!outcome.struck_by().empty()) return false;
      outcome.set_struck_by(who);
      outcome.set_struck_why(reason);
      return true;
    }
    return false;
  };
  for (const RepairOutcomes& outcomes : all) {
    GALEN_RETURN_IF_ERROR(Change(records_, KeyOf(outcomes.label(), outcomes.run()), strike));
    if (found) return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat(CleanText(action, 300),
                                          ": nothing is remembered of it; "
                                          "`galen repairs list` shows what is"));
}

}  // namespace galen::remediation
