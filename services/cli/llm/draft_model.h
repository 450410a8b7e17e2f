#ifndef SERVICES_CLI_LLM_DRAFT_MODEL_H_
#define SERVICES_CLI_LLM_DRAFT_MODEL_H_

#include <string>
#include <vector>

#include "common/llm/client.h"

namespace galen::cli {

// A model in this process that answers each question with the draft that it is shown, which is the
// built-in reasoner's own answer: what prompts cost can be measured with it without an endpoint,
// and nothing of an answer changes. It counts no tokens, so they are counted by length.
// Thread-safe.
class DraftModel final : public llm::LlmClient {
 public:
  absl::StatusOr<llm::ChatAnswer> Chat(const llm::ChatRequest& request,
                                       const llm::CallOptions& options) override;
  // UNIMPLEMENTED.
  absl::StatusOr<llm::Embeddings> Embed(const llm::EmbedRequest& request,
                                        const llm::CallOptions& options) override;
  absl::StatusOr<std::vector<std::string>> Models(const llm::CallOptions& options) override;
  llm::Settings SettingsOf(absl::string_view purpose) const override;
  std::string name() const override { return "draft"; }
  llm::Health health() const override { return {}; }
};

}  // namespace galen::cli

#endif  // SERVICES_CLI_LLM_DRAFT_MODEL_H_
