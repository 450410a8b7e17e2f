#include "tests/integration/in_process/real_agents.h"

#include <optional>
#include <utility>

#include "common/base/hot_swap.h"
#include "common/base/status_macros.h"
#include "common/knowledge/load.h"
#include "common/reasoner/llm/reasoned.h"
#include "services/conclusion/report_writer.h"
#include "services/node/registry.h"
#include "services/planning/planner.h"
#include "services/reflection/reflector.h"
#include "services/summarization/make_summarizer.h"

namespace galen::in_process {
namespace {

using KnowledgePtr = std::shared_ptr<const knowledge::Knowledge>;

template <typename Service>
HotSwap<Service> Reasoned(const KnowledgePtr& book) {
  return HotSwap<Service>(reasoner::llm::MakeReasoned<Service>(book, std::nullopt));
}

}  // namespace

RealAgents::RealAgents(KnowledgePtr knowledge, Executor& executor)
    : hosts_({}),
      node_(hosts_, knowledge, node::AllChecks(), node::NodeExecutor::Options()),
      node_client_(node_, executor),
      registry_({}, {&node_client_}),
      runner_(
          registry_, HotSwap<knowledge::Knowledge>(knowledge), clock_,
          [this] {
            execution::CheckRunner::Options options;
            options.bundle_nodes =
                [this](const std::string& directory) -> absl::StatusOr<std::vector<std::string>> {
              GALEN_ASSIGN_OR_RETURN(const auto bundle, hosts_.OpenBundle(directory));
              return bundle->nodes();
            };
            return options;
          }()),
      summarization_(HotSwap<summarization::Summarizer>(
                         summarization::MakeSummarizer(
                             knowledge, knowledge::DefaultCacheDirectory(), clock_, {})
                             .value()),
                     executor),
      planning_(Reasoned<planning::Planner>(knowledge), executor),
      execution_(runner_, executor),
      reflection_(Reasoned<reflection::Reflector>(knowledge), executor),
      conclusion_(Reasoned<conclusion::ReportWriter>(knowledge), executor) {}

}  // namespace galen::in_process
