#ifndef COMMON_REASONER_LLM_OPEN_MODEL_H_
#define COMMON_REASONER_LLM_OPEN_MODEL_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/cancellation.h"
#include "common/llm/client.h"
#include "common/reasoner/llm/asker.h"
#include "common/store/answer_cache.h"

namespace galen::reasoner::llm {

// A model as a program uses it: the client of its endpoint, the cache of its answers, and what was
// asked of it.
class OpenedModel {
 public:
  // `endpoint_file` as docs/llm.md describes it; "" gives null, and then nothing is ever sent
  // anywhere. `cache` keeps answers: an SQLite file, or a Redis URL; "" keeps them in memory.
  // Errors: those of the file, of the key, of the cache.
  static absl::StatusOr<std::unique_ptr<OpenedModel>> Open(const std::string& endpoint_file,
                                                           const std::string& cache);

  Model model() { return {client_.get(), cache_.get(), &counters_, &closing_}; }
  const galen::llm::LlmClient& client() const { return *client_; }
  const AskCounters& counters() const { return counters_; }
  // Ends calls that are under way: the program is about to end.
  void Close() { closing_.Cancel(); }

 private:
  OpenedModel() = default;

  std::unique_ptr<galen::llm::LlmClient> client_;
  std::unique_ptr<store::AnswerCache> cache_;
  AskCounters counters_;
  Cancellation closing_;
};

// The model, for those who may go without: nothing for null.
inline std::optional<Model> ModelOf(OpenedModel* opened) {
  return opened == nullptr ? std::nullopt : std::optional<Model>(opened->model());
}

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_OPEN_MODEL_H_
