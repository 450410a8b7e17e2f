#include "services/gateway/checks/check_upstream.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/base/text.h"
#include "common/observability/trace/trace.h"
#include "galen/v1/check_service.pb.h"
#include "services/gateway/api/errors.h"

namespace galen::gateway {
namespace {

constexpr int kMostChecks = 50;
constexpr int kMostNodes = 100;
constexpr std::size_t kMostNameBytes = 253;  // RFC 1035's longest host name

absl::Status CheckNames(const google::protobuf::RepeatedPtrField<std::string>& names,
                        absl::string_view field, int most) {
  if (names.size() > most) return FieldError(field, absl::StrCat("has more than ", most));
  for (const std::string& name : names) {
    if (name.empty() || name.size() > kMostNameBytes) {
      return FieldError(field, absl::StrCat("\"", CleanText(name, 64), "\" is not a valid name"));
    }
  }
  return absl::OkStatus();
}

absl::Status Check(const galen::v1::RunChecksRequest& request) {
  if (request.checks().empty()) return FieldError("checks", "names none; /v1/knowledge has them");
  absl::Status status = CheckNames(request.checks(), "checks", kMostChecks);
  return status.ok() ? CheckNames(request.nodes(), "nodes", kMostNodes) : status;
}

}  // namespace

// One call. Execution answers with the tenant's view of its nodes, so both requests are made in the
// name of a resource of the tenant.
class CheckUpstream::Run : public std::enable_shared_from_this<Run> {
 public:
  Run(clients::ExecutionClient& execution, const galen::v1::RunChecksRequest& asked,
      absl::Time deadline, clients::Done<Answer> done)
      : execution_(execution), deadline_(deadline), done_(std::move(done)) {
    *wanted_.mutable_checks() = asked.checks();
    *wanted_.mutable_nodes() = asked.nodes();
    // Unique to this call, so that results found for another call are not reused.
    wanted_.set_diagnosis(
        absl::StrCat(asked.parent(), "/checks/", trace::TraceIdOf(trace::NewTrace())));
  }

  void Start() {
    if (!wanted_.nodes().empty()) return RunThem();
    execution::v1::ResolveNodesRequest all;
    all.set_diagnosis(wanted_.diagnosis());
    execution_.ResolveNodes(
        all, deadline_,
        [self = shared_from_this()](absl::StatusOr<execution::v1::ResolveNodesResponse> nodes) {
          const trace::Scope scope(self->work_);
          if (!nodes.ok()) return self->End(nodes.status());
          if (nodes->nodes().empty()) {
            return self->End(absl::FailedPreconditionError("this tenant has no nodes"));
          }
          if (nodes->nodes_size() > kMostNodes) {
            return self->End(FieldError(
                "nodes", absl::StrCat("names none, and the tenant has ", nodes->nodes_size(),
                                      "; name at most ", kMostNodes)));
          }
          *self->wanted_.mutable_nodes() = std::move(*nodes->mutable_nodes());
          self->RunThem();
        });
  }

  void Cancel() {
    clients::Cancel cancel;
    {
      const MutexLock lock(mu_);
      cancelled_ = true;
      cancel = cancel_;
    }
    if (cancel) cancel();
  }

 private:
  void RunThem() {
    clients::Cancel cancel = execution_.RunChecks(
        wanted_, deadline_,
        // (They never overlap, and `done` comes last.)
        [self = shared_from_this()](galen::v1::CheckResult result) {
          if (result.status() == galen::v1::CheckResult::RUNNING) return;
          self->results_.push_back(std::move(result));
        },
        [self = shared_from_this()](absl::Status status) { self->End(std::move(status)); });
    bool cancelled = false;
    {
      const MutexLock lock(mu_);
      cancelled = cancelled_;
      cancel_ = cancel;
    }
    if (cancelled) cancel();
  }

  void End(absl::Status status) {
    if (!status.ok()) return std::move(done_)(std::move(status));
    std::sort(results_.begin(), results_.end(),
              [](const galen::v1::CheckResult& a, const galen::v1::CheckResult& b) {
                return std::tie(a.node(), a.check()) < std::tie(b.node(), b.check());
              });
    auto answer = std::make_unique<galen::v1::RunChecksResponse>();
    for (galen::v1::CheckResult& result : results_) *answer->add_results() = std::move(result);
    std::move(done_)(std::move(answer));
  }

  clients::ExecutionClient& execution_;
  const absl::Time deadline_;
  const trace::Work work_ = trace::Current();
  execution::v1::RunChecksRequest wanted_;
  clients::Done<Answer> done_;
  std::vector<galen::v1::CheckResult> results_;
  Mutex mu_;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  clients::Cancel cancel_ ABSL_GUARDED_BY(mu_);
};

CheckUpstream::CheckUpstream(Upstream& mesh, clients::ExecutionClient* execution)
    : mesh_(mesh), execution_(execution) {}

clients::Cancel CheckUpstream::Ask(Call call, clients::Done<Answer> done) {
  const auto* request = dynamic_cast<const galen::v1::RunChecksRequest*>(call.request.get());
  if (request == nullptr) return mesh_.Ask(std::move(call), std::move(done));
  if (execution_ == nullptr) {
    std::move(done)(absl::UnimplementedError(
        "this gateway runs no checks: it was started without --execution"));
    return clients::NoCancel();
  }
  if (absl::Status status = Check(*request); !status.ok()) {
    std::move(done)(std::move(status));
    return clients::NoCancel();
  }
  const auto run = std::make_shared<Run>(*execution_, *request, call.deadline, std::move(done));
  run->Start();
  return [weak = std::weak_ptr<Run>(run)] {
    if (const std::shared_ptr<Run> live = weak.lock()) live->Cancel();
  };
}

std::shared_ptr<Upstream::Feed> CheckUpstream::Follow(
    Call call, absl::AnyInvocable<void(const google::protobuf::Message&)> on_message,
    absl::AnyInvocable<void(absl::Status) &&> done) {
  return mesh_.Follow(std::move(call), std::move(on_message), std::move(done));
}

}  // namespace galen::gateway
