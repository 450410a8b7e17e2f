#include "common/reasoner/llm/open_model.h"

#include <cstddef>

#include "common/base/status_macros.h"
#include "common/knowledge/load.h"
#include "common/llm/endpoint.h"
#include "common/llm/http_client.h"
#include "common/reasoner/llm/model_metrics.h"
#include "common/yaml/knowledge_file.h"

namespace galen::reasoner::llm {
namespace {

// Number of cached answers: some kilobytes each.
constexpr std::size_t kKeptInMemory = 1'000;
constexpr std::size_t kKeptInFile = 20'000;
// Number of vectors in memory: about a kilobyte each.
constexpr std::size_t kKeptVectors = 20'000;

}  // namespace

absl::StatusOr<host::CapturePlan> SecretsOf(const std::vector<std::string>& knowledge) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                         knowledge::FindDirectories(knowledge));
  GALEN_ASSIGN_OR_RETURN(const std::vector<KnowledgeFile> plans,
                         KnowledgeFiles(directories, "capture.txt"));
  return host::ParseCapturePlan(plans.back().text, plans.back().path);
}

absl::StatusOr<std::unique_ptr<OpenedModel>> OpenedModel::Open(
    const std::string& endpoint_file, const std::string& cache,
    const std::vector<std::string>& knowledge) {
  if (endpoint_file.empty()) return std::unique_ptr<OpenedModel>();
  std::unique_ptr<OpenedModel> opened(new OpenedModel());
  GALEN_ASSIGN_OR_RETURN(opened->plan_, SecretsOf(knowledge));
  GALEN_ASSIGN_OR_RETURN(const galen::llm::Endpoint endpoint,
                         galen::llm::LoadEndpoint(endpoint_file));
  GALEN_ASSIGN_OR_RETURN(opened->client_, galen::llm::HttpClient::Make(endpoint));
  if (cache.empty()) {
    opened->cache_ = std::make_unique<store::MemoryAnswerCache>(kKeptInMemory);
  } else {
    GALEN_ASSIGN_OR_RETURN(opened->cache_, store::OpenAnswerCache(cache, kKeptInFile));
  }
  if (endpoint.embedding_model.empty()) return opened;
  // A separate client: an embedding server that fails must not open the circuit breaker of the
  // questions, and vice versa.
  GALEN_ASSIGN_OR_RETURN(opened->embedding_client_, galen::llm::HttpClient::Make(endpoint));
  if (cache.empty()) {
    opened->vectors_ = std::make_unique<store::MemoryAnswerCache>(kKeptVectors);
  }
  opened->embedding_ = {.client = opened->embedding_client_.get(),
                        .model = endpoint.embedding_model,
                        .dimensions = endpoint.embedding_dimensions,
                        .limit = endpoint.embedding_limit,
                        .vectors = cache.empty() ? opened->vectors_.get() : opened->cache_.get()};
  return opened;
}

std::shared_ptr<const prometheus::Collectable> OpenedModel::metrics() const {
  return std::make_shared<const ModelMetrics>(*client_, embedding_client_.get(), counters_);
}

}  // namespace galen::reasoner::llm
