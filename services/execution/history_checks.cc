#include "services/execution/history_checks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/cancellation.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/knowledge/findings.h"

namespace galen::execution {
namespace {

using galen::v1::CheckResult;
using galen::v1::Finding;
using knowledge::v1::Check;

constexpr int kThreads = 1;
constexpr std::size_t kMostQueued = 256;
constexpr std::size_t kMostTold = 20;  // in the excerpt

constexpr char kOfNode[] = "failures_same_node";
constexpr char kOfDevice[] = "failures_same_device";

absl::StatusOr<double> NumberOf(const Check& check, absl::string_view name) {
  for (const knowledge::v1::CheckDatum& datum : check.data()) {
    if (datum.name() == name && datum.has_number()) return datum.number();
  }
  return absl::InternalError(absl::StrCat("check ", check.name(), " has no number ", name,
                                          " in its data; `galen kb lint` tells what lacks"));
}

bool Declares(const Check& check, absl::string_view finding) {
  return std::any_of(
      check.findings().begin(), check.findings().end(),
      [&](const knowledge::v1::FindingSpec& spec) { return spec.name() == finding; });
}

std::string Times(int count) {
  return count == 1 ? "1 earlier failure" : absl::StrCat(count, " earlier failures");
}

// By day: who asks may be another tenant than the one whose diagnosis found it.
std::string Line(const node_history::Failure& failure) {
  return absl::StrCat(absl::FormatTime("%Y-%m-%d", ToTime(failure.time()), absl::UTCTimeZone()),
                      " ", failure.label(), failure.device().empty() ? "" : " on ",
                      failure.device(), "\n");
}

// One result, of a check that may be switched off.
CheckResult ResultOf(const Check& check, const std::string& node,
                     const v1::RunChecksRequest& request,
                     const absl::StatusOr<v1::NodeFailures>& found, absl::Time now) {
  if (check.off()) {
    return knowledge::MakeResult(
        check, node,
        absl::FailedPreconditionError(
            absl::StrCat(check.name(), " is switched off by the knowledge of this site")));
  }
  const auto window = WindowOf(check, request, now);
  absl::Status status = found.status();
  status.Update(window.status());
  // A store that ought to answer and does not is an error, not a thing that is not there.
  if (absl::IsUnavailable(status)) status = absl::AbortedError(status.message());
  if (!status.ok()) return knowledge::MakeResult(check, node, status);
  return knowledge::MakeResult(
      check, node,
      OutputOf(check, node, node_history::CountEarlier(*found, request.diagnosis(), *window),
               window->back));
}

}  // namespace

absl::StatusOr<node_history::Window> WindowOf(const Check& check,
                                              const v1::RunChecksRequest& request, absl::Time now) {
  GALEN_ASSIGN_OR_RETURN(const double days, NumberOf(check, "days"));
  GALEN_ASSIGN_OR_RETURN(const double hours, NumberOf(check, "hours_apart"));
  node_history::Window window{now, absl::Hours(24) * days, absl::Hours(1) * hours};
  if (request.has_start_time()) window.until = std::min(now, ToTime(request.start_time()));
  return window;
}

knowledge::CheckOutput OutputOf(const Check& check, const std::string& node,
                                const node_history::Counts& counts, absl::Duration back) {
  knowledge::CheckOutput output;
  const std::int64_t days = back / absl::Hours(24);
  if (counts.node.failures == 0) {
    output.message = absl::StrCat("no earlier failure of ", node, " is on record for the ", days,
                                  " days before");
    return output;
  }
  output.message =
      absl::StrCat(Times(counts.node.failures), " of ", node, " in the ", days, " days before");
  if (Declares(check, kOfNode)) {
    output.findings.push_back(knowledge::IntFinding(kOfNode, node, "", counts.node.failures));
  }
  for (const node_history::Count& device : counts.devices) {
    absl::StrAppend(&output.message, ", ", device.failures, " on ", device.device);
    if (!Declares(check, kOfDevice)) continue;
    Finding finding = knowledge::IntFinding(kOfDevice, node, device.device, device.failures);
    finding.mutable_subject()->set_serial(device.serial);
    output.findings.push_back(std::move(finding));
  }
  const std::vector<node_history::Failure>& all = counts.node.counted;
  for (std::size_t i = all.size() - std::min(all.size(), kMostTold); i < all.size(); ++i) {
    absl::StrAppend(&output.excerpt, Line(all[i]));
  }
  return output;
}

HistoryChecks::HistoryChecks(const node_history::NodeFailureStore& failure_store,
                             const Clock& clock)
    : failure_store_(failure_store),
      clock_(clock),
      pool_(std::make_unique<ThreadPool>(kThreads, kMostQueued)) {}

HistoryChecks::~HistoryChecks() { pool_.reset(); }

clients::Cancel HistoryChecks::Run(std::shared_ptr<const knowledge::Knowledge> knowledge,
                                   const v1::RunChecksRequest& request,
                                   std::map<std::string, std::set<std::string>> owed,
                                   absl::Time deadline, OnResult on_result,
                                   OnNodeDone on_node_done) {
  struct Call {
    std::shared_ptr<const knowledge::Knowledge> knowledge;
    v1::RunChecksRequest request;
    std::map<std::string, std::set<std::string>> owed;
    absl::Time deadline;
    OnResult on_result;
    OnNodeDone on_node_done;
    Cancellation cancelled;
  };
  const auto call = std::make_shared<Call>();
  call->knowledge = std::move(knowledge);
  call->request = request;
  call->owed = std::move(owed);
  call->deadline = deadline;
  call->on_result = std::move(on_result);
  call->on_node_done = std::move(on_node_done);
  const bool taken = pool_->TrySchedule([this, call] {
    absl::Status all = absl::OkStatus();
    if (!call->request.bundle().empty()) {
      all = absl::NotFoundError(
          "earlier failures are counted on live nodes; a bundle does not tell a machine from "
          "another one of the same name");
    } else if (const absl::StatusOr<bool> any = failure_store_.HasAny(); !any.ok()) {
      all = any.status();
    } else if (!*any) {
      all = absl::NotFoundError("no failure of any node is on record yet");
    }
    for (const auto& [node, checks] : call->owed) {
      const absl::Time now = clock_.Now();
      if (call->cancelled.cancelled() || now >= call->deadline) {
        call->on_node_done(node,
                           call->cancelled.cancelled()
                               ? absl::CancelledError("the call was cancelled")
                               : absl::DeadlineExceededError("the store did not answer in time"));
        continue;
      }
      const absl::StatusOr<v1::NodeFailures> found =
          all.ok() ? failure_store_.Of(node) : absl::StatusOr<v1::NodeFailures>(all);
      for (const std::string& check : checks) {
        call->on_result(
            node, ResultOf(*call->knowledge->FindCheck(check), node, call->request, found, now));
      }
      call->on_node_done(node, absl::OkStatus());
    }
  });
  if (!taken) {
    for (const auto& [node, checks] : call->owed) {
      call->on_node_done(node,
                         absl::ResourceExhaustedError(
                             "too many questions wait for the record of failures; try again"));
    }
  }
  return [call] { call->cancelled.Cancel(); };
}

}  // namespace galen::execution
