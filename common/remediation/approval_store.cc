#include "common/remediation/approval_store.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/crypto/sha256.h"
#include "common/remediation/proposals.h"

namespace galen::remediation {
namespace {

constexpr char kSpace[] = "actions";
constexpr char kDue[] = "actions.due";    // by name of action: the time of its entry, and a nonce
constexpr char kNews[] = "actions.news";  // by name of action: ended, or about to end
// An approval is due for some time before its record holds it, but never for this long.
constexpr absl::Duration kLongestDecision = absl::Minutes(5);
constexpr int kPage = 200;
constexpr std::size_t kMostReason = 1000;

std::string RandomText() {
  std::random_device random;
  return absl::StrCat(random(), "-", random(), "-", random());
}

// Depends on the content and on the decision: it changes with every change of either.
std::string EtagOf(const std::string& content_hash, std::int64_t version) {
  return Sha256Hex(absl::StrCat(content_hash, "/", version)).substr(0, 32);
}

bool IsEnded(galen::v1::Action::State state) {
  return state == galen::v1::Action::SUCCEEDED || state == galen::v1::Action::FAILED;
}

// The record of an action that was begun is kept, whatever the report says now.
bool IsBegun(galen::v1::Action::State state) {
  return state == galen::v1::Action::CONSUMED || IsEnded(state);
}

// A decision in its present state.
galen::v1::Action AsOf(galen::v1::Action action, absl::Time now) {
  if (action.state() == galen::v1::Action::APPROVED && ToTime(action.expire_time()) <= now) {
    action.set_state(galen::v1::Action::EXPIRED);
  }
  return action;
}

// The proposed action, with the decision about exactly its content.
galen::v1::Action Merged(const galen::v1::Action& proposed,
                         const gateway::v1::ActionDecision* decision, std::int64_t version,
                         absl::Time now) {
  galen::v1::Action action = proposed;
  if (decision != nullptr && decision->action().content_hash() == proposed.content_hash()) {
    action = AsOf(decision->action(), now);
  }
  action.set_etag(EtagOf(proposed.content_hash(), version));
  return action;
}

absl::Status CheckDecision(const ApprovalStore::Decision& decision) {
  if (decision.etag.empty()) {
    return absl::InvalidArgumentError("etag: is required; list the actions to have it");
  }
  if (decision.reason.size() > kMostReason) {
    return absl::InvalidArgumentError(
        absl::StrCat("reason: has more than ", kMostReason, " bytes"));
  }
  if (decision.lifetime <= absl::ZeroDuration() || decision.lifetime > kMostLifetime) {
    return absl::InvalidArgumentError(
        absl::StrCat("lifetime: is not within 0s to ", absl::FormatDuration(kMostLifetime)));
  }
  return absl::OkStatus();
}

}  // namespace

ApprovalStore::ApprovalStore(store::Records& records, NodeActions offered,
                             std::function<std::string()> nonce, Sign sign)
    : records_(records),
      outcomes_(records),
      offered_(std::move(offered)),
      nonce_(nonce ? std::move(nonce) : &RandomText),
      sign_(std::move(sign)) {}

absl::StatusOr<std::optional<ApprovalStore::StoredDecision>> ApprovalStore::Get(
    const std::string& name) {
  GALEN_ASSIGN_OR_RETURN(const std::optional<store::Record> record, records_.Get(kSpace, name));
  if (!record) return std::nullopt;
  StoredDecision kept;
  kept.version = record->version;
  if (kept.decision.ParseFromString(record->value)) return kept;
  return absl::DataLossError(
      absl::StrCat("records actions: ", CleanText(name, 200), ": is corrupt"));
}

absl::StatusOr<std::vector<galen::v1::Action>> ApprovalStore::List(
    const galen::v1::Diagnosis& diagnosis, absl::Time now) {
  std::vector<galen::v1::Action> actions;
  std::set<std::string> names;
  for (const galen::v1::Action& proposed : ProposedBy(diagnosis, offered_)) {
    GALEN_ASSIGN_OR_RETURN(const std::optional<StoredDecision> kept, Get(proposed.name()));
    actions.push_back(
        Merged(proposed, kept ? &kept->decision : nullptr, kept ? kept->version : 0, now));
    if (!proposed.run().empty()) {
      GALEN_ASSIGN_OR_RETURN(const gateway::v1::RepairOutcomes before,
                             outcomes_.Of(proposed.label(), proposed.run()));
      const galen::v1::TrackRecord record = TrackRecordOf(before);
      if (record.carried_out() > 0) *actions.back().mutable_track_record() = record;
    }
    names.insert(proposed.name());
    // A decision about an earlier content of the action.
    if (kept && kept->decision.action().content_hash() != proposed.content_hash()) {
      galen::v1::Action old = kept->decision.action();
      if (!IsBegun(old.state())) old.set_state(galen::v1::Action::WITHDRAWN);
      actions.push_back(std::move(old));
    }
  }
  const std::string prefix = absl::StrCat(diagnosis.name(), "/actions/");
  GALEN_ASSIGN_OR_RETURN(const std::vector<store::Record> kept,
                         records_.List(kSpace, prefix, kPage));
  for (const store::Record& record : kept) {
    if (!absl::StartsWith(record.key, prefix)) break;
    gateway::v1::ActionDecision decision;
    if (names.count(record.key) > 0 || !decision.ParseFromString(record.value)) continue;
    galen::v1::Action old = std::move(*decision.mutable_action());
    if (!IsBegun(old.state())) old.set_state(galen::v1::Action::WITHDRAWN);
    actions.push_back(std::move(old));
  }
  return actions;
}

absl::StatusOr<galen::v1::Action> ApprovalStore::Decide(const galen::v1::Diagnosis& diagnosis,
                                                        const Decision& decision, absl::Time now) {
  GALEN_RETURN_IF_ERROR(CheckDecision(decision));
  const std::vector<galen::v1::Action> proposals = ProposedBy(diagnosis, offered_);
  const auto proposed =
      std::find_if(proposals.begin(), proposals.end(),
                   [&](const galen::v1::Action& one) { return one.name() == decision.name; });
  if (proposed == proposals.end()) {
    return absl::NotFoundError(
        absl::StrCat(CleanText(decision.name, 300), ": the diagnosis proposes no such action"));
  }
  GALEN_ASSIGN_OR_RETURN(const std::optional<StoredDecision> kept, Get(decision.name));
  const std::int64_t version = kept ? kept->version : 0;
  const galen::v1::Action current =
      Merged(*proposed, kept ? &kept->decision : nullptr, version, now);
  const absl::Status changed = absl::AbortedError(
      absl::StrCat(decision.name, ": etag: the action is no longer as it was seen; list it again"));
  if (decision.etag != current.etag()) return changed;
  const bool open = current.state() == galen::v1::Action::PROPOSED ||
                    current.state() == galen::v1::Action::EXPIRED ||
                    current.state() == galen::v1::Action::FAILED ||
                    (current.state() == galen::v1::Action::APPROVED && !decision.approve);
  if (!open) {
    return absl::FailedPreconditionError(absl::StrCat(
        decision.name, ": is ", galen::v1::Action::State_Name(current.state()), " already"));
  }
  gateway::v1::ActionDecision put;
  galen::v1::Action& action = *put.mutable_action();
  action = *proposed;
  action.set_state(decision.approve ? galen::v1::Action::APPROVED : galen::v1::Action::REJECTED);
  action.set_decided_by(decision.by);
  action.set_reason(CleanText(decision.reason, kMostReason));
  *action.mutable_decide_time() = ToTimestamp(now);
  if (decision.approve) *action.mutable_expire_time() = ToTimestamp(now + decision.lifetime);
  put.set_nonce(nonce_());
  const NodeAction* const how = offered_.Find(action.run());
  if (decision.approve && how != nullptr && how->run.has_value()) {
    if (!sign_) {
      return absl::FailedPreconditionError(
          absl::StrCat(decision.name,
                       ": runs on a node, which accepts only signed approvals; "
                       "start the gateway with certificates (docs/security.md)"));
    }
    GALEN_ASSIGN_OR_RETURN(*put.mutable_warrant(), sign_(action, now + decision.lifetime));
  }
  // Before the approval, so that it is not missed.
  if (decision.approve && !action.run().empty()) {
    GALEN_RETURN_IF_ERROR(Note(kDue, decision.name, absl::StrCat(absl::ToUnixSeconds(now))));
  }
  // The last failure may not have been acknowledged yet, and its record is about to be overwritten.
  if (current.state() == galen::v1::Action::FAILED && offered_.LooksAfter(current.run())) {
    GALEN_RETURN_IF_ERROR(outcomes_.Add(current));
  }
  const absl::StatusOr<std::int64_t> stored =
      records_.Put(kSpace, decision.name, put.SerializeAsString(), version);
  if (absl::IsAborted(stored.status())) return changed;
  if (!stored.ok()) return stored.status();
  action.set_etag(EtagOf(action.content_hash(), *stored));
  return action;
}

absl::StatusOr<galen::v1::Action> ApprovalStore::Consume(const std::string& name,
                                                         const std::string& content_hash,
                                                         const std::string& run, absl::Time now) {
  if (run.empty()) return absl::InvalidArgumentError("run: is required");
  GALEN_ASSIGN_OR_RETURN(std::optional<StoredDecision> kept, Get(name));
  const auto denied = [&name](absl::string_view why) {
    return absl::PermissionDeniedError(absl::StrCat(CleanText(name, 300), ": ", why));
  };
  if (!kept) return denied("nobody approved it");
  galen::v1::Action& action = *kept->decision.mutable_action();
  if (action.name() != name || action.content_hash() != content_hash ||
      ContentHash(action) != content_hash) {
    return denied("another action was approved than the one to be run");
  }
  if (action.state() == galen::v1::Action::CONSUMED && action.consumed_by() == run) return action;
  const galen::v1::Action::State state = AsOf(action, now).state();
  if (state != galen::v1::Action::APPROVED) {
    return denied(absl::StrCat("it is ", galen::v1::Action::State_Name(state)));
  }
  action.set_state(galen::v1::Action::CONSUMED);
  action.set_consumed_by(run);
  *action.mutable_consume_time() = ToTimestamp(now);
  const auto stored = records_.Put(kSpace, name, kept->decision.SerializeAsString(), kept->version);
  if (absl::IsAborted(stored.status())) return denied("another run took it, or it was rejected");
  if (!stored.ok()) return stored.status();
  return action;
}

absl::StatusOr<std::string> ApprovalStore::WarrantOf(const std::string& name,
                                                     const std::string& run) {
  GALEN_ASSIGN_OR_RETURN(const std::optional<StoredDecision> kept, Get(name));
  if (!kept || kept->decision.action().state() != galen::v1::Action::CONSUMED ||
      kept->decision.action().consumed_by() != run) {
    return absl::PermissionDeniedError(
        absl::StrCat(CleanText(name, 300), ": was not taken by ", CleanText(run, 100)));
  }
  return kept->decision.warrant();
}

absl::Status ApprovalStore::Note(const std::string& space, const std::string& name,
                                 const std::string& value) {
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const std::optional<store::Record> there, records_.Get(space, name));
    const auto put =
        records_.Put(space, name, absl::StrCat(value, " ", nonce_()), there ? there->version : 0);
    if (!absl::IsAborted(put.status())) return put.status();
  }
}

