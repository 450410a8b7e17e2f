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
#include "common/incident_history/search.h"
#include "common/knowledge/knowledge.h"
#include "common/llm/client.h"
#include "common/store/answer_cache.h"
#include "galen/v1/reasoning.pb.h"

namespace galen::reasoner::llm {

// A model that embeds texts, and how it is asked. What it points to must outlive who uses it.
struct Embedding {
  galen::llm::LlmClient* client = nullptr;  // of its own: its circuit is not that of the questions
  std::string model;
  int dimensions = 0;                         // of its vectors
  absl::Duration limit = absl::Seconds(2);    // that a search waits for it
  store::AnswerCache* vectors = nullptr;      // by the digest of their text; null: not kept
  absl::Duration pause = absl::Seconds(1);    // after a failure to embed past incidents; doubled
  absl::Duration longest = absl::Minutes(5);  // each time, up to this
};

// The past incidents of the knowledge once more, found by words and by the vectors of a model. It
// is complete or not there: vectors are made on a thread of its own from the start, for as long as
// it takes and again after a failure. A search before that, or whose text is not embedded in time,
// finds nothing, and the caller asks the built-in index: vectors of different models never meet.
// Thread-safe.
class EmbeddedHistory {
 public:
  // `knowledge` must outlive it, and so must `cancellation`, which ends searches; null: none.
  EmbeddedHistory(const knowledge::Knowledge& knowledge, const Embedding& embedding,
                  const Cancellation* cancellation = nullptr);
  // Ends the thread, and with it a request that is under way.
  ~EmbeddedHistory();
  EmbeddedHistory(const EmbeddedHistory&) = delete;
  EmbeddedHistory& operator=(const EmbeddedHistory&) = delete;

  // At most `limit` past incidents that resemble `text`, best first; none when there is no telling,
  // and then `account.fallback` says why. `account` is what the embedding took, with
  // usage::kEmbedding as its question. The model is given Embedding::limit at most, and less
  // where `deadline` is near; in the first such time after the start, a search waits for the
  // vectors of the past incidents too.
  std::optional<std::vector<incident_history::Hit>> Search(absl::string_view text,
                                                           std::size_t limit,
                                                           const galen::v1::Spending& spending,
                                                           absl::Time deadline,
                                                           galen::v1::Reasoned& account) const;

 private:
  void Run();
  absl::Status Make();
  // All there is; null, and why, while it is not complete.
  std::shared_ptr<const incident_history::View> Made(std::string& why) const;
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
  const std::string name_;  // of the embedder: vectors of another name are never compared
  const Cancellation* const cancellation_;
  const absl::Time started_;
  Cancellation closing_;
  mutable std::mutex mu_;
  mutable std::condition_variable changed_;
  std::shared_ptr<const incident_history::View> made_;  // guarded by mu_
  absl::Status failure_;                                // guarded by mu_; of the last attempt
  std::thread thread_;
};

// Whether a past incident resembles a question by what both mean: how far the cosine of their
// vectors stands above that of the past incident at the end of the first tenth, as a share of the
// way to 1. Models differ in what any two texts have in common (0.2 to 0.8), so that a cosine alone
// says little; a tenth may resemble it by chance or by the words of the trade. 0 to 1. `cosines` in
// falling order, of all `documents`; those that are 0 or less may be missing. Pure.
double LikenessOf(double cosine, const std::vector<incident_history::Scored>& cosines,
                  std::size_t documents);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_EMBEDDED_HISTORY_H_
