#include "common/reasoner/llm/open_model.h"

#include <cstddef>

#include "common/base/status_macros.h"
#include "common/llm/endpoint.h"
#include "common/llm/http_client.h"

namespace galen::reasoner::llm {
namespace {

// Answers that are kept: some kilobytes each.
constexpr std::size_t kKeptInMemory = 1'000;
constexpr std::size_t kKeptInFile = 20'000;

}  // namespace

absl::StatusOr<std::unique_ptr<OpenedModel>> OpenedModel::Open(const std::string& endpoint_file,
                                                               const std::string& cache) {
  if (endpoint_file.empty()) return std::unique_ptr<OpenedModel>();
  std::unique_ptr<OpenedModel> opened(new OpenedModel());
  GALEN_ASSIGN_OR_RETURN(const galen::llm::Endpoint endpoint,
                         galen::llm::LoadEndpoint(endpoint_file));
  GALEN_ASSIGN_OR_RETURN(opened->client_, galen::llm::HttpClient::Make(endpoint));
  if (cache.empty()) {
    opened->cache_ = std::make_unique<store::MemoryAnswerCache>(kKeptInMemory);
  } else {
    GALEN_ASSIGN_OR_RETURN(opened->cache_, store::OpenAnswerCache(cache, kKeptInFile));
  }
  return opened;
}

}  // namespace galen::reasoner::llm
