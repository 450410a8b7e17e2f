#ifndef COMMON_REASONER_LLM_EMBEDDED_HISTORY_H_
#define COMMON_REASONER_LLM_EMBEDDED_HISTORY_H_

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/incident_history/memory_index.h"
#include "common/incident_history/search.h"
#include "common/knowledge/knowledge.h"
#include "common/llm/client.h"
#include "common/store/answer_cache.h"
#include "galen/v1/reasoning.pb.h"

namespace galen::reasoner::llm {

// A model that embeds texts, and its settings. Everything that it points to must outlive its users.
struct Embedding {
  galen::llm::LlmClient* client = nullptr;  // separate, so that its circuit breaker is separate too
  std::string model;
  int dimensions = 0;                         // of its vectors
  absl::Duration limit = absl::Seconds(2);    // maximum wait of a search
  store::AnswerCache* vectors = nullptr;      // by the digest of their text; null: not kept
  absl::Duration pause = absl::Seconds(1);    // after a failure to embed past incidents; doubled
  absl::Duration longest = absl::Minutes(5);  // each time, up to this
};

// A second index of the past incidents of the knowledge, searched by words and by the vectors of a
// model. It is either complete or unavailable: a separate thread makes the vectors from the start,
// and retries after a failure. A search before it is complete, or whose text is not embedded in
// time, finds nothing, and the caller uses the built-in index: vectors of different models are
// never mixed. Thread-safe.
class EmbeddedHistory {
 public:
  // `knowledge` must outlive it, and so must `cancellation`, which ends searches; null: none.
  EmbeddedHistory(const knowledge::Knowledge& knowledge, const Embedding& embedding,
                  const Cancellation* cancellation = nullptr);
  // Ends the thread and its running request.
  ~EmbeddedHistory();
  EmbeddedHistory(const EmbeddedHistory&) = delete;
  EmbeddedHistory& operator=(const EmbeddedHistory&) = delete;

  // At most `limit` past incidents that resemble `text`, best first; nothing: the search was not
  // possible, and `account.fallback` says why. `account` is the use of the embedding model, with
  // usage::kEmbedding as its question. The model gets at most Embedding::limit, and less if
  // `deadline` is near; within the first such period after the start, a search also waits for the
  // vectors of the past incidents.
  std::optional<std::vector<incident_history::Hit>> Search(absl::string_view text,
                                                           std::size_t limit,
                                                           const galen::v1::Spending& spending,
                                                           absl::Time deadline,
                                                           galen::v1::Reasoned& account) const;

 private:
  void Run();
  absl::Status Make();
  // The complete index; null, with the reason in `why`: it is not complete.
  std::shared_ptr<const incident_history::MemoryIndex> Made(std::string& why) const;
  absl::StatusOr<std::vector<incident_history::Vector>> VectorsOf(
      const std::vector<std::string>& texts, const galen::llm::CallOptions& options,
      galen::llm::Usage& usage) const;
  absl::StatusOr<incident_history::Vector> QueryVector(const std::string& text,
                                                       const galen::v1::Spending& spending,
                                                       absl::Time deadline,
                                                       galen::v1::Reasoned& account) const;
  std::optional<incident_history::Vector> Kept(const std::string& text) const;
  void Keep(const std::string& text, const incident_history::Vector& vector) const;

  const knowledge::Knowledge& knowledge_;
  const Embedding embedding_;
  const std::string name_;  // of the embedder; only vectors of the same name are compared
  const Cancellation* const cancellation_;
  const absl::Time started_;
  Cancellation closing_;
  mutable std::mutex mu_;
  mutable std::condition_variable changed_;
  std::shared_ptr<const incident_history::MemoryIndex> made_;  // guarded by mu_
  absl::Status failure_;  // guarded by mu_; of the last attempt
  std::thread thread_;
};

// Semantic likeness of a past incident to a question: how far the cosine of their vectors is above
// that of the past incident at the end of the first tenth, as a share of the distance to 1. The
// cosine of unrelated texts depends on the model (0.2 to 0.8), so a cosine alone says little; up to
// a tenth may be similar by chance or by the words of the field. 0 to 1. `cosines`: in descending
// order, of all `documents`; those of 0 or less may be missing. Pure.
double LikenessOf(double cosine, const std::vector<incident_history::Scored>& cosines,
                  std::size_t documents);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_EMBEDDED_HISTORY_H_