absl::Status ApprovalStore::ForEach(
    const std::string& space, absl::Status& unreadable,
    const std::function<absl::Status(const store::Record& entry,
                                     std::optional<StoredDecision> kept)>& look) {
  std::string after;
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<store::Record> page,
                           records_.List(space, after, kPage));
    for (const store::Record& entry : page) {
      after = entry.key;
      absl::StatusOr<std::optional<StoredDecision>> kept = Get(entry.key);
      if (absl::IsDataLoss(kept.status())) {
        unreadable = kept.status();
        continue;
      }
      GALEN_RETURN_IF_ERROR(kept.status());
      GALEN_RETURN_IF_ERROR(look(entry, *std::move(kept)));
    }
    if (page.size() < static_cast<std::size_t>(kPage)) return absl::OkStatus();
  }
}

absl::StatusOr<ApprovalStore::Entries> ApprovalStore::Due(absl::Time now) {
  Entries due;
  GALEN_RETURN_IF_ERROR(ForEach(
      kDue, due.unreadable, [&](const store::Record& entry, std::optional<StoredDecision> kept) {
        galen::v1::Action action;
        if (kept) action = AsOf(kept->decision.action(), now);
        if (action.state() == galen::v1::Action::APPROVED ||
            action.state() == galen::v1::Action::CONSUMED) {
          due.actions.push_back(std::move(action));
          return absl::OkStatus();
        }
        // Never approved, refused, or expired; or not approved yet.
        const std::pair<absl::string_view, absl::string_view> parts =
            absl::StrSplit(entry.value, absl::MaxSplits(' ', 1));
        std::int64_t since = 0;
        if (absl::SimpleAtoi(parts.first, &since) &&
            now - absl::FromUnixSeconds(since) < kLongestDecision) {
          return absl::OkStatus();
        }
        const absl::Status removed = records_.Remove(kDue, entry.key, entry.version);
        return absl::IsAborted(removed) ? absl::OkStatus() : removed;
      }));
  return due;
}

