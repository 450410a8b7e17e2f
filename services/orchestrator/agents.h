#ifndef SERVICES_ORCHESTRATOR_AGENTS_H_
#define SERVICES_ORCHESTRATOR_AGENTS_H_

#include "common/clients/clients.h"

namespace galen::orchestrator {

// The services that a diagnosis calls. All must outlive who holds this.
struct Agents {
  clients::SummarizationClient& summarization;
  clients::PlanningClient& planning;
  clients::ExecutionClient& execution;
  clients::ReflectionClient& reflection;
  clients::ConclusionClient& conclusion;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_AGENTS_H_
