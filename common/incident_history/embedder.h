#ifndef COMMON_INCIDENT_HISTORY_EMBEDDER_H_
#define COMMON_INCIDENT_HISTORY_EMBEDDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::incident_history {

// How rare a word of the corpus is, by its hash (tokens.h): the higher, the rarer. At least 0.
using Rarity = absl::FunctionRef<double(std::uint64_t term)>;

// A vector of numbers from -127 to 127; `scale` times a number is the component. It has
// length 1, or is empty (scale 0) for a text without features.
struct Vector {
  std::vector<std::int8_t> values;
  float scale = 0;
};

// Rounds `components`, the largest to 127, and scales them to length 1. Empty when one of them is
// not a finite number, or all are 0.
Vector Quantize(const std::vector<float>& components);

// The vector of length 1 with these numbers; empty when all are 0.
Vector Normalised(std::vector<std::int8_t> values);

// Turns texts into vectors whose cosine says how alike the texts are. Thread-safe.
class Embedder {
 public:
  Embedder() = default;
  virtual ~Embedder() = default;
  Embedder(const Embedder&) = delete;
  Embedder& operator=(const Embedder&) = delete;

  // Names the model and its version: vectors of different names are never
  // compared. Constant.
  virtual std::string name() const = 0;
  // Components of a vector, at least 1. Constant.
  virtual size_t dimensions() const = 0;

  // The vector of a text that is kept. The same text gives the same vector for as long as the name
  // stays. Errors: whatever keeps the model from answering; the text is then found by words alone.
  virtual absl::StatusOr<Vector> EmbedDocument(absl::string_view text) const = 0;
  // The vector of a question. `rarity` may be ignored.
  virtual absl::StatusOr<Vector> EmbedQuery(absl::string_view text, Rarity rarity) const = 0;
};

// The built-in embedder: no model, no network, deterministic on every platform (integer
// arithmetic). Words, pairs of neighbouring words and pieces of four letters are hashed, and each
// is projected onto 16 of 256 dimensions with random signs, so that the scalar product of two texts
// approximates the weight of their shared features (Achlioptas, "Database-friendly random
// projections", 2003). Rarity weighs the question, not the documents, so a growing corpus needs no
// new vectors. It never fails.
class HashedEmbedder final : public Embedder {
 public:
  static constexpr size_t kDimensions = 256;

  std::string name() const override { return "galen-hashed-1"; }
  size_t dimensions() const override { return kDimensions; }
  absl::StatusOr<Vector> EmbedDocument(absl::string_view text) const override;
  absl::StatusOr<Vector> EmbedQuery(absl::string_view text, Rarity rarity) const override;

  // The components before rounding, not scaled: what the rounded ones are measured against.
  static std::vector<float> Components(absl::string_view text, const Rarity* rarity);
};

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_EMBEDDER_H_