absl::Status ApprovalStore::Finish(const std::string& name, const std::string& run,
                                   const End& end) {
  // Read first: a new approval after a failure is a separate entry, which must stay.
  GALEN_ASSIGN_OR_RETURN(const std::optional<store::Record> due, records_.Get(kDue, name));
  GALEN_ASSIGN_OR_RETURN(std::optional<StoredDecision> kept, Get(name));
  galen::v1::Action action;
  if (kept) action = kept->decision.action();
  if (action.consumed_by() != run || !IsBegun(action.state())) {
    return absl::FailedPreconditionError(
        absl::StrCat(CleanText(name, 300), ": was not taken by ", CleanText(run, 100)));
  }
  // Finish() was called before, and the action may be approved again at this moment. (Due() removes
  // the entry.)
  if (action.state() != galen::v1::Action::CONSUMED) return absl::OkStatus();
  action.set_state(end.succeeded ? galen::v1::Action::SUCCEEDED : galen::v1::Action::FAILED);
  action.set_outcome(CleanText(end.text, kMostReason));
  action.set_carried_out(end.carried_out);
  *kept->decision.mutable_action() = std::move(action);
  // Before the end is recorded, so that it is not missed.
  GALEN_RETURN_IF_ERROR(Note(kNews, name, "ended"));
  GALEN_RETURN_IF_ERROR(
      records_.Put(kSpace, name, kept->decision.SerializeAsString(), kept->version).status());
  if (!due) return absl::OkStatus();
  const absl::Status removed = records_.Remove(kDue, name, due->version);
  return absl::IsAborted(removed) ? absl::OkStatus() : removed;
}

