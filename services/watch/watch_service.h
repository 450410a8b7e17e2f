#ifndef SERVICES_WATCH_WATCH_SERVICE_H_
#define SERVICES_WATCH_WATCH_SERVICE_H_

#include "galen/watch/v1/watch.grpc.pb.h"
#include "services/watch/desk.h"

namespace galen::watch {

// The gRPC adapter of the health intake: conversion only.
class WatchServiceImpl final : public v1::WatchService::CallbackService {
 public:
  // `desk` must outlive the service.
  explicit WatchServiceImpl(HealthDesk& desk) : desk_(desk) {}
  grpc::ServerUnaryReactor* ReportHealth(grpc::CallbackServerContext* context,
                                         const v1::ReportHealthRequest* request,
                                         v1::ReportHealthResponse* response) override;

 private:
  HealthDesk& desk_;
};

}  // namespace galen::watch

#endif  // SERVICES_WATCH_WATCH_SERVICE_H_
