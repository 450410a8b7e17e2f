#include "services/orchestrator/orchestrator_service.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/rpc/stream.h"
#include "common/rpc/unary.h"

namespace galen::orchestrator {
namespace {

// Follows a diagnosis for one stream. The next batch is asked for when the last one has been
// written, so a slow client costs no memory; the log waits for it.
class Follower : public std::enable_shared_from_this<Follower> {
 public:
  using Stream = rpc::ServerStream<v1::DiagnosisEvent>;

  Follower(Orchestrator& orchestrator, v1::WatchDiagnosisRequest request,
           std::shared_ptr<Stream> stream)
      : orchestrator_(orchestrator), request_(std::move(request)), stream_(std::move(stream)) {}

  void Start() {
    stream_->OnReady([self = shared_from_this()] { self->OnReady(); });
    Ask();
  }

 private:
  // On a gRPC thread: the queue ran empty, or the client is gone.
  void OnReady() {
    const bool alive = stream_->alive();
    std::int64_t ticket = 0;
    {
      MutexLock lock(mu_);
      if (alive) {
        written_ = true;
        if (!pushed_) return;  // the batch is still being put into the queue
        pushed_ = false;
      }
      ticket = std::exchange(ticket_, 0);
    }
    if (alive) {
      Ask();
    } else if (ticket != 0) {
      orchestrator_.StopWatching(ticket);
    }
  }

  void Ask() {
    v1::WatchDiagnosisRequest next;
    {
      MutexLock lock(mu_);
      written_ = false;
      next = request_;
    }
    const std::int64_t ticket = orchestrator_.WatchNext(
        next, [self = shared_from_this()](absl::StatusOr<EventBatch> batch) {
          self->OnEvents(std::move(batch));
        });
    {
      MutexLock lock(mu_);
      ticket_ = ticket;
    }
    // The client may have gone before the ticket existed.
    if (!stream_->alive()) orchestrator_.StopWatching(ticket);
  }

  void OnEvents(absl::StatusOr<EventBatch> batch) {
    if (!batch.ok()) {
      stream_->End(batch.status());
      return;
    }
    // Asked for when the queue had run empty since the batch before was begun: so at most that one
    // is still in it, and both fit.
    for (v1::DiagnosisEvent& event : batch->events) {
      const std::int64_t sequence = event.sequence();
      if (!stream_->Push(std::move(event))) {
        stream_->End(absl::UnavailableError("the stream broke: watch again"));
        return;
      }
      MutexLock lock(mu_);
      request_.set_after_sequence(sequence);
    }
    if (batch->ended) {
      stream_->End(absl::OkStatus());
      return;
    }
    {
      MutexLock lock(mu_);
      if (!written_) {
        pushed_ = true;  // OnReady() asks
        return;
      }
    }
    Ask();
  }

  Orchestrator& orchestrator_;
  Mutex mu_;
  v1::WatchDiagnosisRequest request_ ABSL_GUARDED_BY(mu_);
  bool pushed_ ABSL_GUARDED_BY(mu_) = false;   // the last batch is in the queue, and OnReady() asks
  bool written_ ABSL_GUARDED_BY(mu_) = false;  // the queue ran empty since the last Ask()
  std::int64_t ticket_ ABSL_GUARDED_BY(mu_) = 0;
  const std::shared_ptr<Stream> stream_;
};

}  // namespace

grpc::ServerUnaryReactor* OrchestratorServiceImpl::CreateDiagnosis(
    grpc::CallbackServerContext* context, const v1::CreateDiagnosisRequest* request,
    v1::Diagnosis* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    GALEN_RETURN_IF_ERROR(rpc::CheckTenant(guard_, *context, request->parent()));
    GALEN_ASSIGN_OR_RETURN(*response, orchestrator_.Create(*request));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* OrchestratorServiceImpl::GetDiagnosis(
    grpc::CallbackServerContext* context, const v1::GetDiagnosisRequest* request,
    v1::Diagnosis* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    GALEN_RETURN_IF_ERROR(rpc::CheckTenant(guard_, *context, request->name()));
    GALEN_ASSIGN_OR_RETURN(*response, orchestrator_.Get(*request));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* OrchestratorServiceImpl::ListDiagnoses(
    grpc::CallbackServerContext* context, const v1::ListDiagnosesRequest* request,
    v1::ListDiagnosesResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    GALEN_RETURN_IF_ERROR(rpc::CheckTenant(guard_, *context, request->parent()));
    GALEN_ASSIGN_OR_RETURN(*response, orchestrator_.List(*request));
    return absl::OkStatus();
  });
}

grpc::ServerWriteReactor<v1::DiagnosisEvent>* OrchestratorServiceImpl::WatchDiagnosis(
    grpc::CallbackServerContext* context, const v1::WatchDiagnosisRequest* request) {
  auto stream = rpc::ServerStream<v1::DiagnosisEvent>::Start(2 * kWatchBatch);
  const absl::Status allowed = rpc::CheckTenant(guard_, *context, request->name());
  if (!allowed.ok()) {
    stream->End(allowed);
    return stream.get();
  }
  std::make_shared<Follower>(orchestrator_, *request, stream)->Start();
  return stream.get();
}

grpc::ServerUnaryReactor* OrchestratorServiceImpl::CancelDiagnosis(
    grpc::CallbackServerContext* context, const v1::CancelDiagnosisRequest* request,
    v1::Diagnosis* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    GALEN_RETURN_IF_ERROR(rpc::CheckTenant(guard_, *context, request->name()));
    GALEN_ASSIGN_OR_RETURN(*response, orchestrator_.Cancel(*request));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* OrchestratorServiceImpl::SubmitFeedback(
    grpc::CallbackServerContext* context, const v1::SubmitFeedbackRequest* request,
    v1::Diagnosis* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    GALEN_RETURN_IF_ERROR(rpc::CheckTenant(guard_, *context, request->name()));
    GALEN_ASSIGN_OR_RETURN(*response, orchestrator_.SubmitFeedback(*request));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* OrchestratorServiceImpl::EscalateDiagnosis(
    grpc::CallbackServerContext* context, const v1::EscalateDiagnosisRequest* request,
    v1::Diagnosis* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    GALEN_RETURN_IF_ERROR(rpc::CheckTenant(guard_, *context, request->name()));
    GALEN_ASSIGN_OR_RETURN(*response, orchestrator_.Escalate(*request));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* OrchestratorServiceImpl::DeleteDiagnosis(
    grpc::CallbackServerContext* context, const v1::DeleteDiagnosisRequest* request,
    v1::DeleteDiagnosisResponse* response) {
  return rpc::RunUnary(context, executor_, [=, this](const rpc::Call&) -> absl::Status {
    GALEN_RETURN_IF_ERROR(rpc::CheckTenant(guard_, *context, request->name()));
    GALEN_ASSIGN_OR_RETURN(*response, orchestrator_.Delete(*request));
    return absl::OkStatus();
  });
}

}  // namespace galen::orchestrator