absl::StatusOr<ApprovalStore::Entries> ApprovalStore::UnacknowledgedResults() {
  Entries news;
  GALEN_RETURN_IF_ERROR(ForEach(
      kNews, news.unreadable, [&](const store::Record& entry, std::optional<StoredDecision> kept) {
        const galen::v1::Action::State state =
            kept ? kept->decision.action().state() : galen::v1::Action::STATE_UNSPECIFIED;
        if (IsEnded(state)) {
          news.actions.push_back(std::move(*kept->decision.mutable_action()));
        }
        if (IsBegun(state)) return absl::OkStatus();
        // Decided again since; its next end is noted again.
        const absl::Status removed = records_.Remove(kNews, entry.key, entry.version);
        return absl::IsAborted(removed) ? absl::OkStatus() : removed;
      }));
  return news;
}

absl::Status ApprovalStore::Acknowledge(const galen::v1::Action& action) {
  GALEN_ASSIGN_OR_RETURN(const std::optional<store::Record> entry,
                         records_.Get(kNews, action.name()));
  if (!entry) return absl::OkStatus();
  // Read after the entry, which is noted before an end is recorded: a later end is another entry,
  // or is in the record.
  GALEN_ASSIGN_OR_RETURN(const std::optional<StoredDecision> kept, Get(action.name()));
  if (kept && (kept->decision.action().state() != action.state() ||
               ToTime(kept->decision.action().consume_time()) != ToTime(action.consume_time()))) {
    return absl::OkStatus();
  }
  const absl::Status removed = records_.Remove(kNews, action.name(), entry->version);
  return absl::IsAborted(removed) ? absl::OkStatus() : removed;
}

}  // namespace galen::remediation
