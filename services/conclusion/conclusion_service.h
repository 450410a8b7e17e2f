#ifndef SERVICES_CONCLUSION_CONCLUSION_SERVICE_H_
#define SERVICES_CONCLUSION_CONCLUSION_SERVICE_H_

#include <utility>

#include "common/base/executor.h"
#include "common/base/hot_swap.h"
#include "galen/conclusion/v1/conclusion.grpc.pb.h"
#include "services/conclusion/report_writer.h"

namespace galen::conclusion {

// gRPC adapter over ReportWriter: conversion only.
class ConclusionServiceImpl final : public v1::ConclusionService::CallbackService {
 public:
  // Each call uses the version that is current at its start. `executor` must outlive the service.
  ConclusionServiceImpl(HotSwap<ReportWriter> writer, Executor& executor)
      : writer_(std::move(writer)), executor_(executor) {}
  grpc::ServerUnaryReactor* Conclude(grpc::CallbackServerContext* context,
                                     const v1::ConcludeRequest* request,
                                     v1::ConcludeResponse* response) override;

 private:
  const HotSwap<ReportWriter> writer_;
  Executor& executor_;
};

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_CONCLUSION_SERVICE_H_
