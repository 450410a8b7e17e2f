#ifndef SERVICES_WATCH_WATCH_SERVICE_H_
#define SERVICES_WATCH_WATCH_SERVICE_H_

#include "galen/watch/v1/watch.grpc.pb.h"
#include "services/watch/health_event_intake.h"

namespace galen::watch {

// The gRPC adapter of the health intake: conversion only.
class WatchServiceImpl final : public v1::WatchService::CallbackService {
 public:
  // `intake` must outlive the service.
  explicit WatchServiceImpl(HealthEventIntake& intake) : intake_(intake) {}
  grpc::ServerUnaryReactor* ReportHealth(grpc::CallbackServerContext* context,
                                         const v1::ReportHealthRequest* request,
                                         v1::ReportHealthResponse* response) override;

 private:
  HealthEventIntake& intake_;
};

}  // namespace galen::watch

#endif  // SERVICES_WATCH_WATCH_SERVICE_H_
