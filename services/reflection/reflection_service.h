#ifndef SERVICES_REFLECTION_REFLECTION_SERVICE_H_
#define SERVICES_REFLECTION_REFLECTION_SERVICE_H_

#include <utility>

#include "common/base/executor.h"
#include "common/base/hot_swap.h"
#include "galen/reflection/v1/reflection.grpc.pb.h"
#include "services/reflection/reflector.h"

namespace galen::reflection {

// gRPC adapter over Reflector: conversion only.
class ReflectionServiceImpl final : public v1::ReflectionService::CallbackService {
 public:
  // Each call uses the version that is current at its start. `executor` must outlive the service.
  ReflectionServiceImpl(HotSwap<Reflector> reflector, Executor& executor)
      : reflector_(std::move(reflector)), executor_(executor) {}
  grpc::ServerUnaryReactor* Judge(grpc::CallbackServerContext* context,
                                  const v1::JudgeRequest* request,
                                  v1::JudgeResponse* response) override;
  grpc::ServerUnaryReactor* Critique(grpc::CallbackServerContext* context,
                                     const v1::CritiqueRequest* request,
                                     v1::CritiqueResponse* response) override;
  grpc::ServerUnaryReactor* Investigate(grpc::CallbackServerContext* context,
                                        const v1::InvestigateRequest* request,
                                        v1::InvestigateResponse* response) override;

 private:
  const HotSwap<Reflector> reflector_;
  Executor& executor_;
};

}  // namespace galen::reflection

#endif  // SERVICES_REFLECTION_REFLECTION_SERVICE_H_
